//! Tightwire with serialize functions written by hand, on the types that also derive them.

use super::Codec;
use crate::packets::{
    Bodies, MAX_BODIES, MAX_PLAINS, MAX_TEXT, Message, Plains, PlayerInput, RawBodies, RawBody,
    RigidBody,
};
use tightwire::stream::{ReadStream, WriteStream};
use tightwire::{FloatRange, Stream, Target, at};

pub struct ByHand;

/// A copy of `Wire`, for types that derive `Wire` already.
pub trait Serialize {
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error>;
}

impl<P: Serialize> Codec<P> for ByHand {
    const NAME: &'static str = "tightwire by hand";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = P::serialize(Target::from(&*packet), &mut stream);
        stream.finish().expect("tightwire writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        let mut stream = ReadStream::new(&buffer[..len]);
        P::serialize(Target::from(slot), &mut stream).expect("tightwire reads");
        stream.finish().expect("tightwire reads");
    }
}

const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
const VELOCITY: FloatRange = FloatRange::new(-32.0, 32.0, 0.01);
const AXIS: FloatRange = FloatRange::new(-1.0, 1.0, 0.01);
const YAW: FloatRange = FloatRange::new(0.0, 360.0, 0.01);
const PITCH: FloatRange = FloatRange::new(-90.0, 90.0, 0.01);

impl Serialize for RigidBody {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.compressed_vector(at!(this.position), POSITION)?;
        stream.smallest_three(at!(this.orientation), 10)?;
        stream.bool(at!(this.at_rest))?;
        if !this.at_rest {
            stream.compressed_vector(at!(this.linear_velocity), VELOCITY)?;
            stream.compressed_vector(at!(this.angular_velocity), VELOCITY)?;
        } else {
            at!(this.linear_velocity).put([0.0; 3]);
            at!(this.angular_velocity).put([0.0; 3]);
        }
        Ok(())
    }
}

impl Serialize for Bodies {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.array(at!(this.bodies), MAX_BODIES, Serialize::serialize)
    }
}

impl Serialize for RawBody {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.vector(at!(this.position))?;
        stream.quaternion(at!(this.orientation))?;
        stream.bool(at!(this.at_rest))?;
        if !this.at_rest {
            stream.vector(at!(this.linear_velocity))?;
            stream.vector(at!(this.angular_velocity))?;
        } else {
            at!(this.linear_velocity).put([0.0; 3]);
            at!(this.angular_velocity).put([0.0; 3]);
        }
        Ok(())
    }
}

impl Serialize for RawBodies {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.array(at!(this.bodies), MAX_BODIES, Serialize::serialize)
    }
}

impl Serialize for PlayerInput {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.tick), 0..=u32::MAX)?;
        stream.int(at!(this.buttons), 0..=(1 << 12) - 1)?;
        stream.compressed_float(at!(this.move_x), AXIS)?;
        stream.compressed_float(at!(this.move_y), AXIS)?;
        stream.compressed_float(at!(this.yaw), YAW)?;
        stream.compressed_float(at!(this.pitch), PITCH)?;
        stream.int(at!(this.weapon), 0..=9)?;
        stream.int(at!(this.sequence), 0..=u16::MAX)
    }
}

impl Serialize for Message {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut ordinal = this.ordinal();
        stream.int(&mut ordinal, 0..=7)?;
        // A message of the same variant is overwritten in place, so a text's memory is reused.
        if S::READING && ordinal != this.ordinal() {
            this.put(Self::empty(ordinal));
        }
        // Each branch returns, so that the compiler sees one choice and not eight.
        if let Some((id, kind, x, y)) =
            at!(this, Self::Spawn { id, kind, x, y } => (id, kind, x, y))
        {
            stream.int(id, 0..=4095)?;
            stream.int(kind, 0..=31)?;
            stream.int(x, -2000..=2000)?;
            return stream.int(y, -2000..=2000);
        }
        if let Some(id) = at!(this, Self::Despawn { id } => id) {
            return stream.int(id, 0..=4095);
        }
        if let Some((target, source, amount, critical)) = at!(this, Self::Damage { target, source, amount, critical } =>
                (target, source, amount, critical))
        {
            stream.int(target, 0..=4095)?;
            stream.int(source, 0..=4095)?;
            stream.int(amount, 0..=500)?;
            return stream.bool(critical);
        }
        if let Some((from, text)) = at!(this, Self::Chat { from, text } => (from, text)) {
            stream.int(from, 0..=63)?;
            return stream.string(text, MAX_TEXT);
        }
        if let Some((player, score)) = at!(this, Self::Score { player, score } => (player, score)) {
            stream.int(player, 0..=63)?;
            return stream.int(score, -100_000..=100_000);
        }
        if let Some((time, sequence)) = at!(this, Self::Ping { time, sequence } => (time, sequence))
        {
            stream.int(time, 0..=u32::MAX)?;
            return stream.int(sequence, 0..=u16::MAX);
        }
        if let Some((player, item, count)) =
            at!(this, Self::Pickup { player, item, count } => (player, item, count))
        {
            stream.int(player, 0..=63)?;
            stream.int(item, 0..=1023)?;
            return stream.int(count, 1..=99);
        }
        if let Some((player, position)) =
            at!(this, Self::Teleport { player, position } => (player, position))
        {
            stream.int(player, 0..=63)?;
            return stream.vector(position);
        }
        Ok(())
    }
}

impl Serialize for Plains {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut len = this.plains.len();
        stream.int(&mut len, 0..=MAX_PLAINS)?;
        if let Some(this) = this.when_reading() {
            this.plains.resize_with(len, Default::default);
        }
        stream.pod(at!(this.plains[..]))
    }
}
