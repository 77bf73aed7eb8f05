//! serialize-official: one serialize function per type for both directions, as its documentation
//! shows.

use super::Codec;
use crate::packets::{
    BitFields, Bodies, Indices, MAX_BODIES, MAX_INDICES, MAX_PLAINS, MAX_TEXT, Message, Plain,
    Plains, PlayerInput, RawBodies, RawBody, RigidBody,
};
use crate::quantise::{pack_orientation, unpack_orientation};
use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use serialize::{BitReader, BitWriter, Error, ReadStream, Result, Serialize, Stream, WriteStream};

pub struct SerializeOfficial;

impl<P: Serialize> Codec<P> for SerializeOfficial {
    const NAME: &'static str = "serialize-official";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = packet.serialize(&mut stream);
        stream.flush();
        stream.bytes_processed() as usize
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        // The whole buffer: its slack keeps the reader on the fast path.
        let mut stream = ReadStream::new(buffer, len);
        slot.serialize(&mut stream).expect("serialize-official reads");
    }
}

/// Serializes an integer of any small type in `min..=max`; the library itself takes `i32`.
#[inline(always)]
fn int<S: Stream, T>(stream: &mut S, value: &mut T, min: i32, max: i32) -> Result<(), S::Error>
where
    T: Copy + Into<i32> + TryFrom<i32>,
{
    let mut wide = (*value).into();
    stream.serialize_int(&mut wide, min, max)?;
    if S::IS_READING {
        match T::try_from(wide) {
            Ok(narrow) => *value = narrow,
            Err(_) => return stream.refuse(Error::ValueOutOfRange),
        }
    }
    Ok(())
}

/// Serializes the count of a list, and resizes the list when reading.
#[inline(always)]
fn count<S: Stream, T: Clone + Default>(
    stream: &mut S,
    list: &mut Vec<T>,
    max: usize,
) -> Result<(), S::Error> {
    let mut count = list.len() as i32;
    stream.serialize_int(&mut count, 0, max as i32)?;
    if S::IS_READING {
        list.resize(count as usize, T::default());
    }
    Ok(())
}

fn floats<S: Stream>(stream: &mut S, values: &mut [f32]) -> Result<(), S::Error> {
    for value in values {
        stream.serialize_f32(value)?;
    }
    Ok(())
}

fn orientation<S: Stream>(stream: &mut S, value: &mut [f32; 4]) -> Result<(), S::Error> {
    let mut bits = if S::IS_WRITING { pack_orientation(value) } else { 0 };
    stream.serialize_bits(&mut bits, 32)?;
    if S::IS_READING {
        match unpack_orientation(bits) {
            Some(read) => *value = read,
            None => return stream.refuse(Error::ValueOutOfRange),
        }
    }
    Ok(())
}

impl Serialize for RigidBody {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        for value in &mut self.position {
            stream.serialize_compressed_float(value, -256.0, 256.0, 0.001)?;
        }
        orientation(stream, &mut self.orientation)?;
        stream.serialize_bool(&mut self.at_rest)?;
        if !self.at_rest {
            for value in &mut self.linear_velocity {
                stream.serialize_compressed_float(value, -32.0, 32.0, 0.01)?;
            }
            for value in &mut self.angular_velocity {
                stream.serialize_compressed_float(value, -32.0, 32.0, 0.01)?;
            }
        } else if S::IS_READING {
            self.linear_velocity = [0.0; 3];
            self.angular_velocity = [0.0; 3];
        }
        Ok(())
    }
}

impl Serialize for Bodies {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        count(stream, &mut self.bodies, MAX_BODIES)?;
        for body in &mut self.bodies {
            body.serialize(stream)?;
        }
        Ok(())
    }
}

/// The same packet with the rotation written as a reader of the documentation would: a loop for the
/// largest component, and a ranged integer for each number.
pub struct SerializeOfficialPlain;

