//! Rotations, directions and compressed floats: exact values, errors, and the meaning of every
//! code.

use std::collections::HashSet;
use std::convert::Infallible;

use tightwire::stream::{ErrorKind, ReadError, ReadStream, WriteError, WriteStream};
use tightwire::{FloatRange, Stream};

use crate::common::rng::Rng;

/// Widths of the codings of `smallest_three` and of `unit_vector`.
const ROTATION_BITS: std::ops::RangeInclusive<u32> = 3..=20;
const DIRECTION_BITS: std::ops::RangeInclusive<u32> = 2..=20;

fn written(
    write: impl FnOnce(&mut WriteStream<'_>) -> Result<(), Infallible>,
) -> Result<Vec<u8>, WriteError> {
    let mut buffer = [0; 16];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = write(&mut stream);
    stream.finish().map(<[u8]>::to_vec)
}

fn rotation_read(packet: &[u8], bits: u32) -> Result<[f32; 4], ReadError> {
    let mut read = [f32::NAN; 4];
    let mut stream = ReadStream::new(packet);
    stream.smallest_three(&mut read, bits)?;
    stream.finish().map(|()| read)
}

fn direction_read(packet: &[u8], bits: u32) -> Result<[f32; 3], ReadError> {
    let mut read = [f32::NAN; 3];
    let mut stream = ReadStream::new(packet);
    stream.unit_vector(&mut read, bits)?;
    stream.finish().map(|()| read)
}

fn rotation_through_the_wire(mut rotation: [f32; 4], bits: u32) -> [f32; 4] {
    let packet = written(|stream| stream.smallest_three(&mut rotation, bits)).unwrap();
    rotation_read(&packet, bits)
        .unwrap_or_else(|refused| panic!("{rotation:?} in {bits} bits: {refused}"))
}

fn direction_through_the_wire(mut direction: [f32; 3], bits: u32) -> [f32; 3] {
    let packet = written(|stream| stream.unit_vector(&mut direction, bits)).unwrap();
    direction_read(&packet, bits).unwrap()
}

fn norm(components: &[f32]) -> f64 {
    components.iter().map(|&component| f64::from(component).powi(2)).sum::<f64>().sqrt()
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn the_identity_and_the_half_turns_are_exact_in_every_width() {
    for bits in ROTATION_BITS {
        for axis in 0..4 {
            for sign in [1.0, -1.0] {
                let mut rotation = [0.0; 4];
                rotation[axis] = sign;
                // The negative is the same rotation, and the largest component is sent positive.
                let exact = rotation.map(f32::abs);
                assert_eq!(rotation_through_the_wire(rotation, bits), exact, "{bits} bits");
            }
        }
    }
}

#[test]
fn every_rotation_of_five_bits_is_a_unit_quaternion_or_refused() {
    let mut accepted = 0;
    for word in 0..1u32 << 17 {
        match rotation_read(&word.to_le_bytes()[..3], 5) {
            Ok(rotation) => {
                accepted += 1;
                // Codes are symmetric around zero, so the topmost has no meaning.
                let codes = [2, 7, 12].map(|at| word >> at & 31);
                assert!(!codes.contains(&31), "{word:#x} gives {rotation:?}");
                assert!((norm(&rotation) - 1.0).abs() < 1e-5, "{word:#x} gives {rotation:?}");
            }
            Err(refused) => assert_eq!(refused, ReadError { kind: ErrorKind::NotUnit, bit: 0 }),
        }
    }
    // The cube of codes around the ball of rotations: most of it is used, and not all.
    assert!((80_000..1 << 17).contains(&accepted), "{accepted} accepted");
}

#[test]
fn every_written_rotation_is_accepted_in_every_width_and_near() {
    let mut rng = Rng::new(3);
    for bits in ROTATION_BITS {
        let step = 1.0 / (f64::from((1 << (bits - 1)) - 1) * 2f64.sqrt());
        for rotation in rotations(&mut rng) {
            let read = rotation_through_the_wire(rotation, bits);
            assert!((norm(&read) - 1.0).abs() < 1e-5, "{rotation:?} gives {read:?}");
            let length = norm(&rotation) as f32;
            let unit = rotation.map(|component| component / length);
            let error =
                distance(&unit, &read).min(distance(&unit.map(|component| -component), &read));
            assert!(error <= 2.0 * step + 1e-5, "{rotation:?} in {bits} bits gives {read:?}");
        }
    }
}

/// Returns random rotations, and some for which the largest component, or the size of the others,
/// is a matter of rounding.
fn rotations(rng: &mut Rng) -> Vec<[f32; 4]> {
    let mut rotations = Vec::new();
    for _ in 0..500 {
        rotations.push([(); 4].map(|()| random(rng)));
    }
    for equal in 2..=4 {
        for nudge in [0.0, 1e-7, -1e-7, 1e-4, -1e-4, 0.02, -0.02] {
            for _ in 0..30 {
                let mut rotation = [0f32; 4];
                for (place, component) in rotation.iter_mut().enumerate() {
                    let size = if place < equal { 1.0 } else { 0.0 };
                    *component = size + nudge * random(rng);
                    *component *= random(rng).signum();
                }
                let turn = rng.below(4);
                rotation.rotate_right(turn);
                rotations.push(rotation);
            }
        }
    }
    // Components on the border between two codes, for any width.
    for code in 0..100 {
        let side = (code as f32 + 0.5) / 100.0 / 2f32.sqrt();
        let largest = (1.0 - 3.0 * side * side).max(side * side).sqrt();
        rotations.extend([[side, side, side, largest], [-side, largest, side, -side]]);
    }
    rotations
}

/// Returns a number of `-1.0..1.0`.
fn random(rng: &mut Rng) -> f32 {
    (rng.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
}

#[test]
fn another_length_is_normalised() {
    let mut rng = Rng::new(4);
    for _ in 0..1000 {
        let rotation = [(); 4].map(|()| random(&mut rng));
        let direction = [rotation[0], rotation[1], rotation[2]];
        for scale in [1e-12, 1e-3, 16.0, 1e12] {
            let scaled = rotation.map(|component| component * scale);
            let (a, b) =
                (rotation_through_the_wire(rotation, 10), rotation_through_the_wire(scaled, 10));
            assert!(distance(&a, &b) < 0.006, "{a:?} and {b:?}: more than one step apart");
            let scaled = direction.map(|component| component * scale);
            let (a, b) =
                (direction_through_the_wire(direction, 10), direction_through_the_wire(scaled, 10));
            assert!(distance(&a, &b) < 0.008, "{a:?} and {b:?}: more than one step apart");
        }
    }
}

#[test]
fn non_unit_rotations_are_not_written() {
    let refused = Err(WriteError::Value { kind: ErrorKind::NotUnit, bit: 0 });
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for place in 0..4 {
            let mut rotation = [0.5; 4];
            rotation[place] = bad;
            assert_eq!(written(|stream| stream.smallest_three(&mut rotation, 9)), refused);
        }
        for place in 0..3 {
            let mut direction = [0.5; 3];
            direction[place] = bad;
            assert_eq!(written(|stream| stream.unit_vector(&mut direction, 9)), refused);
        }
    }
    assert_eq!(written(|stream| stream.smallest_three(&mut [0.0; 4], 9)), refused);
    assert_eq!(written(|stream| stream.smallest_three(&mut [-0.0; 4], 9)), refused);
    assert_eq!(written(|stream| stream.unit_vector(&mut [0.0; 3], 9)), refused);
}

#[test]
fn the_axes_are_exact_in_every_width() {
    for bits in DIRECTION_BITS {
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                let mut direction = [0.0; 3];
                direction[axis] = sign;
                assert_eq!(direction_through_the_wire(direction, bits), direction, "{bits} bits");
            }
        }
    }
}

