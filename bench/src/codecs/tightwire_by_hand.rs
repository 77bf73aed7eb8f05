//! Tightwire with serialize functions written by hand, on the types that derive the same.

use super::Codec;
use crate::packets::{
    Bodies, MAX_BODIES, MAX_PLAINS, MAX_TEXT, Message, Plains, PlayerInput, RawBodies, RawBody,
    RigidBody,
};
use ::tightwire::{FloatRange, ReadStream, Stream, WriteStream};

pub struct ByHand;

/// What `Wire` is, for types that derive it.
pub trait Serialize {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error>;
}

impl<P: Serialize> Codec<P> for ByHand {
    const NAME: &'static str = "tightwire by hand";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = packet.serialize(&mut stream);
        stream.finish().expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        let mut stream = ReadStream::new(&buffer[..len]);
        slot.serialize(&mut stream).expect("tightwire reads");
        stream.finish().expect("tightwire reads");
    }
}

const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
const VELOCITY: FloatRange = FloatRange::new(-32.0, 32.0, 0.01);
const AXIS: FloatRange = FloatRange::new(-1.0, 1.0, 0.01);
const YAW: FloatRange = FloatRange::new(0.0, 360.0, 0.01);
const PITCH: FloatRange = FloatRange::new(-90.0, 90.0, 0.01);

impl Serialize for RigidBody {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.compressed_vector(&mut self.position, POSITION)?;
        stream.smallest_three(&mut self.orientation, 10)?;
        stream.bool(&mut self.at_rest)?;
        if !self.at_rest {
            stream.compressed_vector(&mut self.linear_velocity, VELOCITY)?;
            stream.compressed_vector(&mut self.angular_velocity, VELOCITY)?;
        } else if S::READING {
            self.linear_velocity = [0.0; 3];
            self.angular_velocity = [0.0; 3];
        }
        Ok(())
    }
}

impl Serialize for Bodies {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.array(&mut self.bodies, MAX_BODIES, Serialize::serialize)
    }
}

impl Serialize for RawBody {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.vector(&mut self.position)?;
        stream.quaternion(&mut self.orientation)?;
        stream.bool(&mut self.at_rest)?;
        if !self.at_rest {
            stream.vector(&mut self.linear_velocity)?;
            stream.vector(&mut self.angular_velocity)?;
        } else if S::READING {
            self.linear_velocity = [0.0; 3];
            self.angular_velocity = [0.0; 3];
        }
        Ok(())
    }
}

impl Serialize for RawBodies {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.array(&mut self.bodies, MAX_BODIES, Serialize::serialize)
    }
}

impl Serialize for PlayerInput {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.int(&mut self.tick, 0..=u32::MAX)?;
        stream.int(&mut self.buttons, 0..=(1 << 12) - 1)?;
        stream.compressed_float(&mut self.move_x, AXIS)?;
        stream.compressed_float(&mut self.move_y, AXIS)?;
        stream.compressed_float(&mut self.yaw, YAW)?;
        stream.compressed_float(&mut self.pitch, PITCH)?;
        stream.int(&mut self.weapon, 0..=9)?;
        stream.int(&mut self.sequence, 0..=u16::MAX)
    }
}

impl Serialize for Message {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut ordinal = self.ordinal();
        stream.int(&mut ordinal, 0..=7)?;
        // A message of the same kind is filled in again, and so a text's memory.
        if S::READING && ordinal != self.ordinal() {
            *self = Self::empty(ordinal);
        }
        match self {
            Self::Spawn { id, kind, x, y } => {
                stream.int(id, 0..=4095)?;
                stream.int(kind, 0..=31)?;
                stream.int(x, -2000..=2000)?;
                stream.int(y, -2000..=2000)
            }
            Self::Despawn { id } => stream.int(id, 0..=4095),
            Self::Damage { target, source, amount, critical } => {
                stream.int(target, 0..=4095)?;
                stream.int(source, 0..=4095)?;
                stream.int(amount, 0..=500)?;
                stream.bool(critical)
            }
            Self::Chat { from, text } => {
                stream.int(from, 0..=63)?;
                stream.string(text, MAX_TEXT)
            }
            Self::Score { player, score } => {
                stream.int(player, 0..=63)?;
                stream.int(score, -100_000..=100_000)
            }
            Self::Ping { time, sequence } => {
                stream.int(time, 0..=u32::MAX)?;
                stream.int(sequence, 0..=u16::MAX)
            }
            Self::Pickup { player, item, count } => {
                stream.int(player, 0..=63)?;
                stream.int(item, 0..=1023)?;
                stream.int(count, 1..=99)
            }
            Self::Teleport { player, position } => {
                stream.int(player, 0..=63)?;
                stream.vector(position)
            }
        }
    }
}

impl Serialize for Plains {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut len = self.plains.len();
        stream.int(&mut len, 0..=MAX_PLAINS)?;
        if S::READING {
            self.plains.resize_with(len, Default::default);
        }
        stream.pod(&mut self.plains[..])
    }
}
