//! Primitive numbers, little-endian.

use crate::stream::Pod;

/// A primitive number, or a `bool` as a byte that is 0 or 1. `usize` is not included: its size
/// depends on the machine.
///
/// ```
/// use tightwire::bytes::ByteWriter;
///
/// let mut writer = ByteWriter::new([0; 16]);
/// writer.write(0x1234u16)?;
/// writer.write(-1i8)?;
/// writer.write(1.5f32)?;
/// writer.write(true)?;
/// assert_eq!(writer.finish()?, [0x34, 0x12, 0xff, 0x00, 0x00, 0xc0, 0x3f, 0x01]);
/// # Ok::<(), tightwire::bytes::ByteError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not written as a primitive",
    note = "use `write_pod` for plain structs, `write_varint` for a `usize`, `write_wire` for `Wire` types"
)]
pub trait Primitive: sealed::Sealed + Copy {
    /// Bytes of the number.
    #[doc(hidden)]
    type Image: Pod;

    #[doc(hidden)]
    fn to_image(self) -> Self::Image;

    /// Returns the value, and whether the bytes are valid.
    #[doc(hidden)]
    fn from_image(image: Self::Image) -> (Self, bool);
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Primitive for $number {
            type Image = [u8; size_of::<$number>()];

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn to_image(self) -> Self::Image {
                self.to_le_bytes()
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from_image(image: Self::Image) -> (Self, bool) {
                (Self::from_le_bytes(image), true)
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

impl sealed::Sealed for bool {}
impl Primitive for bool {
    type Image = u8;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_image(self) -> u8 {
        u8::from(self)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_image(image: u8) -> (Self, bool) {
        (image != 0, image <= 1)
    }
}
