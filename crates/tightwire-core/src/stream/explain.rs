//! What was wrong with a packet, when somebody asks: the same function is run again and traced.

use alloc::boxed::Box;
use alloc::string::String;
use core::any::type_name;
use core::convert::Infallible;
use core::fmt;

use super::picture::Refusal;
use super::{
    ByteStream, ErrorKind, Node, ReadError, ReadStream, Reading, Target, Trace, TraceStream, Wire,
    WriteError, WriteStream, decode_into, encode, measure,
};

/// A refusal that names the field: `Player.inventory[3].count at bit 412: 77 is not in 0..=64`.
///
/// It comes from [`decode_explained`] and [`encode_explained`], or from
/// [`ReadError::explain`] and [`WriteError::explain`]. Those who do not ask pay nothing for it,
/// and those who do pay when something is refused.
///
/// ```
/// use tightwire::stream::ErrorKind;
///
/// let refused = tightwire::decode_explained::<[bool; 9]>(&[0xff]).unwrap_err();
/// assert_eq!(refused.path().as_deref(), Some("[bool; 9][8]"));
/// assert_eq!(refused.bit(), 8);
/// assert_eq!(refused.kind(), ErrorKind::UnexpectedEnd);
/// println!("{refused}");              // the sentence
/// println!("{}", refused.trace());    // the picture
/// ```
#[derive(Clone, PartialEq)]
pub struct ExplainedError {
    kind: ErrorKind,
    bit: u64,
    /// In a box, because the size of an error is part of every result that has it.
    trace: Box<Trace>,
}

/// As [`decode`](crate::stream::decode), with an error that names the field. A packet that is accepted costs
/// what it costs there, and a few instructions to remember where it is; one that is refused is read
/// once more, slowly.
///
/// ```
/// let refused = tightwire::decode_explained::<[Option<u16>; 2]>(&[0b1000_0010]).unwrap_err();
/// let sentence = "[Option<u16>; 2][1] at bit 2: the packet ends before this value does (int 0..=65535)";
/// assert_eq!(refused.to_string(), sentence);
/// ```
///
/// # Errors
///
/// [`ExplainedError`] for anything but a whole valid packet.
#[inline]
pub fn decode_explained<T: Wire + Default>(packet: &[u8]) -> Result<T, ExplainedError> {
    // Not by way of `decode`, or the value would be moved once more. All that a good packet pays is
    // to keep the slice for `refuse`: by reference that is two stores, by value it would hold two
    // registers all the way. `./ci.sh instructions` counts.
    let mut value = T::default();
    match decode_into(packet, &mut value) {
        Ok(()) => Ok(value),
        Err(refused) => {
            drop(value);
            refuse(refused, &packet)
        }
    }
}

/// The whole result, so that nothing is left to do after the call.
#[cold]
#[inline(never)]
fn refuse<T: Wire + Default>(refused: ReadError, packet: &&[u8]) -> Result<T, ExplainedError> {
    Err(refused.explain::<T>(packet))
}

/// As [`encode`], with an error that names the field.
///
/// ```
/// let mut buffer = [0; 3];
/// let refused = tightwire::encode_explained(&[1u16, 2], &mut buffer).unwrap_err();
/// assert_eq!(refused.path().as_deref(), Some("[u16; 2][1]"));
/// ```
///
/// # Errors
///
/// [`ExplainedError`] if the buffer is too small or a value is out of its range.
#[inline]
pub fn encode_explained<'a, T: Wire>(
    value: &T,
    buffer: &'a mut [u8],
) -> Result<&'a [u8], ExplainedError> {
    match encode(value, buffer) {
        Ok(packet) => Ok(packet),
        Err(refused) => refuse_write(refused, value),
    }
}

#[cold]
#[inline(never)]
fn refuse_write<'a, T: Wire>(refused: WriteError, value: &T) -> Result<&'a [u8], ExplainedError> {
    Err(refused.explain(value))
}

/// Reads `packet` once more, slowly, and says what every bit of it means and where and why it was
/// refused.
///
/// ```
/// let trace = tightwire::explain::<[u16; 2]>(&[1, 0, 2]);
/// assert_eq!(trace.spans().next().unwrap().path(), "[u16; 2][0]");
/// assert!(trace.failure().is_some());
/// println!("{trace}");
/// ```
#[must_use]
pub fn explain<T: Wire + Default>(packet: &[u8]) -> Trace {
    let stream = ReadStream::new(packet);
    explain_with(packet, stream, type_name::<T>(), |stream| {
        T::serialize(Target::from(&mut T::default()), stream)
    })
}

/// The same of a packet in whole bytes.
pub(crate) fn explain_bytes<T: Wire + Default>(packet: &[u8]) -> Trace {
    let stream = ByteStream::new(ReadStream::new(packet));
    explain_with(packet, stream, type_name::<T>(), |stream| {
        T::serialize(Target::from(&mut T::default()), stream)
    })
}

