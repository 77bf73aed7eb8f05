//! The functions of each packet.

use super::{Packed, Reader, Writer};
use crate::packets::{
    BitFields, Bodies, ButtonInput, Indices, MAX_BODIES, MAX_INDICES, MAX_SQUAD, MAX_TEXT, Message,
    PlayerInput, Pose, RawBodies, RawBody, RigidBody, Squad,
};
use crate::quantise::{Range, pack_orientation, unpack_orientation};

const POSITION: Range = Range { min: -256.0, delta: 512.0, steps: 512_000 };
const VELOCITY: Range = Range { min: -32.0, delta: 64.0, steps: 6400 };
const MOVE: Range = Range { min: -1.0, delta: 2.0, steps: 200 };
const YAW: Range = Range { min: 0.0, delta: 360.0, steps: 36_000 };
const PITCH: Range = Range { min: -90.0, delta: 180.0, steps: 18_000 };

/// Writes a list of at most `max` elements.
#[inline]
fn write_list<T>(
    writer: &mut Writer,
    list: &[T],
    max: usize,
    mut one: impl FnMut(&T, &mut Writer) -> bool,
) -> bool {
    writer.bits(list.len() as u32, u32::BITS - (max as u32).leading_zeros());
    list.len() <= max && list.iter().all(|element| one(element, writer))
}

#[inline]
fn read_list<T: Clone + Default>(
    reader: &mut Reader,
    list: &mut Vec<T>,
    max: usize,
    mut one: impl FnMut(&mut T, &mut Reader) -> Option<()>,
) -> Option<()> {
    let len = reader.int(0, max as i32, u32::BITS - (max as u32).leading_zeros())?;
    // An element takes a bit at least.
    if len as usize > 8 * reader.packet.len() {
        return None;
    }
    list.resize(len as usize, T::default());
    list.iter_mut().try_for_each(|element| one(element, reader))
}

impl Packed for RigidBody {
    #[inline]
    fn write(&self, writer: &mut Writer) -> bool {
        let mut ok = writer.ranged(&self.position, POSITION, 19);
        writer.bits(pack_orientation(&self.orientation), 32);
        writer.bits(self.at_rest.into(), 1);
        if !self.at_rest {
            ok &= writer.ranged(&self.linear_velocity, VELOCITY, 13)
                & writer.ranged(&self.angular_velocity, VELOCITY, 13);
        }
        ok
    }

    #[inline]
    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        self.position = reader.ranged(POSITION, 19)?;
        self.orientation = unpack_orientation(reader.bits(32)?)?;
        self.at_rest = reader.bits(1)? != 0;
        (self.linear_velocity, self.angular_velocity) = match self.at_rest {
            true => Default::default(),
            false => (reader.ranged(VELOCITY, 13)?, reader.ranged(VELOCITY, 13)?),
        };
        Some(())
    }
}

impl Packed for Bodies {
    fn write(&self, writer: &mut Writer) -> bool {
        write_list(writer, &self.bodies, MAX_BODIES, Packed::write)
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        read_list(reader, &mut self.bodies, MAX_BODIES, Packed::read)
    }
}

impl Packed for RawBody {
    #[inline]
    fn write(&self, writer: &mut Writer) -> bool {
        writer.floats(&self.position);
        writer.floats(&self.orientation);
        writer.bits(self.at_rest.into(), 1);
        if !self.at_rest {
            writer.floats(&self.linear_velocity);
            writer.floats(&self.angular_velocity);
        }
        true
    }

    #[inline]
    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        self.position = reader.floats()?;
        self.orientation = reader.floats()?;
        self.at_rest = reader.bits(1)? != 0;
        (self.linear_velocity, self.angular_velocity) = match self.at_rest {
            true => Default::default(),
            false => (reader.floats()?, reader.floats()?),
        };
        Some(())
    }
}

impl Packed for RawBodies {
    fn write(&self, writer: &mut Writer) -> bool {
        write_list(writer, &self.bodies, MAX_BODIES, Packed::write)
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        read_list(reader, &mut self.bodies, MAX_BODIES, Packed::read)
    }
}

