//! bitstream-io: code that a competent user writes by hand on its bit writer and reader, with the
//! widths as constants wherever they are known. Where the library has several ways to do the same,
//! the one measured to be the fastest is used.

use super::Codec;
use crate::packets::{
    BitFields, Bodies, Indices, MAX_BODIES, MAX_INDICES, MAX_PLAINS, MAX_TEXT, Message, Plain,
    Plains, PlayerInput, RawBodies, RawBody, RigidBody,
};
use crate::quantise::{Range, pack_orientation, unpack_orientation};
use bitstream_io::{
    BitRead, BitReader, BitWrite, BitWriter, ByteRead, ByteReader, ByteWrite, ByteWriter,
    LittleEndian,
};
use std::hint::black_box;
use std::io::{Error, ErrorKind, Result};

/// Writes to a reused vector: the library is faster with it than with a slice.
#[derive(Default)]
pub struct BitstreamIo {
    bytes: Vec<u8>,
}

type Writer<'a> = BitWriter<&'a mut Vec<u8>, LittleEndian>;
type Reader<'a> = BitReader<&'a [u8], LittleEndian>;

/// A packet written by hand; reading reuses the memory of `self`.
pub trait Bits {
    fn write(&self, writer: &mut Writer) -> Result<()>;
    fn read(&mut self, reader: &mut Reader) -> Result<()>;
}

impl<P: Bits> Codec<P> for BitstreamIo {
    const NAME: &'static str = "bitstream-io";
    const QUANTISES: bool = true;
    const LENDS: bool = true;

    fn write(&mut self, packet: &mut P, _buffer: &mut [u8]) -> usize {
        self.bytes.clear();
        let mut writer = BitWriter::endian(&mut self.bytes, LittleEndian);
        packet.write(&mut writer).expect("bitstream-io writes");
        writer.byte_align().expect("bitstream-io writes");
        black_box(&self.bytes).len()
    }

    fn store(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let len = Codec::write(self, packet, &mut []);
        buffer[..len].copy_from_slice(&self.bytes);
        len
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        let mut reader = BitReader::endian(&buffer[..len], LittleEndian);
        slot.read(&mut reader).expect("bitstream-io reads");
    }
}

const POSITION: Range = Range { min: -256.0, delta: 512.0, steps: 512_000 };
const VELOCITY: Range = Range { min: -32.0, delta: 64.0, steps: 6400 };
const MOVE: Range = Range { min: -1.0, delta: 2.0, steps: 200 };
const YAW: Range = Range { min: 0.0, delta: 360.0, steps: 36_000 };
const PITCH: Range = Range { min: -90.0, delta: 180.0, steps: 18_000 };

fn refused() -> Error {
    Error::from(ErrorKind::InvalidData)
}

/// Writes an integer of at least `min` as an offset of `BITS` bits.
fn write_int<const BITS: u32>(writer: &mut Writer, value: i32, min: i32) -> Result<()> {
    writer.write::<BITS, u32>((value - min) as u32)
}

fn read_int<const BITS: u32>(reader: &mut Reader, min: i32, max: i32) -> Result<i32> {
    let offset = reader.read::<BITS, u32>()?;
    if offset > (max - min) as u32 {
        return Err(refused());
    }
    Ok(min + offset as i32)
}

fn write_ranged<const BITS: u32>(writer: &mut Writer, value: f32, range: Range) -> Result<()> {
    writer.write::<BITS, u32>(range.code(value))
}

fn read_ranged<const BITS: u32>(reader: &mut Reader, range: Range) -> Result<f32> {
    range.value(reader.read::<BITS, u32>()?).ok_or_else(refused)
}

fn write_floats(writer: &mut Writer, values: &[f32]) -> Result<()> {
    for value in values {
        writer.write::<32, u32>(value.to_bits())?;
    }
    Ok(())
}

fn read_floats<const N: usize>(reader: &mut Reader) -> Result<[f32; N]> {
    let mut values = [0.0; N];
    for value in &mut values {
        *value = reader.read_to()?;
    }
    Ok(values)
}

/// Reads a list of at most `max` elements, whose count takes `BITS` bits.
fn read_list<const BITS: u32, T>(
    reader: &mut Reader,
    list: &mut Vec<T>,
    max: usize,
    mut element: impl FnMut(&mut Reader) -> Result<T>,
) -> Result<()> {
    let count = read_int::<BITS>(reader, 0, max as i32)?;
    list.clear();
    for _ in 0..count {
        list.push(element(reader)?);
    }
    Ok(())
}

