//! The schema of captured messages.
//!
//! A captured message is an ordinary packet: its header, then the body behind `when number == N`.
//! Tools that read datagrams by a schema therefore read sessions too, without a second reader.

use super::header;
use super::registry::{FIRST, capture_schema_of};
use super::split::{CUT_NUMBER, CutMessage};
use super::{Messenger, MessengerBuilder, RawMessage};
use tightwire_core::schema::{Schema, SchemaError};
use tightwire_core::stream::{Binary, Condition, Field, Name, Number, Op, Shape, Wire as _};

impl<C: 'static> Messenger<C> {
    /// Returns the schema of one record in a capture of a session: a struct of the header's fields
    /// `number`, `stage`, `size` and `channel`, then one field for each type of message, present if
    /// `number` is that of the type. The last field is the beginning of a message that is [too
    /// long](crate::message::RawMessage::CUT) for a record.
    /// [`messages_in`](crate::message::messages_in) and
    /// [`RawMessage::write_record`](crate::message::RawMessage::write_record) make such records
    /// from a batch.
    ///
    /// A check within a message is described as 32 plain bits. A message with the name of a header
    /// field cannot be captured. A message whose `Wire` is implemented by hand may not be readable
    /// in a capture.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, Wire};
    /// # use tightwire::message::{messages_in, Messenger, MessengerConfig};
    /// #[derive(Wire, Message, Default)]
    /// struct Duck;
    /// #[derive(Wire, Message, Default)]
    /// struct Move {
    ///     #[wire(range = -100..=100)]
    ///     x: i8,
    /// }
    ///
    /// let builder = Messenger::<()>::builder(MessengerConfig::default());
    /// let mut messenger = builder.send_only::<Duck>().send_only::<Move>().build()?;
    /// let schema = messenger.capture_schema()?;
    ///
    /// let peer = messenger.add_peer(1200);
    /// messenger.send(peer, &Move { x: -7 }, Delivery::Unreliable)?;
    /// let mut record = Vec::new();
    /// messenger.end_frame(|_, delivery, batch| {
    ///     for message in messages_in(batch, delivery) {
    ///         message.unwrap().write_record(&mut record);
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(
    ///     schema.decode(&record)?.to_string(),
    ///     "Message { number: 17, stage: 4, size: 1, channel: 0, Move: Move { x: -7 } }"
    /// );
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SchemaError`] if a message has an invalid description, or the name of a field of the
    /// header.
    pub fn capture_schema(&self) -> Result<Schema, SchemaError> {
        self.registry.capture_schema()
    }
}

impl<C: 'static> MessengerBuilder<C> {
    /// Returns the schema that [`Messenger::capture_schema`] will return, before the messenger is
    /// built.
    ///
    /// ```
    /// # use tightwire::{Message, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// let builder = Messenger::<()>::builder(MessengerConfig::default()).send_only::<Jump>();
    /// let schema = builder.capture_schema()?;
    /// assert_eq!(builder.build()?.capture_schema()?, schema);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Messenger::capture_schema`]; also if two messages have the same name.
    pub fn capture_schema(&self) -> Result<Schema, SchemaError> {
        capture_schema_of(self.entries.iter().collect())
    }
}

/// Returns a struct of the header's fields, and a field for each message, present if `number` is
/// the message's. `messages` are in the order of their numbers.
pub(super) fn capture_schema<'e>(
    messages: impl Iterator<Item = (&'e str, Shape)>,
) -> Result<Schema, SchemaError> {
    let mut fields = header::described();
    let mut add = |number: u8, name: &str, shape| {
        let operands = [
            Condition::Field(vec![Name::from(NUMBER)]),
            Condition::Number(Number::Unsigned(number.into())),
        ];
        fields.push(Field {
            when: Some(Condition::Binary(Binary::Equal, Box::new(operands))),
            ..Field::new(name, with_checks(shape))
        });
    };
    for (number, (name, shape)) in (FIRST..=u8::MAX).zip(messages) {
        add(number, name, shape);
    }
    add(CUT_NUMBER, RawMessage::CUT, CutMessage::describe());
    Schema::new(Shape::Struct { name: "Message".into(), fields })
}

/// The field of the header that selects the message.
const NUMBER: &str = "number";

/// Replaces checks by plain bits, so that a reader without checks does not leave them out: messages
/// always have their own checks, and never the one that a protocol with checks has at the end.
fn with_checks(shape: Shape) -> Shape {
    let fields = |fields: Vec<Field>| -> Vec<Field> {
        let fields = fields.into_iter().enumerate();
        fields
            .map(|(place, field)| match field.shape {
                // A check may share its name with a field or another check; plain bits may not.
                Shape::Op(Op::Check { .. }) => {
                    let name = Name::from(format!("check {place}"));
                    Field { name, shape: with_checks(field.shape), ..field }
                }
                _ => Field { shape: with_checks(field.shape), ..field },
            })
            .collect()
    };
    match shape {
        Shape::Op(Op::Check { .. }) => Shape::Op(Op::Bits { width: 32 }),
        Shape::Struct { name, fields: of } => Shape::Struct { name, fields: fields(of) },
        Shape::Enum { name, mut variants } => {
            for variant in &mut variants {
                variant.fields = fields(core::mem::take(&mut variant.fields));
            }
            Shape::Enum { name, variants }
        }
        Shape::Option(inner) => Shape::Option(Box::new(with_checks(*inner))),
        Shape::Array { len, element } => {
            Shape::Array { len, element: Box::new(with_checks(*element)) }
        }
        Shape::List { max_len, element } => {
            Shape::List { max_len, element: Box::new(with_checks(*element)) }
        }
        _ => shape,
    }
}
