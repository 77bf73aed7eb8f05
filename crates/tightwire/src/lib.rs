//! Tightwire: the wire layer of real-time multiplayer games.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod bits;
mod stream;

pub use bits::{
    BitReader, BitWriter, Checkpoint, UnexpectedEnd, WriteRefused, bits_required,
    bits_required_u128,
};
pub use stream::{
    ErrorKind, FloatRange, Int, MeasureStream, Number, Op, Pod, Quaternion, RawStream, ReadError,
    ReadStream, Scope, Selection, Span, Stream, SubsetCoding, Trace, TraceStream, Value, Vector,
    Wire, WriteCheckpoint, WriteError, WriteStream, decode, decode_into, encode, explain,
    explain_write, measure,
};
