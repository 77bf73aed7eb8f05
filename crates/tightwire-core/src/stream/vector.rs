//! Vectors, quaternions and directions.
//!
//! The topmost code of smallest-three and octahedral components stays unused, so that zero is
//! exact. The largest component of a quaternion is found by arithmetic and tables: it is as random
//! as the data, so a branch on it would be mispredicted.

use core::hint::cold_path;

use wide::{f32x4, i16x8, i32x4, i32x8};

use super::float::{FloatRange, compressed_array, sqrt};
use super::{ErrorKind, Stream, Target, check_not_failed, misuse};

/// A vector of `N` floats: `[f32; N]`, the vectors of `mint` and `glam` behind their features, or
/// your own.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::{MeasureStream, Vector};
///
/// #[derive(Clone, Copy)]
/// struct Metres { east: f32, north: f32 }
///
/// impl Vector<2> for Metres {
///     fn to_array(self) -> [f32; 2] { [self.east, self.north] }
///     fn from_array([east, north]: [f32; 2]) -> Self { Self { east, north } }
/// }
///
/// let mut place = Metres { east: 3.0, north: 4.0 };
/// assert_eq!(MeasureStream::bits_of(|stream| stream.vector(&mut place)), 64);
/// ```
pub trait Vector<const N: usize>: Copy {
    /// The components in order.
    fn to_array(self) -> [f32; N];
    /// Creates the vector with these components.
    fn from_array(components: [f32; N]) -> Self;
}

/// A quaternion: `[f32; 4]` as x, y, z, w, the quaternions of `mint` and `glam` behind their
/// features, or your own.
///
/// ```
/// use tightwire::stream::Quaternion;
///
/// let turn = mint::Quaternion::from_xyzw([0.0, 0.6, 0.0, 0.8]);
/// assert_eq!(turn.s, 0.8);
/// ```
pub trait Quaternion: Copy {
    /// The components, the real part last.
    fn to_xyzw(self) -> [f32; 4];
    /// Creates the quaternion with these components.
    fn from_xyzw(components: [f32; 4]) -> Self;
}

impl<const N: usize> Vector<N> for [f32; N] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_array(self) -> [f32; N] {
        self
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_array(components: [f32; N]) -> Self {
        components
    }
}

impl Quaternion for [f32; 4] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to_xyzw(self) -> [f32; 4] {
        self
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from_xyzw(components: [f32; 4]) -> Self {
        components
    }
}

/// Each component as an unquantised float.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn whole<S: Stream, V: Vector<N>, const N: usize>(
    stream: &mut S,
    mut vector: Target<'_, S::Access, V>,
) -> Result<(), S::Error> {
    let mut components = vector.to_array();
    whole_slice(stream, &mut components)?;
    vector.put(V::from_array(components));
    Ok(())
}

/// Like [`whole`], with a number of components that is only known at run time.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn whole_slice<S: Stream>(
    stream: &mut S,
    components: &mut [f32],
) -> Result<(), S::Error> {
    // Two at a time, since a word holds two floats.
    for pair in components.chunks_mut(2) {
        let mut word =
            pair.iter().rev().fold(0, |word, float| word << 32 | u64::from(float.to_bits()));
        stream.raw_bits(&mut word, 32 * pair.len() as u32)?;
        if S::READING {
            for float in pair {
                *float = f32::from_bits(word as u32);
                word >>= 32;
            }
        }
    }
    if components.is_empty() { check_not_failed(stream) } else { Ok(()) }
}

/// Each component as an unquantised float.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn quaternion<S: Stream, Q: Quaternion>(
    stream: &mut S,
    mut quaternion: Target<'_, S::Access, Q>,
) -> Result<(), S::Error> {
    let mut components = quaternion.to_xyzw();
    whole_slice(stream, &mut components)?;
    quaternion.put(Q::from_xyzw(components));
    Ok(())
}

/// Each component quantised.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn compressed<S: Stream, V: Vector<N>, const N: usize>(
    stream: &mut S,
    mut vector: Target<'_, S::Access, V>,
    range: FloatRange,
) -> Result<(), S::Error> {
    let mut components = vector.to_array();
    compressed_array(stream, &mut components, range)?;
    vector.put(V::from_array(components));
    Ok(())
}

/// Codes of one width, packed into as few words as possible.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn codes<S: Stream>(
    stream: &mut S,
    codes: &mut [u32],
    width: u32,
    max_code: u32,
) -> Result<(), S::Error> {
    let is_empty = codes.is_empty();
    let mut rest = codes;
    while !rest.is_empty() {
        let most = if S::PACKS { (64 / width) as usize } else { 1 };
        let (word_codes, later) = rest.split_at_mut(rest.len().min(most));
        let start = stream.position();
        let mut word = 0;
        for &code in word_codes.iter().rev() {
            word = word << width | u64::from(code);
        }
        stream.raw_fitting(&mut word, width * word_codes.len() as u32)?;
        if S::READING {
            let mut in_range = true;
            for code in &mut *word_codes {
                *code = (word & ((1 << width) - 1)) as u32;
                in_range &= *code <= max_code;
                word >>= width;
            }
            if !in_range {
                let before = word_codes.iter().take_while(|&&code| code <= max_code).count();
                return stream
                    .refuse_at(ErrorKind::OutOfRange, start + u64::from(width) * before as u64);
            }
        }
        rest = later;
    }
    if is_empty { check_not_failed(stream) } else { Ok(()) }
}

