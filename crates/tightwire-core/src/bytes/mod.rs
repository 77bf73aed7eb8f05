//! Whole bytes in a caller's buffer: plain structs, primitives, packed integers, text, and sections
//! of bits or of whole-byte values between them.
//!
//! A writer and a reader are values on the stack. Each operation has its own bounds check, or one
//! check covers a block of operations. A refused operation writes or reads nothing, and the
//! position stays.

mod block;
mod buffer;
mod error;
mod packed;
mod packing;
mod primitive;
mod reader;
mod reserved;
mod section;
mod writer;

pub use block::{ReadBlock, WriteBlock};
pub use buffer::{Buffer, GrowingBuffer};
pub use error::ByteError;
pub use packing::Packing;
pub use primitive::Primitive;
pub use reader::ByteReader;
pub use reserved::Reserved;
pub use writer::ByteWriter;
