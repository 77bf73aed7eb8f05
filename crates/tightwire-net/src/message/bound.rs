//! Messages that are bound to a tick or to an object.

use super::{MessageError, Stage};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ErrorKind, ReadError};

/// The tick or object that a message is bound to: see [`Route::at_tick`](super::Route::at_tick) and
/// [`Route::with_object`](super::Route::with_object).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Bound {
    /// Lowest 16 bits of the tick that the message belongs to; [`tick_near`](Self::tick_near)
    /// returns the whole tick.
    Tick(u16),
    /// Object that the message is about.
    Object(ObjectId),
}

impl Bound {
    /// Largest id of an object that a message can be bound to.
    pub const MAX_OBJECT: ObjectId = ObjectId((1 << 20) - 1);

    /// Returns the tick that the message is bound to: of the ticks with its lowest 16 bits, the one
    /// closest to `tick`. `None` if the message is bound to an object.
    ///
    /// ```
    /// use tightwire::message::Bound;
    ///
    /// assert_eq!(Bound::Tick(0xfff0).tick_near(0x3_0010), Some(0x2_fff0));
    /// assert_eq!(Bound::Tick(0x0010).tick_near(0x2_fff0), Some(0x3_0010));
    /// assert_eq!(Bound::Object(7.into()).tick_near(0), None);
    /// ```
    #[must_use]
    pub const fn tick_near(self, tick: u32) -> Option<u32> {
        match self {
            Self::Tick(bits) => {
                let ahead = bits.wrapping_sub(tick as u16) as i16;
                Some(tick.wrapping_add_signed(ahead as i32))
            }
            Self::Object(_) => None,
        }
    }

    /// Returns the bytes of a binding on the wire.
    #[inline]
    pub(super) const fn size_of(bound: Option<Self>) -> usize {
        match bound {
            None => 0,
            Some(Self::Tick(_)) => 2,
            Some(Self::Object(_)) => 3,
        }
    }

    /// Returns the byte of a message's stage and of the kind of its binding.
    #[inline]
    pub(super) const fn stage_byte(bound: Option<Self>, stage: Stage) -> u8 {
        stage as u8 | Self::kind_bits(bound)
    }

    /// Returns the bits of the stage byte for a kind of binding.
    #[inline]
    pub(super) const fn kind_bits(bound: Option<Self>) -> u8 {
        match bound {
            None => 0,
            Some(Self::Tick(_)) => TICK,
            Some(Self::Object(_)) => OBJECT,
        }
    }

    /// Writes a binding into the first bytes of `space`.
    #[inline]
    pub(super) fn put(bound: Option<Self>, space: &mut [u8]) {
        match bound {
            None => {}
            Some(Self::Tick(tick)) => copy(space, &tick.to_le_bytes()),
            Some(Self::Object(ObjectId(id))) => copy(space, &id.to_le_bytes()[..3]),
        }
    }

    /// Reads the binding in front of a body, by the byte of the stage.
    #[inline]
    pub(super) fn read(stage_byte: u8, content: &[u8]) -> Result<Option<Self>, MessageError> {
        match stage_byte & KIND {
            0 => Ok(None),
            kind => Self::read_kind(kind, stage_byte, content).map(Some),
        }
    }

    #[cold]
    fn read_kind(kind: u8, stage_byte: u8, content: &[u8]) -> Result<Self, MessageError> {
        let malformed = |kind| MessageError::Malformed(ReadError { kind, bit: 0 });
        let end = malformed(ErrorKind::UnexpectedEnd);
        match kind {
            TICK => {
                let bytes = content.first_chunk().ok_or(end)?;
                Ok(Self::Tick(u16::from_le_bytes(*bytes)))
            }
            OBJECT => {
                let &[low, middle, high] = content.first_chunk().ok_or(end)?;
                let id = ObjectId(u32::from_le_bytes([low, middle, high, 0]));
                let is_valid = id <= Self::MAX_OBJECT;
                is_valid.then_some(Self::Object(id)).ok_or(malformed(ErrorKind::OutOfRange))
            }
            _ => Err(MessageError::UnknownStage { stage: stage_byte }),
        }
    }

    /// Packs a binding into 26 bits, for queues.
    pub(super) const fn pack(bound: Option<Self>) -> u32 {
        match bound {
            None => 0,
            Some(Self::Tick(tick)) => 1 << 24 | tick as u32,
            Some(Self::Object(ObjectId(id))) => 2 << 24 | id,
        }
    }

    /// Returns the binding of [`pack`](Self::pack).
    pub(super) const fn unpack(packed: u32) -> Option<Self> {
        let value = packed & 0xff_ffff;
        match packed >> 24 & 3 {
            1 => Some(Self::Tick(value as u16)),
            2 => Some(Self::Object(ObjectId(value))),
            _ => None,
        }
    }
}

fn copy(space: &mut [u8], bytes: &[u8]) {
    if let Some(space) = space.get_mut(..bytes.len()) {
        space.copy_from_slice(bytes);
    }
}

/// Bits of the stage byte that are the stage.
pub(super) const STAGE: u8 = 0x3f;

/// Bits of the stage byte that are the kind of a binding.
const KIND: u8 = 0xc0;
const TICK: u8 = 0x40;
const OBJECT: u8 = 0x80;
