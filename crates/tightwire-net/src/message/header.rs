//! Headers of messages and batches.

use super::{Bound, Delivery, Route};
use tightwire_core::Wire;
use tightwire_core::stream::{Field, ReadError, Shape, decode_into, encode};

/// Header of a message: 5 bytes, or 7 where a size has 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    /// Number of the message's type.
    pub(super) number: u8,
    /// Number of the stage and kind of the binding; not yet validated.
    pub(super) stage: u8,
    /// Bytes of the binding and the body.
    pub(super) size: u32,
    /// Channel.
    pub(super) channel: u8,
}

/// The wire form of a header; `Size` has 16 or 32 bits.
#[derive(Wire, Default)]
struct WireHeader<Size> {
    number: u8,
    stage: u8,
    size: Size,
    channel: u8,
}

/// The form of a header in a capture, with the binding of the message.
#[derive(Wire, Default)]
struct RecordHeader {
    number: u8,
    stage: u8,
    size: u16,
    channel: u8,
    #[wire(when = self.stage & 0xc0 == 0x40)]
    at_tick: u16,
    #[wire(when = self.stage & 0xc0 == 0x80)]
    with_object: u32,
}

/// Sizes of headers in batches of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    is_large: bool,
}

impl Sizes {
    /// Sizes of 16 bits.
    pub(super) const SMALL: Self = Self { is_large: false };

    pub(super) const fn of(delivery: Delivery) -> Self {
        Self { is_large: delivery.fragments() }
    }

    /// Returns the bytes of a message's header.
    pub(super) const fn header(self) -> usize {
        if self.is_large { 7 } else { 5 }
    }

    /// Returns the bytes of a batch's header, which is the size of its content.
    pub(super) const fn batch(self) -> usize {
        if self.is_large { 4 } else { 2 }
    }

    /// Returns the bytes of the largest batch whose size can be written.
    pub(super) const fn max_batch(self) -> usize {
        let content = if self.is_large { u32::MAX as usize } else { u16::MAX as usize };
        content.saturating_add(self.batch())
    }

    /// Writes a header into the first bytes of `space`.
    pub(super) fn put_header(self, space: &mut [u8], header: Header) {
        let Header { number, stage, size, channel } = header;
        if self.is_large {
            put::<7>(space, WireHeader { number, stage, size, channel });
        } else {
            put::<5>(space, WireHeader { number, stage, size: size as u16, channel });
        }
    }

    /// Reads a header of exactly these bytes.
    pub(super) fn header_of(self, bytes: &[u8]) -> Result<Header, ReadError> {
        fn read<Size: Wire + Default + Into<u32>>(bytes: &[u8]) -> Result<Header, ReadError> {
            let mut sent = WireHeader::<Size>::default();
            decode_into(bytes, &mut sent)?;
            let WireHeader { number, stage, size, channel } = sent;
            Ok(Header { number, stage, size: size.into(), channel })
        }
        if self.is_large { read::<u32>(bytes) } else { read::<u16>(bytes) }
    }

    /// Writes the size of a batch's content into its first bytes.
    pub(super) fn put_batch(self, batch: &mut [u8]) {
        let size = batch.len() - self.batch();
        if self.is_large { put::<4>(batch, size as u32) } else { put::<2>(batch, size as u16) }
    }

    /// Reads the size of a batch's content.
    pub(super) fn batch_of(self, bytes: &[u8]) -> Result<usize, ReadError> {
        fn read<Size: Wire + Default>(bytes: &[u8]) -> Result<Size, ReadError> {
            let mut size = Size::default();
            decode_into(bytes, &mut size)?;
            Ok(size)
        }
        Ok(if self.is_large { read::<u32>(bytes)? as usize } else { read::<u16>(bytes)?.into() })
    }
}

impl Header {
    /// Makes the header of a message with a body of `size` bytes.
    pub(super) fn new(number: u8, route: Route, size: usize) -> Self {
        let stage = Bound::stage_byte(route.bound, route.stage);
        let size = Bound::size_of(route.bound) + size;
        Self { number, stage, size: size as u32, channel: route.channel }
    }
}

/// Returns the fields of a header in a capture.
pub(super) fn described() -> Vec<Field> {
    match RecordHeader::describe() {
        Shape::Struct { fields, .. } => fields,
        _ => Vec::new(),
    }
}

/// Writes a value of `N` bytes, and nothing behind it: a body may be there already. `N` is known at
/// compile time, or the copy of so few bytes would be a call.
#[inline]
fn put<const N: usize>(space: &mut [u8], value: impl Wire) {
    let mut word = [0; 8];
    if encode(&value, &mut word).is_ok()
        && let (Some(space), Some(bytes)) = (space.first_chunk_mut::<N>(), word.first_chunk())
    {
        *space = *bytes;
    }
}