fn write_velocity(writer: &mut Writer, velocity: &[f32; 3]) -> Result<()> {
    for value in velocity {
        write_ranged::<13>(writer, *value, VELOCITY)?;
    }
    Ok(())
}

fn read_velocity(reader: &mut Reader) -> Result<[f32; 3]> {
    let mut velocity = [0.0; 3];
    for value in &mut velocity {
        *value = read_ranged::<13>(reader, VELOCITY)?;
    }
    Ok(velocity)
}

fn write_body(writer: &mut Writer, body: &RigidBody) -> Result<()> {
    for value in &body.position {
        write_ranged::<19>(writer, *value, POSITION)?;
    }
    writer.write::<32, u32>(pack_orientation(&body.orientation))?;
    writer.write_bit(body.at_rest)?;
    if !body.at_rest {
        write_velocity(writer, &body.linear_velocity)?;
        write_velocity(writer, &body.angular_velocity)?;
    }
    Ok(())
}

fn read_body(reader: &mut Reader) -> Result<RigidBody> {
    let mut body = RigidBody::default();
    for value in &mut body.position {
        *value = read_ranged::<19>(reader, POSITION)?;
    }
    body.orientation = unpack_orientation(reader.read_to()?).ok_or_else(refused)?;
    body.at_rest = reader.read_bit()?;
    if !body.at_rest {
        body.linear_velocity = read_velocity(reader)?;
        body.angular_velocity = read_velocity(reader)?;
    }
    Ok(body)
}

impl Bits for Bodies {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        write_int::<10>(writer, self.bodies.len() as i32, 0)?;
        self.bodies.iter().try_for_each(|body| write_body(writer, body))
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        read_list::<10, _>(reader, &mut self.bodies, MAX_BODIES, read_body)
    }
}

fn write_raw_body(writer: &mut Writer, body: &RawBody) -> Result<()> {
    write_floats(writer, &body.position)?;
    write_floats(writer, &body.orientation)?;
    writer.write_bit(body.at_rest)?;
    if !body.at_rest {
        write_floats(writer, &body.linear_velocity)?;
        write_floats(writer, &body.angular_velocity)?;
    }
    Ok(())
}

fn read_raw_body(reader: &mut Reader) -> Result<RawBody> {
    let mut body = RawBody {
        position: read_floats(reader)?,
        orientation: read_floats(reader)?,
        at_rest: reader.read_bit()?,
        ..RawBody::default()
    };
    if !body.at_rest {
        body.linear_velocity = read_floats(reader)?;
        body.angular_velocity = read_floats(reader)?;
    }
    Ok(body)
}

impl Bits for RawBodies {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        write_int::<10>(writer, self.bodies.len() as i32, 0)?;
        self.bodies.iter().try_for_each(|body| write_raw_body(writer, body))
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        read_list::<10, _>(reader, &mut self.bodies, MAX_BODIES, read_raw_body)
    }
}

impl Bits for PlayerInput {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.write_from(self.tick)?;
        writer.write::<12, u16>(self.buttons)?;
        write_ranged::<8>(writer, self.move_x, MOVE)?;
        write_ranged::<8>(writer, self.move_y, MOVE)?;
        write_ranged::<16>(writer, self.yaw, YAW)?;
        write_ranged::<15>(writer, self.pitch, PITCH)?;
        writer.write::<4, u8>(self.weapon)?;
        writer.write::<16, u16>(self.sequence)
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        *self = Self {
            tick: reader.read_to()?,
            buttons: reader.read::<12, u16>()?,
            move_x: read_ranged::<8>(reader, MOVE)?,
            move_y: read_ranged::<8>(reader, MOVE)?,
            yaw: read_ranged::<16>(reader, YAW)?,
            pitch: read_ranged::<15>(reader, PITCH)?,
            weapon: read_int::<4>(reader, 0, 9)? as u8,
            sequence: reader.read::<16, u16>()?,
        };
        Ok(())
    }
}

