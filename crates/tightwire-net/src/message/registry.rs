//! The types of messages, their numbers and handlers.
//!
//! Each type has one value, into which its messages are read: strings and lists keep their memory.
//! While a handler runs, the registry does not have that value, so that the handler can send; a
//! message of its own type then waits in the queue. Types are numbered by their names, so that the
//! order of registration does not matter. Therefore the id of a messenger covers names, unlike
//! fingerprints.

use core::any::{Any, TypeId};
use core::fmt::Display;

use xxhash_rust::xxh3::Xxh3;

use super::capture_schema::capture_schema;
use super::context::MessageOrigin;
use super::error::HandlerError;
use super::inbox::{QueueIndex, QueuedMessage};
use super::{Context, Message, MessageStats, Messenger, MessengerConfig, RegistryError, Stage};
use tightwire_core::bytes::Packing;
use tightwire_core::schema::{Schema, SchemaError};
use tightwire_core::stream::{ExplainedError, Field, ReadError, Shape, Variant};

/// First number of the application's messages; lower ones are internal.
pub(super) const FIRST: u8 = 16;

/// Version of the form that [`Registry::id`] hashes: changes with it.
const FORM: u8 = 2;

/// Largest number of message types of an application.
pub const MAX_MESSAGES: usize = 256 - FIRST as usize;

/// Return type of a handler: nothing, or a result whose error can be printed.
pub trait Outcome {
    /// Returns the error; as text only if `in_words`, since that allocates.
    #[doc(hidden)]
    fn result(self, in_words: bool) -> Result<(), Option<String>>;
}

impl Outcome for () {
    fn result(self, _: bool) -> Result<(), Option<String>> {
        Ok(())
    }
}

impl<E: Display> Outcome for Result<(), E> {
    fn result(self, in_words: bool) -> Result<(), Option<String>> {
        self.map_err(|error| in_words.then(|| error.to_string()))
    }
}

/// The message types of an application, by number.
pub(super) struct Registry<C> {
    entries: Vec<MessageType<C>>,
    /// Numbers by type, sorted for the search.
    numbers: Vec<(TypeId, u8)>,
}

/// A type of message.
pub(super) struct MessageType<C> {
    pub(super) name: &'static str,
    type_id: TypeId,
    shape: Box<dyn Fn() -> Shape + Send + Sync>,
    /// Fingerprint of the type.
    layout: Box<dyn Fn() -> u64 + Send + Sync>,
    /// This side takes messages of this type.
    pub(super) is_handled: bool,
    /// Set if the type is drained instead of handled.
    pub(super) drained: Option<Drained>,
    /// `None` while its handler runs.
    pub(super) receiver: Option<Box<dyn Receive<C>>>,
    pub(super) stats: MessageStats,
}

/// Placeholder type of messages that are known by name and schema only.
struct Untyped;

/// A type whose messages wait until the application drains them.
pub(super) struct Drained {
    /// Index among the drained types.
    place: usize,
    /// The value that messages of the type are read into.
    value: Box<dyn Any + Send + Sync>,
}

/// Reads and handles the messages of one type.
pub(super) trait Receive<C>: Send + Sync {
    /// Reads a message into the value that is kept for the type, and handles it; then the following
    /// messages of its run, until the messenger has no more or one fails.
    ///
    /// # Errors
    ///
    /// The fault of the last message, which `item` then is.
    fn handle(
        &mut self,
        item: &mut QueuedMessage,
        origin: MessageOrigin,
        messenger: &mut Messenger<C>,
        state: &mut C,
        left: &mut usize,
    ) -> Result<(), HandleError>;

    /// Handles a message of this type that was never written.
    fn handle_value(
        &mut self,
        message: &dyn Any,
        context: &mut Context<'_, C>,
    ) -> Result<(), HandlerError>;

    /// Names the field for which a body was refused.
    fn explain(&self, refused: ReadError, body: &[u8], packing: Packing) -> ExplainedError;
}

/// Reason why a message was not handled.
pub(super) enum HandleError {
    Malformed(ReadError),
    /// The handler returned an error.
    Failed(HandlerError),
}

/// The value that messages of a type are read into, and their handler.
struct TypedHandler<M, H> {
    message: M,
    handler: H,
}

