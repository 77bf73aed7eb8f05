//! The schema: the wire form of a type as data, and everything that only needs the schema.

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
mod names;
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
pub use hints::{newtype, ordered, rotation_code, unwrapped};
pub use world::{Class, Object, ObjectId, Representation, World, WorldError, WorldSchema};

use alloc::vec::Vec;

use crate::stream::{
    ExplainedError, IntoTarget, MeasureStream, ReadError, ReadStream, Reading, Shape, Stream,
    Trace, Wire, WriteError, WriteStream, explain_with, explain_write_with,
};
pub(crate) use run::ReadScratch;
use run::{Walk, root_name};

/// The wire form of a packet as data: every field with its operation.
///
/// A schema reads and writes packets without the Rust types, byte for byte like the types.
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

/// The schema of a packet without fields, for a reader to read into.
impl Default for Schema {
    fn default() -> Self {
        Schema::of::<()>()
    }
}

impl Schema {
    /// Returns the schema of the wire form of `T`.
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

    /// Validates a schema from outside.
    ///
    /// A schema may be 32 levels deep and have 32768 parts; names have up to 255 bytes,
    /// something to see and no control characters; lengths are below 2^32, vectors have up to 64
    /// components; a condition
    /// names earlier fields, and is up to 24 levels deep.
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
    /// [`SchemaError`] with the mistake and its path.
    pub fn new(root: Shape) -> Result<Self, SchemaError> {
        validate::validate(&root)?;
        Ok(Self { root })
    }

    /// Shape of the whole packet.
    #[must_use]
    pub fn root(&self) -> &Shape {
        &self.root
    }

    /// Name of the packet: the name of its type, or `packet`.
    ///
    /// ```
    /// assert_eq!(tightwire::schema::Schema::of::<u8>().name(), "packet");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        root_name(&self.root)
    }

    /// Largest size of a packet in bits, equal to [`Wire::MAX_BITS`] of its type.
    ///
    /// ```
    /// assert_eq!(tightwire::schema::Schema::of::<[Option<u16>; 3]>().max_bits(), 3 * 17);
    /// ```
    #[must_use]
    pub fn max_bits(&self) -> u64 {
        self.root.max_bits()
    }

    /// Reads a packet. For any schema and packet, the tree has at most four values for each bit of
    /// the packet, plus 16384.
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
    /// [`DynamicError::Read`] for anything but a complete valid packet,
    /// [`DynamicError::Undescribed`] where the schema does not describe how to continue.
    pub fn decode(&self, packet: &[u8]) -> Result<Dynamic, DynamicError> {
        self.decode_from(ReadStream::new(packet), |_| Ok(()))
    }

    /// Like [`decode`](Self::decode), from a stream whose rest `read_rest` reads.
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
    /// Fields can be in any order; fields whose condition does not hold are left out.
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
    /// [`DynamicError::Mismatch`] for a tree that does not match the schema,
    /// [`DynamicError::Value`] for a value out of its range, [`DynamicError::Write`] if the buffer
    /// is too small, [`DynamicError::Undescribed`] where the schema does not describe how to
    /// continue.
    pub fn encode<'b>(
        &self,
        value: &Dynamic,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], DynamicError> {
        let capacity = buffer.len() as u64 * 8;
        let mut stream = WriteStream::new(buffer);
        let (Ok(()), error) = Walk::root(&self.root, &mut value.clone(), &mut stream);
        match error {
            Some(error) => Err(error),
            None => stream.finish().map_err(|refused| self.explain_write(refused, value, capacity)),
        }
    }

    /// Names the value that was refused, by writing the tree again into a buffer of as many bits.
    #[cold]
    fn explain_write(&self, refused: WriteError, value: &Dynamic, capacity: u64) -> DynamicError {
        let WriteError::Value { kind, bit } = refused else { return refused.into() };
        let trace =
            explain_write_with(self.name(), capacity, |stream| self.serialize(value, stream));
        DynamicError::Value(ExplainedError::new(kind, bit, trace))
    }

    /// Like [`encode`](Self::encode), into a vector of the right length.
    fn encode_to_vec(&self, value: &Dynamic) -> Result<Vec<u8>, DynamicError> {
        let most = MeasureStream::bits_of(|stream| self.serialize(value, stream));
        let mut buffer = alloc::vec![0; most.div_ceil(8) as usize];
        let length = self.encode(value, &mut buffer)?.len();
        buffer.truncate(length);
        Ok(buffer)
    }

    /// Reads a packet, and returns the meaning of every bit, and where and why the packet was
    /// refused: like [`explain`](crate::stream::explain) with the type.
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

    /// Reads a packet without keeping the elements of lists: the tree has only their lengths.
    pub(crate) fn skim<S: Stream>(
        &self,
        scratch: &mut ReadScratch,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        Walk::skim(&self.root, scratch, stream)
    }

    /// Writes, reads, measures or traces a tree, depending on the stream: like [`Wire::serialize`]
    /// of the type, as a part of a larger packet.
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
    /// Errors of the stream's operations. A value that does not match the schema is refused with
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
            // A writer sorts the fields, and therefore needs a copy.
            None => Walk::root(&self.root, &mut value.clone(), stream),
        };
        result
    }
}