impl Bits for Message {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.write::<3, u8>(self.ordinal())?;
        match self {
            Self::Spawn { id, kind, x, y } => {
                writer.write::<12, u16>(*id)?;
                writer.write::<5, u8>(*kind)?;
                write_int::<12>(writer, i32::from(*x), -2000)?;
                write_int::<12>(writer, i32::from(*y), -2000)
            }
            Self::Despawn { id } => writer.write::<12, u16>(*id),
            Self::Damage { target, source, amount, critical } => {
                writer.write::<12, u16>(*target)?;
                writer.write::<12, u16>(*source)?;
                writer.write::<9, u16>(*amount)?;
                writer.write_bit(*critical)
            }
            Self::Chat { from, text } => {
                writer.write::<6, u8>(*from)?;
                write_int::<6>(writer, text.len() as i32, 0)?;
                // Aligned, the bytes are copied; otherwise the library shifts a kilobyte.
                writer.byte_align()?;
                writer.write_bytes(text.as_bytes())
            }
            Self::Score { player, score } => {
                writer.write::<6, u8>(*player)?;
                write_int::<18>(writer, *score, -100_000)
            }
            Self::Ping { time, sequence } => {
                writer.write::<32, u32>(*time)?;
                writer.write::<16, u16>(*sequence)
            }
            Self::Pickup { player, item, count } => {
                writer.write::<6, u8>(*player)?;
                writer.write::<10, u16>(*item)?;
                write_int::<7>(writer, i32::from(*count), 1)
            }
            Self::Teleport { player, position } => {
                writer.write::<6, u8>(*player)?;
                write_floats(writer, position)
            }
        }
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        *self = match reader.read::<3, u8>()? {
            0 => Self::Spawn {
                id: reader.read::<12, u16>()?,
                kind: reader.read::<5, u8>()?,
                x: read_int::<12>(reader, -2000, 2000)? as i16,
                y: read_int::<12>(reader, -2000, 2000)? as i16,
            },
            1 => Self::Despawn { id: reader.read::<12, u16>()? },
            2 => Self::Damage {
                target: reader.read::<12, u16>()?,
                source: reader.read::<12, u16>()?,
                amount: read_int::<9>(reader, 0, 500)? as u16,
                critical: reader.read_bit()?,
            },
            3 => {
                let from = reader.read::<6, u8>()?;
                let len = read_int::<6>(reader, 0, MAX_TEXT as i32)?;
                reader.byte_align();
                let text = reader.read_to_vec(len as usize)?;
                let text = String::from_utf8(text).map_err(|_| refused())?;
                Self::Chat { from, text }
            }
            4 => Self::Score {
                player: reader.read::<6, u8>()?,
                score: read_int::<18>(reader, -100_000, 100_000)?,
            },
            5 => {
                Self::Ping { time: reader.read::<32, u32>()?, sequence: reader.read::<16, u16>()? }
            }
            6 => Self::Pickup {
                player: reader.read::<6, u8>()?,
                item: reader.read::<10, u16>()?,
                count: read_int::<7>(reader, 1, 99)? as u8,
            },
            _ => Self::Teleport { player: reader.read::<6, u8>()?, position: read_floats(reader)? },
        };
        Ok(())
    }
}

impl Bits for Indices {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        write_int::<13>(writer, self.entries.len() as i32, 0)?;
        for (index, value) in &self.entries {
            writer.write::<20, u32>(u32::from(*index) | u32::from(*value) << 12)?;
        }
        Ok(())
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        read_list::<13, _>(reader, &mut self.entries, MAX_INDICES, |reader| {
            Ok((reader.read::<12, u16>()?, reader.read::<8, u8>()?))
        })
    }
}

/// Whole bytes, for which the library has its own writers and readers.
impl Bits for Plains {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        let mut writer = ByteWriter::endian(writer.aligned_writer()?, LittleEndian);
        writer.write(self.plains.len() as u16)?;
        for plain in &self.plains {
            writer.write(plain.id)?;
            for value in plain.position {
                writer.write(value)?;
            }
            writer.write(plain.flags)?;
            writer.write(plain.kind)?;
            writer.write(plain.owner)?;
        }
        Ok(())
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        let mut reader = ByteReader::endian(reader.aligned_reader(), LittleEndian);
        let count = usize::from(reader.read::<u16>()?);
        if count > MAX_PLAINS {
            return Err(refused());
        }
        self.plains.clear();
        for _ in 0..count {
            let mut plain = Plain { id: reader.read()?, ..Plain::default() };
            for value in &mut plain.position {
                *value = reader.read()?;
            }
            plain.flags = reader.read()?;
            plain.kind = reader.read()?;
            plain.owner = reader.read()?;
            self.plains.push(plain);
        }
        Ok(())
    }
}

impl Bits for BitFields {
    fn write(&self, writer: &mut Writer) -> Result<()> {
        for (value, width) in self.values.iter().zip(&self.widths) {
            writer.write_var(u32::from(*width), *value)?;
        }
        Ok(())
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        for width in &self.widths {
            self.sum += u64::from(reader.read_var::<u32>(u32::from(*width))?);
        }
        Ok(())
    }
}
