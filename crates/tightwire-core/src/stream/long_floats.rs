//! Arrays of floats of derived types: vectors of a schema, or longer than these.

use alloc::boxed::Box;

use super::{FloatRange, MAX_DIMENSIONS, Op, Shape, Stream, Target, Wire as _};

/// An array of floats, which is a vector if it is not too long for one.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn floats<S: Stream, const N: usize>(
    stream: &mut S,
    value: Target<'_, S::Access, [f32; N]>,
) -> Result<(), S::Error> {
    match const { N <= MAX_DIMENSIONS } {
        true => stream.vector(value),
        false => stream.fixed_array(value, f32::serialize),
    }
}

/// The shape of [`floats`].
pub fn floats_shape(len: usize) -> Shape {
    match len <= MAX_DIMENSIONS {
        true => Shape::Op(Op::Vector { dimensions: len }),
        false => long_array(len, Op::Float),
    }
}

/// The same of compressed ones.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn compressed_floats<S: Stream, const N: usize>(
    stream: &mut S,
    value: Target<'_, S::Access, [f32; N]>,
    range: FloatRange,
) -> Result<(), S::Error> {
    match const { N <= MAX_DIMENSIONS } {
        true => stream.compressed_vector(value, range),
        false => stream.fixed_array(value, |float, stream| stream.compressed_float(float, range)),
    }
}

/// The shape of [`compressed_floats`].
pub fn compressed_floats_shape(len: usize, range: FloatRange) -> Shape {
    match len <= MAX_DIMENSIONS {
        true => Shape::Op(Op::CompressedVector { dimensions: len, range }),
        false => long_array(len, Op::CompressedFloat(range)),
    }
}

fn long_array(len: usize, op: Op) -> Shape {
    Shape::Array { len: len as u64, element: Box::new(Shape::Op(op)) }
}