/// The index of the largest component in two bits, then the other three, each in `bits` bits.
///
/// The sign is chosen so that the largest component is positive; its magnitude follows from the
/// others. Codes are symmetric around an exact zero, so that the topmost code is unused.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn smallest_three<S: Stream, Q: Quaternion>(
    stream: &mut S,
    mut quaternion: Target<'_, S::Access, Q>,
    bits: u32,
) -> Result<(), S::Error> {
    if !(3..=20).contains(&bits) {
        return misuse(stream, "smallest_three: 3 to 20 bits per component are possible");
    }
    if !S::QUANTISES {
        return whole_slice(stream, &mut quaternion.to_xyzw());
    }
    let start = stream.position();
    let centre = (1 << (bits - 1)) - 1;
    let mut word = 0;
    if S::WRITING {
        let components = quaternion.to_xyzw();
        let [x, y, z, w] = components;
        let unit = centre as f32 * core::f32::consts::SQRT_2;
        match over_length(unit, x * x + y * y + z * z + w * w) {
            Some(unit) => word = rotation_word(components, unit, bits),
            // Its bits are written nevertheless, so that the compiler knows where the next field begins.
            None => {
                cold_path();
                stream.refuse_next(ErrorKind::NotUnit)?;
            }
        }
    }
    if S::PACKS {
        stream.raw_fitting(&mut word, 2 + 3 * bits)?;
    } else {
        one_by_one(stream, &mut word, [2, bits, bits, bits])?;
    }
    if S::READING {
        let index = (word & 3) as usize;
        let codes = [2, 2 + bits, 2 + 2 * bits].map(|at| (word >> at & ((1 << bits) - 1)) as i32);
        let ([a, b, c], sum) = three_components(codes, centre);
        let in_range = codes.iter().fold(true, |in_range, &code| in_range & (code <= 2 * centre));
        if !in_range | (sum > 1.0) {
            return stream.refuse_at(ErrorKind::NotUnit, start);
        }
        let from = [a, b, c, sqrt(1.0 - sum)];
        quaternion.put(Q::from_xyzw(SOURCES[index].map(|source| from[usize::from(source & 3)])));
    }
    Ok(())
}

/// Returns the index of the largest component and the codes of the other three; `unit` is the scale
/// of components of unit length.
///
/// No branch on the index of the largest component, which is as random as the rotation, and no table: the
/// components would go through memory.
#[cfg_attr(not(debug_assertions), inline(always))]
fn rotation_word(components: [f32; 4], unit: f32, bits: u32) -> u64 {
    let centre = (1 << (bits - 1)) - 1;
    let vector = f32x4::new(components);
    let largest = largest(vector);
    let is_negative = vector.to_bitmask() >> largest & 1;
    let scale = f32::from_bits(unit.to_bits() | is_negative << 31);
    // With the centre added no number is negative, so that truncation rounds to the nearest. The code of the
    // largest may need one bit more than it has here, but it is cut out.
    let codes =
        (vector * scale + (centre as f32 + 0.5)).fast_trunc_int() & i32x4::splat((1 << bits) - 1);
    let (low, high) = pairs(codes, bits);
    let all = u128::from(low) | u128::from(high) << (2 * bits);
    let (all, later) = (all as u64, (all >> bits) as u64);
    let before_largest = (1 << (bits * largest)) - 1;
    let without = later ^ ((all ^ later) & before_largest);
    u64::from(largest) | without << 2
}

/// Returns the index of the largest magnitude; the first of those that are equal.
#[cfg_attr(not(debug_assertions), inline(always))]
fn largest(components: f32x4) -> u32 {
    let magnitudes = components.abs();
    let [x, y, z, w] = magnitudes.to_array();
    let pairs = magnitudes.fast_max(f32x4::new([y, x, w, z]));
    let [xy, yx, zw, wz] = pairs.to_array();
    let most = pairs.fast_max(f32x4::new([zw, wz, xy, yx]));
    (magnitudes.simd_eq(most).to_bitmask() | 8).trailing_zeros()
}

/// Packs the first and the last two of four codes.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pairs(codes: i32x4, bits: u32) -> (u64, u64) {
    let [a, b, c, d] = codes.to_array();
    if bits > 14 {
        let [a, b, c, d] = [a, b, c, d].map(|code| u64::from(code.cast_unsigned()));
        return (a | b << bits, c | d << bits);
    }
    // One multiplication of vector units.
    let factor = 1 << bits;
    let narrow = i16x8::from_i32x8_saturate(i32x8::new([a, b, c, d, a, b, c, d]));
    let [low, high, ..] =
        narrow.dot(i16x8::new([1, factor, 1, factor, 1, factor, 1, factor])).to_array();
    (u64::from(low.cast_unsigned()), u64::from(high.cast_unsigned()))
}

