//! Explained errors: the serialize function runs again under a trace, which names the refused
//! field.

use alloc::boxed::Box;
use alloc::string::String;
use core::any::type_name;
use core::convert::Infallible;
use core::fmt;

use super::picture::Refusal;
use super::{
    ByteStream, ErrorKind, Node, RawStream, ReadError, ReadStream, Reading, Target, Trace,
    TraceStream, Wire, WriteError, WriteStream, decode_into, encode, measure,
};

/// A refusal that names the field: `Player.inventory[3].count at bit 412: 77 is not in 0..=64`.
///
/// It comes from [`decode_explained`] and [`encode_explained`], or from [`ReadError::explain`] and
/// [`WriteError::explain`]. Programs that do not use it pay nothing for it, and the others pay only
/// when something is refused.
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
    /// Boxed, because the size of an error is part of every result that contains it.
    trace: Box<Trace>,
}

/// Like [`decode`](crate::stream::decode), with an error that names the field. An accepted packet
/// costs the same, plus a few instructions to keep a reference to its bytes; a refused packet is
/// read a second time, slowly.
///
/// ```
/// let refused = tightwire::decode_explained::<[Option<u16>; 2]>(&[0b1000_0010]).unwrap_err();
/// let sentence = "[Option<u16>; 2][1] at bit 2: the packet ends before this value does (int 0..=65535)";
/// assert_eq!(refused.to_string(), sentence);
/// ```
///
/// # Errors
///
/// [`ExplainedError`] for anything but a complete valid packet.
#[inline]
pub fn decode_explained<T: Wire + Default>(packet: &[u8]) -> Result<T, ExplainedError> {
    // Not implemented by `decode`, which would move the value once more. The only cost of an
    // accepted packet is to keep the slice for `refuse`: two stores by reference; by value it would
    // occupy two registers throughout. `./ci.sh instructions` counts the instructions.
    let mut value = T::default();
    match decode_into(packet, &mut value) {
        Ok(()) => Ok(value),
        Err(refused) => {
            drop(value);
            refuse(refused, &packet)
        }
    }
}

/// Returns the whole result, so that the caller has nothing left to do after the call.
#[cold]
#[inline(never)]
fn refuse<T: Wire + Default>(refused: ReadError, packet: &&[u8]) -> Result<T, ExplainedError> {
    Err(refused.explain::<T>(packet))
}

/// Like [`encode`], with an error that names the field.
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

/// Reads `packet` a second time, slowly, and returns the meaning of every bit, and where and why
/// the packet was refused.
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

/// Like [`explain`], for a packet in whole bytes.
pub(crate) fn explain_bytes<T: Wire + Default>(packet: &[u8]) -> Trace {
    let stream = ByteStream::new(ReadStream::new(packet));
    explain_with(packet, stream, type_name::<T>(), |stream| {
        T::serialize(Target::from(&mut T::default()), stream)
    })
}

/// Runs `serialize` on `stream`, which reads `packet`, as an object of type `type_name`, and
/// returns the trace.
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

/// Writes `value` a second time, slowly, and returns the meaning of every bit, and the refusal if
/// there was one.
///
/// ```
/// let trace = tightwire::stream::explain_write(&[1u16, 2]);
/// assert_eq!(trace.spans().nth(1).unwrap().bits(), 16..32);
/// ```
#[must_use]
pub fn explain_write<T: Wire>(value: &T) -> Trace {
    explain_write_within(value, u64::MAX)
}

/// Like [`explain_write`], into a buffer of `capacity_bits`.
fn explain_write_within<T: Wire>(value: &T, capacity_bits: u64) -> Trace {
    let bytes = measure(value).div_ceil(8).min(capacity_bits / 8);
    explain_write_with(type_name::<T>(), bytes * 8, |stream| T::serialize(value.into(), stream))
}

/// Writes at most `bits` bits by `serialize` as an object of type `type_name`, and returns the
/// trace.
pub(crate) fn explain_write_with(
    type_name: &str,
    bits: u64,
    serialize: impl FnOnce(&mut TraceStream<WriteStream<'_>>) -> Result<(), Infallible>,
) -> Trace {
    let mut buffer = alloc::vec![0; bits.div_ceil(8) as usize];
    let (writer, mut trace) = trace_write(WriteStream::new(&mut buffer), type_name, serialize);
    if let Ok(packet) = writer.finish() {
        trace.set_bytes(packet);
    }
    trace
}

/// Runs `serialize` on `stream`, which writes, as an object of type `type_name`, and returns the
/// stream and the trace.
pub(crate) fn trace_write<S: RawStream<Error = Infallible>>(
    stream: S,
    type_name: &str,
    serialize: impl FnOnce(&mut TraceStream<S>) -> Result<(), Infallible>,
) -> (S, Trace) {
    let mut stream = TraceStream::of_object(stream, type_name);
    let Ok(()) = serialize(&mut stream);
    stream.into_parts()
}

impl ReadError {
    /// Names the field that [`decode`](crate::stream::decode) or [`decode_into`] refused in
    /// `packet`, by reading the packet again field by field. A field that depends on the previous
    /// contents of the value may not be found; the explained error then says no more than this one.
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
    /// Names the field that [`encode`] refused, by writing `value` again: the field whose range
    /// does not allow its value, or the first that did not fit into the buffer.
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
    /// Combines an error with its trace. The trace is more exact, since it goes field by field
    /// where derived types go word by word. A trace that did not fail has not found the field, and
    /// marks none.
    #[doc(hidden)]
    #[must_use]
    pub fn new(kind: ErrorKind, bit: u64, mut trace: Trace) -> Self {
        let (kind, bit) = trace.failure().unwrap_or((kind, bit));
        trace.set_failure(kind, bit);
        Self { kind, bit, trace: Box::new(trace) }
    }

    /// Path of the refused field, such as `Player.inventory[3].count`; `None` if the packet as a
    /// whole was refused, such as for data after its end.
    #[must_use]
    pub fn path(&self) -> Option<String> {
        self.trace.refused().map(Node::path)
    }

    /// Position in bits where the refused value begins.
    #[must_use]
    pub fn bit(&self) -> u64 {
        self.bit
    }

    /// Reason of the refusal.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Trace of every field up to the refused one.
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

/// One sentence, for `unwrap` and a `main` that fails.
impl fmt::Debug for ExplainedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExplainedError({self})")
    }
}

impl core::error::Error for ExplainedError {}