/// Reads `packet` from its stream as `serialize` says, as an object of a type, and tells.
pub(crate) fn explain_with<S: Reading>(
    packet: &[u8],
    stream: S,
    type_name: &str,
    serialize: impl FnOnce(&mut TraceStream<S>) -> Result<(), ReadError>,
) -> Trace {
    let mut stream = TraceStream::of_object(stream, type_name);
    let result = serialize(&mut stream);
    let (reader, mut trace) = stream.into_parts();
    if let Err(ReadError { kind, bit }) = result.and_then(|()| reader.end()) {
        trace.set_failure(kind, bit);
    }
    trace.set_bytes(packet);
    trace
}

/// Writes `value` once more, slowly, and says what every bit means and what was refused.
///
/// ```
/// let trace = tightwire::stream::explain_write(&[1u16, 2]);
/// assert_eq!(trace.spans().nth(1).unwrap().bits(), 16..32);
/// ```
#[must_use]
pub fn explain_write<T: Wire>(value: &T) -> Trace {
    explain_write_within(value, u64::MAX)
}

/// The same, in a buffer of so many bits.
fn explain_write_within<T: Wire>(value: &T, capacity_bits: u64) -> Trace {
    let bytes = measure(value).div_ceil(8).min(capacity_bits / 8);
    explain_write_with(type_name::<T>(), bytes * 8, |stream| T::serialize(value.into(), stream))
}

/// Writes at most so many bits as `serialize` says, as an object of a type, and tells.
pub(crate) fn explain_write_with(
    type_name: &str,
    bits: u64,
    serialize: impl FnOnce(&mut TraceStream<WriteStream<'_>>) -> Result<(), Infallible>,
) -> Trace {
    let mut buffer = alloc::vec![0; bits.div_ceil(8) as usize];
    let mut stream = TraceStream::of_object(WriteStream::new(&mut buffer), type_name);
    let Ok(()) = serialize(&mut stream);
    let (writer, mut trace) = stream.into_parts();
    if let Ok(packet) = writer.finish() {
        trace.set_bytes(packet);
    }
    trace
}

impl ReadError {
    /// Names the field that [`decode`](crate::stream::decode) or [`decode_into`] refused in `packet`, by
    /// reading it once more, field by field. A field that depends on what was in the value before
    /// may not be found; then the error says no more than this one.
    ///
    /// ```
    /// let packet = [0xff];
    /// let mut flags = [false; 9];
    /// let refused = tightwire::decode_into(&packet, &mut flags).unwrap_err();
    /// assert_eq!(refused.explain::<[bool; 9]>(&packet).path().as_deref(), Some("[bool; 9][8]"));
    /// ```
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn explain<T: Wire + Default>(self, packet: &[u8]) -> ExplainedError {
        ExplainedError::new(self.kind, self.bit, explain::<T>(packet))
    }
}

impl WriteError {
    /// Names the field that [`encode`] refused, by writing `value` once more: the one that its range
    /// does not allow, or the first that did not fit into the buffer.
    ///
    /// ```
    /// let value = [1u16, 2];
    /// let refused = tightwire::encode(&value, &mut [0; 2]).unwrap_err();
    /// assert_eq!(refused.explain(&value).path().as_deref(), Some("[u16; 2][1]"));
    /// ```
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn explain<T: Wire>(self, value: &T) -> ExplainedError {
        match self {
            Self::Full { capacity_bits, .. } => {
                let trace = explain_write_within(value, capacity_bits);
                ExplainedError::new(ErrorKind::Full, capacity_bits, trace)
            }
            Self::Value { kind, bit } => ExplainedError::new(kind, bit, explain_write(value)),
        }
    }
}

impl ExplainedError {
    /// The trace knows better than the error, since it goes field by field where derived types go
    /// by the word. One that did not fail has not found the field, and blames nobody.
    #[doc(hidden)]
    #[must_use]
    pub fn new(kind: ErrorKind, bit: u64, mut trace: Trace) -> Self {
        let (kind, bit) = trace.failure().unwrap_or((kind, bit));
        trace.set_failure(kind, bit);
        Self { kind, bit, trace: Box::new(trace) }
    }

    /// The names that lead to the refused field, as in `Player.inventory[3].count`; nothing if the
    /// packet as a whole was refused, as for data after its end.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        self.trace.refused().map(Node::path)
    }

    /// The bit of the packet where the refused value begins.
    #[must_use]
    pub fn bit(&self) -> u64 {
        self.bit
    }

    /// What was wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Every field up to the refused one.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

impl fmt::Display for ExplainedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, bit, .. } = *self;
        Refusal { node: self.trace.refused(), kind, bit }.fmt(f)
    }
}

/// The sentence: what `unwrap` and a `main` that fails print.
impl fmt::Debug for ExplainedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Explained({self})")
    }
}

impl core::error::Error for ExplainedError {}