/// Returns the components of three codes, and the sum of their squares.
#[cfg_attr(not(debug_assertions), inline(always))]
fn three_components(codes: [i32; 3], centre: i32) -> ([f32; 3], f32) {
    let step = 1.0 / (centre as f32 * core::f32::consts::SQRT_2);
    let [a, b, c] = codes.map(|code| (code - centre) as f32 * step);
    ([a, b, c], a * a + b * b + c * c)
}

/// Whether three codes of `3..=20` bits, none of them the topmost, are a rotation.
#[inline]
pub fn is_rotation(codes: [u32; 3], bits: u32) -> bool {
    let (_, sum) = three_components(codes.map(u32::cast_signed), (1 << (bits - 1)) - 1);
    sum <= 1.0
}

/// The fields of a word one at a time, for streams that do not pack.
fn one_by_one<S: Stream, const N: usize>(
    stream: &mut S,
    word: &mut u64,
    widths: [u32; N],
) -> Result<(), S::Error> {
    let (mut whole, mut at) = (0, 0);
    for width in widths {
        let mut field = *word >> at & ((1 << width) - 1);
        stream.raw_bits(&mut field, width)?;
        whole |= field << at;
        at += width;
    }
    *word = whole;
    Ok(())
}

/// Positions of the components among the three that were sent and the largest, by the index of the
/// largest.
const SOURCES: [[u8; 4]; 4] = [[3, 0, 1, 2], [0, 3, 1, 2], [0, 1, 3, 2], [0, 1, 2, 3]];

/// Rounds the scaled numbers to the nearest integers, with `centre` as the code of zero.
#[cfg_attr(not(debug_assertions), inline(always))]
fn codes_around(centre: i32, numbers: [f32; 4], scale: f32) -> [u32; 4] {
    // With the centre added no number is negative, so that truncation rounds to the nearest.
    let codes = f32x4::new(numbers) * scale + (centre as f32 + 0.5);
    codes.fast_trunc_int().to_array().map(i32::cast_unsigned)
}

/// Valid values for the length of a direction, and for its square.
const LENGTHS: core::ops::Range<f32> = f32::MIN_POSITIVE..f32::INFINITY;

/// Divides `number` by the length with this square; `None` if the length is not valid.
#[cfg_attr(not(debug_assertions), inline(always))]
fn over_length(number: f32, length_squared: f32) -> Option<f32> {
    // Numbers this close to unit length count as normalised, which saves the square root: the error
    // is a quarter of the finest quantisation step.
    if (length_squared - 1.0).abs() <= 1e-6 {
        return Some(number);
    }
    let is_length = LENGTHS.contains(&length_squared);
    is_length.then(|| number / sqrt(length_squared))
}

/// A direction on the octahedron: the sphere unfolded to a square, each coordinate in `bits` bits.
///
/// The six axes are exact.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn unit_vector<S: Stream, V: Vector<3>>(
    stream: &mut S,
    mut direction: Target<'_, S::Access, V>,
    bits: u32,
) -> Result<(), S::Error> {
    if !(2..=20).contains(&bits) {
        return misuse(stream, "unit_vector: 2 to 20 bits per coordinate are possible");
    }
    if !S::QUANTISES {
        return whole_slice(stream, &mut direction.to_array());
    }
    let centre = (1 << (bits - 1)) - 1;
    let mut sides = [0; 2];
    if S::WRITING {
        let [x, y, z] = direction.to_array();
        let sum = x.abs() + y.abs() + z.abs();
        if LENGTHS.contains(&sum) {
            let (u, v) = (x / sum, y / sum);
            let (u, v) = if z < 0.0 { fold(u, v) } else { (u, v) };
            let [u, v, ..] = codes_around(centre, [u, v, u, v], centre as f32);
            sides = [u, v];
        } else {
            cold_path();
            stream.refuse_next(ErrorKind::NotUnit)?;
        }
    }
    codes(stream, &mut sides, bits, 2 * centre as u32)?;
    if S::READING {
        let [u, v] = sides.map(|code| (code as i32 - centre) as f32 / centre as f32);
        let z = 1.0 - u.abs() - v.abs();
        let (x, y) = if z < 0.0 { fold(u, v) } else { (u, v) };
        // The length is at least 1/√3: a point of the octahedron is never near its centre.
        let length = sqrt(x * x + y * y + z * z);
        direction.put(V::from_array([x / length, y / length, z / length]));
    }
    Ok(())
}

/// Folds the lower half of the octahedron outwards over the edges of the upper half, and back.
#[cfg_attr(not(debug_assertions), inline(always))]
fn fold(u: f32, v: f32) -> (f32, f32) {
    ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v))
}
