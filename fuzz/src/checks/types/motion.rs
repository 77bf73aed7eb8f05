//! Floats, vectors and rotations.
//!
//! Whole floats are kept as their bits, so that a NaN equals itself.

use tightwire::{FloatRange, Stream, Target, Wire, at};

use super::Hostile;
use crate::checks::quantised::is_same_rotation;

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct Motion {
    rotations: [[f32; 4]; 3],
    places: Places,
}

#[derive(Default, PartialEq, Debug)]
struct Places {
    volume: f32,
    position: [f32; 3],
    coarse: [f32; 2],
    directions: [[f32; 3]; 3],
    float: u32,
    double: u64,
    whole_vector: [u32; 3],
    whole_quaternion: [u32; 4],
}

const VOLUME: FloatRange = FloatRange::new(0.0, 10.0, 0.01);
const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
const COARSE: FloatRange = FloatRange::new(-1.0, 1.0, 0.3);
const ROTATION_BITS: [u32; 3] = [3, 10, 20];
const DIRECTION_BITS: [u32; 3] = [2, 12, 20];

impl Wire for Motion {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        for (rotation, bits) in at!(this.rotations).target().elements().zip(ROTATION_BITS) {
            stream.smallest_three(rotation, bits)?;
        }
        stream.object(at!(this.places))
    }
}

impl Wire for Places {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.compressed_float(at!(this.volume), VOLUME)?;
        stream.compressed_vector(at!(this.position), POSITION)?;
        stream.compressed_vector(at!(this.coarse), COARSE)?;
        for (direction, bits) in at!(this.directions).target().elements().zip(DIRECTION_BITS) {
            stream.unit_vector(direction, bits)?;
        }
        let mut float = f32::from_bits(this.float);
        stream.float(&mut float)?;
        at!(this.float).put(float.to_bits());
        let mut double = f64::from_bits(this.double);
        stream.double(&mut double)?;
        at!(this.double).put(double.to_bits());
        let mut vector = this.whole_vector.map(f32::from_bits);
        stream.vector(&mut vector)?;
        at!(this.whole_vector).put(vector.map(f32::to_bits));
        let mut quaternion = this.whole_quaternion.map(f32::from_bits);
        stream.quaternion(&mut quaternion)?;
        at!(this.whole_quaternion).put(quaternion.map(f32::to_bits));
        Ok(())
    }
}

impl Hostile for Motion {
    const IS_CANONICAL: bool = false;
    const IS_EXACT: bool = false;

    fn agrees(&self, other: &Self) -> bool {
        let rotations = self.rotations.into_iter().zip(other.rotations).zip(ROTATION_BITS);
        self.places == other.places
            && rotations.into_iter().all(|((sent, came), bits)| is_same_rotation(sent, came, bits))
    }
}