#[test]
fn every_direction_of_six_bits_is_a_unit_vector_or_refused() {
    let mut directions = HashSet::new();
    for word in 0..1u16 << 12 {
        match direction_read(&word.to_le_bytes(), 6) {
            Ok(direction) => {
                assert!((norm(&direction) - 1.0).abs() < 1e-6, "{word:#x} gives {direction:?}");
                directions.insert(direction.map(|component| (component * 1e6).round() as i32));
            }
            Err(refused) => assert_eq!(refused.kind, ErrorKind::OutOfRange),
        }
    }
    // 63 by 63 codes; those on the rim of the square coincide pairwise at the lower pole's edges.
    assert!(directions.len() > 63 * 63 - 4 * 63, "{} directions", directions.len());
}

#[test]
fn directions_are_near_in_every_width() {
    let mut rng = Rng::new(5);
    for bits in DIRECTION_BITS {
        let step = 1.0 / f64::from((1 << (bits - 1)) - 1);
        for _ in 0..500 {
            let direction = [(); 3].map(|()| random(&mut rng));
            let length = norm(&direction) as f32;
            let unit = direction.map(|component| component / length);
            let read = direction_through_the_wire(direction, bits);
            assert!((norm(&read) - 1.0).abs() < 1e-6, "{read:?}");
            let error = distance(&unit, &read);
            assert!(error <= 2.2 * step + 1e-5, "{direction:?} in {bits} bits gives {read:?}");
        }
    }
}

