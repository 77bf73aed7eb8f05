//! A message with its header as an ordinary packet, for those who read recorded ones.
//!
//! A recorded message is an ordinary packet, its header and then the body behind `when number == N`:
//! whatever reads datagrams by a schema reads sessions, without a second reader.

use super::header;
use super::registry::{FIRST, capture_schema_of};
use super::split::{CUT_NUMBER, CutMessage};
use super::{Messenger, MessengerBuilder, RawMessage};
use tightwire_core::schema::{Schema, SchemaError};
use tightwire_core::stream::{Binary, Condition, Field, Name, Number, Op, Shape, Wire as _};

impl<C: 'static> Messenger<C> {
    /// The layout of one message as a capture of a session holds it, header and all: a struct of
    /// `number`, `stage`, `size` and `channel`, and of every message, each there when the number is
    /// its own; at last, what there is of a message that is [too long](crate::message::RawMessage::CUT) for a
    /// record. [`messages_in`](crate::message::messages_in) and
    /// [`RawMessage::write_record`](crate::message::RawMessage::write_record) make such records of a batch.
    ///
    /// A check within a message is 32 bits like others here. A message that is called as a field of the
    /// header, or that is serialized by hand, cannot be captured, or not be read.
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
    /// [`SchemaError`] if a message describes itself in a way that makes no sense, or has the name of
    /// a header's field.
    pub fn capture_schema(&self) -> Result<Schema, SchemaError> {
        self.registry.capture_schema()
    }
}

impl<C: 'static> MessengerBuilder<C> {
    /// What [`Messenger::capture_schema`] will be, for those who need it before there is a messenger.
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

/// A struct of the header's fields, and each message when the number is its own. The messages come in
/// the order of their numbers.
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

/// The field of the header that decides.
const NUMBER: &str = "number";

/// The same bits, of which a reader without checks does not leave out any: messages always have theirs,
/// and never the one at the end that a protocol with checks has.
fn with_checks(shape: Shape) -> Shape {
    let fields = |fields: Vec<Field>| -> Vec<Field> {
        let fields = fields.into_iter().enumerate();
        fields
            .map(|(place, field)| match field.shape {
                // A check may have the name of a field or of another check; a number may not.
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