impl Codec<Bodies> for SerializeOfficialPlain {
    const NAME: &'static str = "serialize-off. plain";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut Bodies, buffer: &mut [u8]) -> usize {
        let mut stream = WriteStream::new(buffer);
        let Ok(()) = plain_bodies(packet, &mut stream);
        stream.flush();
        stream.bytes_processed() as usize
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut Bodies) {
        let mut stream = ReadStream::new(buffer, len);
        plain_bodies(slot, &mut stream).expect("serialize-official reads");
    }
}

fn plain_bodies<S: Stream>(packet: &mut Bodies, stream: &mut S) -> Result<(), S::Error> {
    count(stream, &mut packet.bodies, MAX_BODIES)?;
    for body in &mut packet.bodies {
        for value in &mut body.position {
            stream.serialize_compressed_float(value, -256.0, 256.0, 0.001)?;
        }
        plain_orientation(stream, &mut body.orientation)?;
        stream.serialize_bool(&mut body.at_rest)?;
        if !body.at_rest {
            for value in body.linear_velocity.iter_mut().chain(&mut body.angular_velocity) {
                stream.serialize_compressed_float(value, -32.0, 32.0, 0.01)?;
            }
        } else if S::IS_READING {
            body.linear_velocity = [0.0; 3];
            body.angular_velocity = [0.0; 3];
        }
    }
    Ok(())
}

fn plain_orientation<S: Stream>(stream: &mut S, q: &mut [f32; 4]) -> Result<(), S::Error> {
    const CENTRE: i32 = 511;
    let mut largest = 0;
    let mut codes = [0; 3];
    if S::IS_WRITING {
        for place in 1..4 {
            if q[place].abs() > q[largest].abs() {
                largest = place;
            }
        }
        let sign = q[largest].signum();
        let others = (0..4).filter(|place| *place != largest);
        for (code, place) in codes.iter_mut().zip(others) {
            *code = (q[place] * sign * SQRT_2 * CENTRE as f32).round() as i32 + CENTRE;
        }
    }
    let mut index = largest as i32;
    stream.serialize_int(&mut index, 0, 3)?;
    for code in &mut codes {
        stream.serialize_int(code, 0, 2 * CENTRE)?;
    }
    if S::IS_READING {
        let rest = codes.map(|code| (code - CENTRE) as f32 / CENTRE as f32 * FRAC_1_SQRT_2);
        let squares: f32 = rest.iter().map(|component| component * component).sum();
        if squares > 1.0 {
            return stream.refuse(Error::ValueOutOfRange);
        }
        let others = (0..4).filter(|place| *place != index as usize);
        for (component, place) in rest.into_iter().zip(others) {
            q[place] = component;
        }
        q[index as usize] = (1.0 - squares).sqrt();
    }
    Ok(())
}

impl Serialize for RawBody {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        floats(stream, &mut self.position)?;
        floats(stream, &mut self.orientation)?;
        stream.serialize_bool(&mut self.at_rest)?;
        if !self.at_rest {
            floats(stream, &mut self.linear_velocity)?;
            floats(stream, &mut self.angular_velocity)?;
        } else if S::IS_READING {
            self.linear_velocity = [0.0; 3];
            self.angular_velocity = [0.0; 3];
        }
        Ok(())
    }
}

impl Serialize for RawBodies {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        count(stream, &mut self.bodies, MAX_BODIES)?;
        for body in &mut self.bodies {
            body.serialize(stream)?;
        }
        Ok(())
    }
}

impl Serialize for PlayerInput {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.serialize_u32(&mut self.tick)?;
        int(stream, &mut self.buttons, 0, (1 << 12) - 1)?;
        stream.serialize_compressed_float(&mut self.move_x, -1.0, 1.0, 0.01)?;
        stream.serialize_compressed_float(&mut self.move_y, -1.0, 1.0, 0.01)?;
        stream.serialize_compressed_float(&mut self.yaw, 0.0, 360.0, 0.01)?;
        stream.serialize_compressed_float(&mut self.pitch, -90.0, 90.0, 0.01)?;
        int(stream, &mut self.weapon, 0, 9)?;
        stream.serialize_u16(&mut self.sequence)
    }
}