impl<M, C, H> Receive<C> for TypedHandler<M, H>
where
    M: Message,
    C: 'static,
    H: FnMut(&M, &mut Context<'_, C>) -> Result<(), HandlerError> + Send + Sync + 'static,
{
    fn handle(
        &mut self,
        item: &mut QueuedMessage,
        origin: MessageOrigin,
        messenger: &mut Messenger<C>,
        state: &mut C,
        left: &mut usize,
    ) -> Result<(), HandleError> {
        let packing = messenger.packing();
        loop {
            let read = packing.decode_into(messenger.body(item), &mut self.message);
            read.map_err(HandleError::Malformed)?;
            let result = (self.handler)(&self.message, &mut Context::new(state, messenger, origin));
            result.map_err(HandleError::Failed)?;
            match messenger.next_of_run(item, &origin, left) {
                Some(next) => *item = next,
                None => return Ok(()),
            }
        }
    }

    fn handle_value(
        &mut self,
        message: &dyn Any,
        context: &mut Context<'_, C>,
    ) -> Result<(), HandlerError> {
        message.downcast_ref().map_or(Ok(()), |message| (self.handler)(message, context))
    }

    fn explain(&self, refused: ReadError, body: &[u8], packing: Packing) -> ExplainedError {
        ExplainedError::new(refused.kind, refused.bit, packing.explain::<M>(body))
    }
}

impl<C: 'static> MessageType<C> {
    /// Creates the entry of a type that is sent and not handled.
    pub(super) fn sent<M: Message>() -> Self {
        Self {
            name: M::NAME,
            type_id: TypeId::of::<M>(),
            shape: Box::new(M::describe),
            layout: Box::new(|| Schema::of::<M>().fingerprint()),
            is_handled: false,
            drained: None,
            receiver: None,
            stats: MessageStats::default(),
        }
    }

    /// Creates the entry of messages that are known by name and schema, and drained as bytes.
    pub(super) fn raw(name: &'static str, schema: Schema) -> Self {
        let layout = schema.fingerprint();
        Self {
            name,
            type_id: TypeId::of::<Untyped>(),
            shape: Box::new(move || schema.root().clone()),
            layout: Box::new(move || layout),
            is_handled: true,
            drained: Some(Drained { place: 0, value: Box::new(Vec::<u8>::new()) }),
            receiver: None,
            stats: MessageStats::default(),
        }
    }

    /// Whether the messages are known by name and schema.
    pub(super) fn is_raw(&self) -> bool {
        self.type_id == TypeId::of::<Untyped>()
    }

    /// Creates the entry of a drained type. The registry sets its index.
    pub(super) fn drained<M: Message>() -> Self {
        let drained = Drained { place: 0, value: Box::new(M::default()) };
        Self { is_handled: true, drained: Some(drained), ..Self::sent::<M>() }
    }

    /// Returns the queue of messages of this type that are sent to this stage.
    #[inline]
    pub(super) fn queue(&self, stage: Stage) -> QueueIndex {
        match &self.drained {
            None => stage.into(),
            Some(drained) => QueueIndex::drained(drained.place),
        }
    }

    /// Returns the value that messages of a drained type are read into.
    pub(super) fn value_mut<M: 'static>(&mut self) -> Option<&mut M> {
        self.drained.as_mut()?.value.downcast_mut()
    }

    pub(super) fn handled<M: Message, R: Outcome>(
        mut handler: impl FnMut(&M, &mut Context<'_, C>) -> R + Send + Sync + 'static,
    ) -> Self {
        let handler = move |message: &M, context: &mut Context<'_, C>| {
            handler(message, context).result(context.is_watched()).map_err(HandlerError)
        };
        let receiver = TypedHandler { message: M::default(), handler };
        Self { is_handled: true, receiver: Some(Box::new(receiver)), ..Self::sent::<M>() }
    }
}

impl<C: 'static> Registry<C> {
    /// Numbers the messages by their names, so that the order of registration does not matter.
    pub(super) fn new(mut entries: Vec<MessageType<C>>) -> Result<Self, RegistryError> {
        entries.sort_by_key(|entry| entry.name);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let name = pair[0].name;
            return Err(if pair[0].type_id == pair[1].type_id {
                RegistryError::Twice(name)
            } else {
                RegistryError::SameName(name)
            });
        }
        if entries.len() > MAX_MESSAGES {
            return Err(RegistryError::TooMany(entries.len()));
        }
        let mut numbers: Vec<_> = (FIRST..=u8::MAX)
            .zip(&entries)
            .map(|(number, entry)| (entry.type_id, number))
            .collect();
        numbers.sort_unstable();
        for (place, drained) in
            entries.iter_mut().filter_map(|entry| entry.drained.as_mut()).enumerate()
        {
            drained.place = place;
        }
        Ok(Self { entries, numbers })
    }

    /// Returns the number of drained types.
    pub(super) fn drained(&self) -> usize {
        self.entries.iter().filter(|entry| entry.drained.is_some()).count()
    }

    pub(super) fn number<M: Message>(&self) -> Option<u8> {
        let id = TypeId::of::<M>();
        let place = self.numbers.binary_search_by(|(other, _)| other.cmp(&id)).ok()?;
        Some(self.numbers[place].1)
    }

    /// Returns the type with this number.
    #[inline]
    pub(super) fn entry(&mut self, number: u8) -> Option<&mut MessageType<C>> {
        self.entries.get_mut(usize::from(number.checked_sub(FIRST)?))
    }

    /// Returns the number of types.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &MessageType<C>)> {
        (FIRST..=u8::MAX).zip(&self.entries)
    }

    /// Returns the hash that both sides must share.
    pub(super) fn id(&self, config: &MessengerConfig) -> u64 {
        let mut hash = Xxh3::new();
        let packing = u8::from(config.packing == Packing::Bytes);
        hash.update(&[FORM, packing]);
        for limit in [config.channels, config.max_fragmented, config.batch_messages] {
            hash.update(&(limit as u64).to_le_bytes());
        }
        for entry in &self.entries {
            hash.update(&(entry.name.len() as u64).to_le_bytes());
            hash.update(entry.name.as_bytes());
            hash.update(&(entry.layout)().to_le_bytes());
        }
        hash.digest()
    }

    /// Returns an enum of the messages, in the order of their numbers.
    pub(super) fn schema(&self) -> Result<Schema, SchemaError> {
        let variants = self.entries.iter().map(|entry| Variant {
            name: entry.name.into(),
            fields: vec![Field::new("0", (entry.shape)())],
        });
        Schema::new(Shape::Enum { name: "Message".into(), variants: variants.collect() })
    }

    /// Returns the schema of a captured message with its header.
    pub(super) fn capture_schema(&self) -> Result<Schema, SchemaError> {
        capture_schema_of(self.entries.iter().collect())
    }
}

/// Returns the schema of captured messages of types that have no numbers yet.
pub(super) fn capture_schema_of<C>(
    mut entries: Vec<&MessageType<C>>,
) -> Result<Schema, SchemaError> {
    entries.sort_by_key(|entry| entry.name);
    capture_schema(entries.iter().map(|entry| (entry.name, (entry.shape)())))
}