#[test]
fn the_top_of_a_range_has_a_code_of_its_own_range() {
    // The number of steps is odd, and the sum with one half is a tie of `f32`.
    let lowest = (1u32 << 23) + 1;
    let odd = (lowest..1 << 24).step_by(2);
    let near_the_ends = odd.clone().take(1000).chain(odd.clone().rev().take(1000));
    for max_code in near_the_ends.chain(odd.step_by(1001)) {
        let top = max_code as f32;
        let range = FloatRange::new(0.0, top, 1.0);
        assert_eq!(range.max_code(), max_code);
        for value in [top, top.next_down(), top.next_up(), top * 2.0, f32::MAX] {
            assert!(range.quantise(value) <= max_code, "{value} of {range:?}");
            let packet = written(|stream| stream.compressed_float(&mut { value }, range)).unwrap();
            let mut read = 0.0;
            let mut stream = ReadStream::new(&packet);
            assert_eq!(stream.compressed_float(&mut read, range), Ok(()), "{value} of {range:?}");
            // A code is one step, and up there a float is no finer than a step.
            assert!((read - value.min(top)).abs() <= 1.0, "{value} gives {read} of {range:?}");
        }
        assert_eq!(range.quantise(top), max_code);
    }
}

/// Writes and reads a vector and its components one by one: the same bytes, the same floats.
fn check_vector<const N: usize>(mut vector: [f32; N], range: FloatRange) {
    let mut buffers = [[0; 64]; 2];
    let [whole, parts] = &mut buffers;
    let mut stream = WriteStream::new(whole);
    let Ok(()) = stream.compressed_vector(&mut vector, range);
    let whole = stream.finish().unwrap();
    let mut stream = WriteStream::new(parts);
    for component in &mut vector {
        let Ok(()) = stream.compressed_float(component, range);
    }
    let parts = stream.finish().unwrap();
    assert_eq!(whole, parts, "{vector:?} of {range:?}");

    let (mut read, mut one_by_one) = ([0.0; N], [0.0; N]);
    ReadStream::new(whole).compressed_vector(&mut read, range).unwrap();
    let mut stream = ReadStream::new(whole);
    for component in &mut one_by_one {
        stream.compressed_float(component, range).unwrap();
    }
    assert_eq!(read.map(f32::to_bits), one_by_one.map(f32::to_bits), "{vector:?} of {range:?}");
}

#[test]
fn a_compressed_vector_is_its_components_one_after_the_other() {
    let mut rng = Rng::new(6);
    // From one step to the largest number of steps, past each size where the arithmetic changes.
    let steps = (0..32).flat_map(|power| [-1.0, 0.0, 1.0].map(|by| 2f32.powi(power) + by));
    for steps in steps.filter(|&steps| steps >= 1.0) {
        for (min, max) in [(0.0, steps), (-1.0, 1.0), (-300.5, 12.25), (1e6, 1.5e6)] {
            let range = FloatRange::new(min, max, (max - min) / steps);
            for _ in 0..5 {
                let mut any = || (min + max) / 2.0 + (max - min) * 0.6 * random(&mut rng);
                check_vector([any()], range);
                check_vector([any(), any()], range);
                check_vector([any(), max, any()], range);
                check_vector([min, any(), max, any()], range);
                check_vector([any(), min, any(), f32::MAX, any(), max, f32::MIN], range);
            }
        }
    }
}

#[test]
fn every_code_above_the_top_is_refused() {
    let range = FloatRange::new(-1.0, 1.0, 0.02);
    assert_eq!((range.max_code(), range.width()), (100, 7));
    for code in 0..128u8 {
        let mut value = 7.0;
        let read = ReadStream::new(&[code]).compressed_float(&mut value, range);
        if code <= 100 {
            assert_eq!(read, Ok(()));
            assert!((-1.0..=1.0).contains(&value), "{value}");
            assert_eq!(range.quantise(value), u32::from(code));
        } else {
            assert_eq!(read, Err(ReadError { kind: ErrorKind::OutOfRange, bit: 0 }));
            assert_eq!(value, 7.0);
        }
    }
}

#[test]
fn non_finite_floats_are_not_compressed() {
    let range = FloatRange::new(-1.0, 1.0, 0.01);
    let refused = Err(WriteError::Value { kind: ErrorKind::NotFinite, bit: 0 });
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(written(|stream| stream.compressed_float(&mut { bad }, range)), refused);
        for place in 0..3 {
            let mut vector = [0.0; 3];
            vector[place] = bad;
            assert_eq!(written(|stream| stream.compressed_vector(&mut vector, range)), refused);
        }
    }
}

#[test]
fn finite_values_outside_the_range_become_its_bounds() {
    let range = FloatRange::new(-1.0, 1.0, 0.01);
    for (value, bound) in [(f32::MIN, -1.0), (-1.5, -1.0), (1.5, 1.0), (f32::MAX, 1.0)] {
        assert_eq!(range.dequantise(range.quantise(value)), bound);
    }
}
