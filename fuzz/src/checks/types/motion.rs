//! Floats and what is made of them.
//!
//! Whole floats are kept as their bits, so that a NaN equals itself.

use tightwire::{FloatRange, Stream, Wire};

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
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        for (rotation, bits) in self.rotations.iter_mut().zip(ROTATION_BITS) {
            stream.smallest_three(rotation, bits)?;
        }
        stream.object(&mut self.places)
    }
}

impl Wire for Places {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.compressed_float(&mut self.volume, VOLUME)?;
        stream.named("position").compressed_vector(&mut self.position, POSITION)?;
        stream.compressed_vector(&mut self.coarse, COARSE)?;
        for (direction, bits) in self.directions.iter_mut().zip(DIRECTION_BITS) {
            stream.unit_vector(direction, bits)?;
        }
        let mut float = f32::from_bits(self.float);
        stream.float(&mut float)?;
        self.float = float.to_bits();
        let mut double = f64::from_bits(self.double);
        stream.double(&mut double)?;
        self.double = double.to_bits();
        let mut vector = self.whole_vector.map(f32::from_bits);
        stream.vector(&mut vector)?;
        self.whole_vector = vector.map(f32::to_bits);
        let mut quaternion = self.whole_quaternion.map(f32::from_bits);
        stream.quaternion(&mut quaternion)?;
        self.whole_quaternion = quaternion.map(f32::to_bits);
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
