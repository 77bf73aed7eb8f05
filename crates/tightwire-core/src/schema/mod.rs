//! The schema: the wire form of a type as data, and what can be done with that alone.

mod blank;
mod condition;
pub(crate) mod derived;
mod describe;
mod diff;
mod dynamic;
mod equality;
mod error;
mod fingerprint;
mod flat;
mod hints;
#[cfg(feature = "serde")]
mod json;
#[cfg(feature = "serde")]
mod json_condition;
#[cfg(feature = "serde")]
mod json_dynamic;
mod run;
mod validate;
mod wire;
mod wire_op;
mod world;

#[doc(hidden)]
pub use condition::{common_bits, has_value, is_so};
pub use diff::{Diff, Difference, DifferenceKind};
pub use dynamic::Dynamic;
pub use error::{DynamicError, SchemaError};
#[doc(hidden)]
pub use hints::{ordered, rotation_code};
pub use world::{Class, Object, ObjectId, Representation, World, WorldError, WorldSchema};

use alloc::vec::Vec;

use crate::stream::{
    IntoTarget, MeasureStream, ReadError, ReadStream, Reading, Shape, Stream, Trace, Wire,
    WriteStream, explain_with,
};
pub(crate) use run::Skimmed;
use run::{Walk, root_name};

/// The wire form of a packet as data: every field with its operation.
///
/// It reads and writes packets without the Rust types, byte for byte as these do.
///
/// ```
/// use tightwire::schema::Schema;
/// use tightwire::stream::Shape;
///
/// let schema = Schema::of::<Option<u8>>();
/// assert!(matches!(schema.root(), Shape::Option(_)));
/// assert_eq!(schema.decode(&[0b1111, 0])?.to_string(), "Some(7)");
/// # Ok::<(), tightwire::schema::DynamicError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Schema {
    root: Shape,
}

/// Of a packet without fields: what a reader starts from.
impl Default for Schema {
    fn default() -> Self {
        Schema::of::<()>()
    }
}

impl Schema {
    /// The schema of the wire form of `T`.
    ///
    /// ```
    /// use tightwire::schema::Schema;
    ///
    /// assert_eq!(Schema::of::<[u8; 3]>().max_bits(), 24);
    /// ```
    #[must_use]
    pub fn of<T: Wire>() -> Schema {
        Schema { root: T::describe() }
    }

    /// A schema from outside, once it is known to make sense.
    ///
    /// It may be 32 levels deep and have 32768 parts; names have up to 255 bytes and no control
    /// characters; lengths are below 2^32, vectors have up to 64 components; a condition names
    /// fields that stand before it, and is up to 24 levels deep.
    ///
    /// ```
    /// use tightwire::schema::Schema;
    /// use tightwire::stream::{Op, Shape};
    ///
    /// assert!(Schema::new(Shape::Op(Op::Bits { width: 64 })).is_ok());
    /// let refused = Schema::new(Shape::Op(Op::Bits { width: 65 })).unwrap_err();
    /// assert_eq!(refused.to_string(), "packet: a field of 65 bits: at most 64 are possible");
    /// ```
    ///
    /// # Errors
    ///
    /// [`SchemaError`] says what makes no sense, and where.
    pub fn new(root: Shape) -> Result<Self, SchemaError> {
        validate::validate(&root)?;
        Ok(Self { root })
    }

    /// The form of the whole packet.
    #[must_use]
    pub fn root(&self) -> &Shape {
        &self.root
    }