impl Packed for PlayerInput {
    fn write(&self, writer: &mut Writer) -> bool {
        writer.bits(self.tick, 32);
        writer.int(self.buttons.into(), 0, (1 << 12) - 1, 12)
            & writer.ranged(&[self.move_x, self.move_y], MOVE, 8)
            & writer.ranged(&[self.yaw], YAW, 16)
            & writer.ranged(&[self.pitch], PITCH, 15)
            & writer.int(self.weapon.into(), 0, 9, 4)
            & writer.int(self.sequence.into(), 0, 0xffff, 16)
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        self.tick = reader.bits(32)?;
        self.buttons = reader.bits(12)? as u16;
        [self.move_x, self.move_y] = reader.ranged(MOVE, 8)?;
        [self.yaw] = reader.ranged(YAW, 16)?;
        [self.pitch] = reader.ranged(PITCH, 15)?;
        self.weapon = reader.int(0, 9, 4)? as u8;
        self.sequence = reader.bits(16)? as u16;
        Some(())
    }
}

impl Packed for ButtonInput {
    fn write(&self, writer: &mut Writer) -> bool {
        writer.bits(self.tick, 32);
        for button in self.buttons {
            writer.bits(button.into(), 1);
        }
        writer.ranged(&[self.move_x, self.move_y], MOVE, 8)
            & writer.ranged(&[self.yaw], YAW, 16)
            & writer.ranged(&[self.pitch], PITCH, 15)
            & writer.int(self.weapon.into(), 0, 9, 4)
            & writer.int(self.sequence.into(), 0, 0xffff, 16)
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        self.tick = reader.bits(32)?;
        for button in &mut self.buttons {
            *button = reader.bits(1)? != 0;
        }
        [self.move_x, self.move_y] = reader.ranged(MOVE, 8)?;
        [self.yaw] = reader.ranged(YAW, 16)?;
        [self.pitch] = reader.ranged(PITCH, 15)?;
        self.weapon = reader.int(0, 9, 4)? as u8;
        self.sequence = reader.bits(16)? as u16;
        Some(())
    }
}

impl Packed for Message {
    fn write(&self, writer: &mut Writer) -> bool {
        writer.bits(self.ordinal().into(), 3);
        match self {
            Self::Spawn { id, kind, x, y } => {
                writer.int((*id).into(), 0, 4095, 12)
                    & writer.int((*kind).into(), 0, 31, 5)
                    & writer.int((*x).into(), -2000, 2000, 12)
                    & writer.int((*y).into(), -2000, 2000, 12)
            }
            Self::Despawn { id } => writer.int((*id).into(), 0, 4095, 12),
            Self::Damage { target, source, amount, critical } => {
                let ok = writer.int((*target).into(), 0, 4095, 12)
                    & writer.int((*source).into(), 0, 4095, 12)
                    & writer.int((*amount).into(), 0, 500, 9);
                writer.bits((*critical).into(), 1);
                ok
            }
            Self::Chat { from, text } => {
                let ok = writer.int((*from).into(), 0, 63, 6)
                    & writer.int(text.len() as i32, 0, MAX_TEXT as i32, 6);
                writer.bits(0, writer.used.wrapping_neg() % 8);
                for byte in text.bytes() {
                    writer.bits(byte.into(), 8);
                }
                ok
            }
            Self::Score { player, score } => {
                writer.int((*player).into(), 0, 63, 6) & writer.int(*score, -100_000, 100_000, 18)
            }
            Self::Ping { time, sequence } => {
                writer.bits(*time, 32);
                writer.int((*sequence).into(), 0, 0xffff, 16)
            }
            Self::Pickup { player, item, count } => {
                writer.int((*player).into(), 0, 63, 6)
                    & writer.int((*item).into(), 0, 1023, 10)
                    & writer.int((*count).into(), 1, 99, 7)
            }
            Self::Teleport { player, position } => {
                let ok = writer.int((*player).into(), 0, 63, 6);
                writer.floats(position);
                ok
            }
        }
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        let ordinal = reader.bits(3)? as u8;
        // A message of the same variant is overwritten in place, so a text's memory is reused.
        if ordinal != self.ordinal() {
            *self = Self::empty(ordinal);
        }
        match self {
            Self::Spawn { id, kind, x, y } => {
                *id = reader.bits(12)? as u16;
                *kind = reader.bits(5)? as u8;
                *x = reader.int(-2000, 2000, 12)? as i16;
                *y = reader.int(-2000, 2000, 12)? as i16;
            }
            Self::Despawn { id } => *id = reader.bits(12)? as u16,
            Self::Damage { target, source, amount, critical } => {
                *target = reader.bits(12)? as u16;
                *source = reader.bits(12)? as u16;
                *amount = reader.int(0, 500, 9)? as u16;
                *critical = reader.bits(1)? != 0;
            }
            Self::Chat { from, text } => {
                *from = reader.bits(6)? as u8;
                let len = reader.int(0, MAX_TEXT as i32, 6)? as usize;
                if reader.bits(reader.held % 8)? != 0 {
                    return None;
                }
                let mut bytes = [0; MAX_TEXT];
                for byte in &mut bytes[..len] {
                    *byte = reader.bits(8)? as u8;
                }
                text.clear();
                text.push_str(std::str::from_utf8(&bytes[..len]).ok()?);
            }
            Self::Score { player, score } => {
                *player = reader.bits(6)? as u8;
                *score = reader.int(-100_000, 100_000, 18)?;
            }
            Self::Ping { time, sequence } => {
                *time = reader.bits(32)?;
                *sequence = reader.bits(16)? as u16;
            }
            Self::Pickup { player, item, count } => {
                *player = reader.bits(6)? as u8;
                *item = reader.bits(10)? as u16;
                *count = reader.int(1, 99, 7)? as u8;
            }
            Self::Teleport { player, position } => {
                *player = reader.bits(6)? as u8;
                *position = reader.floats()?;
            }
        }
        Some(())
    }
}