impl Serialize for Message {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut ordinal = self.ordinal();
        int(stream, &mut ordinal, 0, 7)?;
        // A message of the same variant is overwritten in place, so a text's memory is reused.
        if S::IS_READING && ordinal != self.ordinal() {
            *self = Self::empty(ordinal);
        }
        match self {
            Self::Spawn { id, kind, x, y } => {
                int(stream, id, 0, 4095)?;
                int(stream, kind, 0, 31)?;
                int(stream, x, -2000, 2000)?;
                int(stream, y, -2000, 2000)
            }
            Self::Despawn { id } => int(stream, id, 0, 4095),
            Self::Damage { target, source, amount, critical } => {
                int(stream, target, 0, 4095)?;
                int(stream, source, 0, 4095)?;
                int(stream, amount, 0, 500)?;
                stream.serialize_bool(critical)
            }
            Self::Chat { from, text } => {
                int(stream, from, 0, 63)?;
                stream.serialize_string(text, MAX_TEXT + 1)
            }
            Self::Score { player, score } => {
                int(stream, player, 0, 63)?;
                stream.serialize_int(score, -100_000, 100_000)
            }
            Self::Ping { time, sequence } => {
                stream.serialize_u32(time)?;
                stream.serialize_u16(sequence)
            }
            Self::Pickup { player, item, count } => {
                int(stream, player, 0, 63)?;
                int(stream, item, 0, 1023)?;
                int(stream, count, 1, 99)
            }
            Self::Teleport { player, position } => {
                int(stream, player, 0, 63)?;
                floats(stream, position)
            }
        }
    }
}

impl Serialize for Indices {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        count(stream, &mut self.entries, MAX_INDICES)?;
        let mut previous = None;
        for (index, value) in &mut self.entries {
            let mut wide = i32::from(*index);
            match previous {
                // Zero may be an index, but no index is below zero to be relative to.
                None => stream.serialize_int(&mut wide, 0, MAX_INDICES as i32 - 1)?,
                Some(previous) => stream.serialize_int_relative(previous, &mut wide)?,
            }
            if S::IS_READING {
                if wide >= MAX_INDICES as i32 {
                    return stream.refuse(Error::ValueOutOfRange);
                }
                *index = wide as u16;
            }
            previous = Some(wide);
            stream.serialize_u8(value)?;
        }
        Ok(())
    }
}

impl Serialize for Plain {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.serialize_u64(&mut self.id)?;
        floats(stream, &mut self.position)?;
        stream.serialize_u32(&mut self.flags)?;
        stream.serialize_u16(&mut self.kind)?;
        stream.serialize_u16(&mut self.owner)
    }
}

impl Serialize for Plains {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        count(stream, &mut self.plains, MAX_PLAINS)?;
        for plain in &mut self.plains {
            plain.serialize(stream)?;
        }
        Ok(())
    }
}

/// The library's bit writer and reader. The reader checks nothing, so the end is checked before
/// each read, as the documentation requires.
pub struct SerializeOfficialBits;

impl Codec<BitFields> for SerializeOfficialBits {
    const NAME: &'static str = "serialize-official";
    const QUANTISES: bool = true;

    fn write(&mut self, packet: &mut BitFields, buffer: &mut [u8]) -> usize {
        let mut writer = BitWriter::new(buffer);
        for (value, width) in packet.values.iter().zip(&packet.widths) {
            writer.write_bits(*value, u32::from(*width));
        }
        writer.flush_bits();
        writer.bytes_written() as usize
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut BitFields) {
        let mut reader = BitReader::new(buffer, len);
        for width in &slot.widths {
            let width = u32::from(*width);
            assert!(!reader.would_read_past_end(width), "all was written");
            slot.sum += u64::from(reader.read_bits(width));
        }
    }
}