    /// Name of the packet where nothing else names it: that of its type, or `packet`.
    ///
    /// ```
    /// assert_eq!(tightwire::schema::Schema::of::<u8>().name(), "packet");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        root_name(&self.root)
    }

    /// The most bits that a packet takes, as [`Wire::MAX_BITS`] of its type.
    ///
    /// ```
    /// assert_eq!(tightwire::schema::Schema::of::<[Option<u16>; 3]>().max_bits(), 3 * 17);
    /// ```
    #[must_use]
    pub fn max_bits(&self) -> u64 {
        self.root.max_bits()
    }

    /// Reads a packet. Whatever the schema and the packet say, the tree has at most four values for
    /// each bit of the packet, and 16384 more.
    ///
    /// ```
    /// let schema = tightwire::schema::Schema::of::<[u16; 2]>();
    /// assert_eq!(schema.decode(&[1, 0, 2, 0])?.to_string(), "[1, 2]");
    /// assert!(schema.decode(&[1, 0, 2]).is_err());
    /// # Ok::<(), tightwire::schema::DynamicError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DynamicError::Read`] for anything but a whole valid packet,
    /// [`DynamicError::Undescribed`] where the schema does not say how to go on.
    pub fn decode(&self, packet: &[u8]) -> Result<Dynamic, DynamicError> {
        self.decode_from(ReadStream::new(packet), |_| Ok(()))
    }

    /// The same from a stream, in which something else follows.
    pub(crate) fn decode_from<S: Reading>(
        &self,
        mut stream: S,
        read_rest: impl FnOnce(&mut S) -> Result<(), ReadError>,
    ) -> Result<Dynamic, DynamicError> {
        let mut value = Dynamic::default();
        let (result, error) = Walk::root(&self.root, &mut value, &mut stream);
        if let Some(error) = error {
            return Err(error);
        }
        result?;
        read_rest(&mut stream)?;
        stream.end()?;
        Ok(value)
    }

    /// Writes a tree into `buffer` and returns the packet.
    ///
    /// Fields can stand in any order, and those whose condition does not hold are left out.
    ///
    /// ```
    /// let schema = tightwire::schema::Schema::of::<[u16; 2]>();
    /// let pair = schema.decode(&[1, 0, 2, 0])?;
    /// let mut buffer = [0; 16];
    /// assert_eq!(schema.encode(&pair, &mut buffer)?, [1, 0, 2, 0]);
    /// let refused = schema.encode(&7u64.into(), &mut buffer).unwrap_err();
    /// assert_eq!(refused.to_string(), "packet: a list is needed, not an integer");
    /// # Ok::<(), tightwire::schema::DynamicError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DynamicError::Mismatch`] for a tree of another form, [`DynamicError::Write`] if the buffer
    /// is too small or a value is out of its range, [`DynamicError::Undescribed`] where the schema
    /// does not say how to go on.
    pub fn encode<'b>(
        &self,
        value: &Dynamic,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], DynamicError> {
        let mut stream = WriteStream::new(buffer);
        let (Ok(()), error) = Walk::root(&self.root, &mut value.clone(), &mut stream);
        match error {
            Some(error) => Err(error),
            None => Ok(stream.finish()?),
        }
    }

    /// As [`encode`](Self::encode), into as many bytes as it takes.
    fn encode_to_vec(&self, value: &Dynamic) -> Result<Vec<u8>, DynamicError> {
        let most = MeasureStream::bits_of(|stream| self.serialize(value, stream));
        let mut buffer = alloc::vec![0; most.div_ceil(8) as usize];
        let length = self.encode(value, &mut buffer)?.len();
        buffer.truncate(length);
        Ok(buffer)
    }

    /// Reads a packet, and says what every bit of it means and where and why it was refused: as
    /// [`explain`](crate::stream::explain) with the type.
    ///
    /// ```
    /// let trace = tightwire::schema::Schema::of::<[u16; 2]>().explain(&[1, 0, 2]);
    /// assert_eq!(trace.spans().next().unwrap().path(), "packet[0]");
    /// assert!(trace.failure().is_some());
    /// ```
    #[must_use]
    pub fn explain(&self, packet: &[u8]) -> Trace {
        explain_with(packet, ReadStream::new(packet), self.name(), |stream| {
            self.serialize(&mut Dynamic::default(), stream)
        })
    }

    /// Reads a packet for which nobody needs a tree: of lists only the lengths stay in it.
    pub(crate) fn skim<S: Stream>(
        &self,
        skimmed: &mut Skimmed,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        Walk::skim(&self.root, skimmed, stream)
    }

    /// Writes, reads, measures or traces a tree, depending on the stream: as
    /// [`Wire::serialize`] of the type, as a part of a larger packet.
    ///
    /// ```
    /// use tightwire::schema::{Dynamic, Schema};
    /// use tightwire::stream::MeasureStream;
    ///
    /// let schema = Schema::of::<Option<u16>>();
    /// let none = Dynamic::Option(None);
    /// assert_eq!(MeasureStream::bits_of(|stream| schema.serialize(&none, stream)), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// What the stream's operations return. What does not fit the schema is refused with
    /// [`ErrorKind::Mismatch`](crate::stream::ErrorKind::Mismatch) or
    /// [`ErrorKind::Undescribed`](crate::stream::ErrorKind::Undescribed).
    pub fn serialize<'a, S: Stream>(
        &self,
        value: impl IntoTarget<'a, S::Access, Dynamic>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut value = value.into_target();
        let (result, _) = match value.when_reading() {
            Some(value) => Walk::root(&self.root, value, stream),
            // A writer puts the fields in order.
            None => Walk::root(&self.root, &mut value.clone(), stream),
        };
        result
    }
}