impl Packed for Pose {
    #[inline]
    fn write(&self, writer: &mut Writer) -> bool {
        writer.ranged(&self.position, POSITION, 19)
            & writer.ranged(&[self.heading], YAW, 16)
            & writer.int(self.health.into(), 0, 100, 7)
    }

    #[inline]
    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        self.position = reader.ranged(POSITION, 19)?;
        [self.heading] = reader.ranged(YAW, 16)?;
        self.health = reader.int(0, 100, 7)? as u8;
        Some(())
    }
}

impl Packed for Squad {
    fn write(&self, writer: &mut Writer) -> bool {
        let mut ok = self.leader.write(writer) & self.camera.write(writer);
        writer.bits(self.target.is_some().into(), 1);
        if let Some(target) = &self.target {
            ok &= target.write(writer);
        }
        ok & write_list(writer, &self.members, MAX_SQUAD, Packed::write)
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        self.leader.read(reader)?;
        self.camera.read(reader)?;
        match reader.bits(1)? {
            0 => self.target = None,
            _ => self.target.get_or_insert_default().read(reader)?,
        }
        read_list(reader, &mut self.members, MAX_SQUAD, Packed::read)
    }
}

/// The count, then each index in full with its byte.
impl Packed for Indices {
    fn write(&self, writer: &mut Writer) -> bool {
        let mut above = 0;
        write_list(writer, &self.entries, MAX_INDICES, |(index, value), writer| {
            let in_order = above <= *index && usize::from(*index) < MAX_INDICES;
            writer.bits(u32::from(*index) | u32::from(*value) << 12, 20);
            above = index + 1;
            in_order
        })
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        let mut above = 0;
        read_list(reader, &mut self.entries, MAX_INDICES, |entry, reader| {
            let bits = reader.bits(20)?;
            *entry = ((bits & 0xfff) as u16, (bits >> 12) as u8);
            let in_order = above <= entry.0;
            above = entry.0 + 1;
            in_order.then_some(())
        })
    }
}

impl Packed for BitFields {
    fn write(&self, writer: &mut Writer) -> bool {
        for (value, width) in self.values.iter().zip(&self.widths) {
            writer.bits(*value, u32::from(*width));
        }
        true
    }

    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        for width in &self.widths {
            self.sum += u64::from(reader.bits(u32::from(*width))?);
        }
        Some(())
    }
}
