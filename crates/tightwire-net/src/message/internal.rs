//! Messages of the session itself, not of the application.

use super::Delivery;
use super::header::{Header, Sizes};
use super::registry::FIRST;
use tightwire_core::bytes::Packing;
use tightwire_core::stream::{ErrorKind, Wire, WriteError};

/// A batch with one message that is not the application's: sessions and transports use it for the
/// handshake and for closing. Its number is below 16, its body always packed in bits.
///
/// It is sent as [`DELIVERY`](Self::DELIVERY). A [`Messenger`](crate::message::Messenger) has no
/// such message and refuses it: look at a batch of that delivery before the messenger does.
///
/// ```
/// use tightwire::message::InternalBatch;
///
/// let mut batch = Vec::new();
/// InternalBatch::write(3, &300_u16, &mut batch)?;
/// let (number, body) = InternalBatch::read(&batch).unwrap();
/// assert_eq!((number, tightwire::decode::<u16>(body)?), (3, 300));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InternalBatch;

impl InternalBatch {
    /// Delivery of control messages: in order, and of any size.
    pub const DELIVERY: Delivery = Delivery::ReliableOrderedFragmented;

    /// Replaces `out` by a batch with this message.
    ///
    /// ```
    /// use tightwire::message::InternalBatch;
    ///
    /// let mut batch = Vec::new();
    /// // 16 is the first of the application's.
    /// assert!(InternalBatch::write(16, &7_u8, &mut batch).is_err());
    /// assert!(batch.is_empty());
    /// ```
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the number is the application's, or a value is out of its range.
    pub fn write<T: Wire>(number: u8, body: &T, out: &mut Vec<u8>) -> Result<(), WriteError> {
        out.clear();
        if number >= FIRST {
            return Err(WriteError::Value { kind: ErrorKind::OutOfRange, bit: 0 });
        }
        let sizes = Sizes::of(Self::DELIVERY);
        let start = sizes.batch() + sizes.header();
        // Whole words, since the writer stores no other.
        out.resize(start + Packing::Bits.measure(body).next_multiple_of(8), 0);
        let written = Packing::Bits.encode(body, &mut out[start..]).map(<[u8]>::len);
        let size = *written.as_ref().unwrap_or(&0);
        out.truncate(if written.is_ok() { start + size } else { 0 });
        written?;
        let header = Header { number, stage: 0, size: size as u32, channel: 0 };
        sizes.put_header(&mut out[sizes.batch()..], header);
        sizes.put_batch(out);
        Ok(())
    }

    /// Returns the number and the body, if this is exactly such a batch.
    ///
    /// ```
    /// use tightwire::message::InternalBatch;
    ///
    /// // One of the application's.
    /// let batch = [8, 0, 0, 0, 16, 4, 1, 0, 0, 0, 0, 7];
    /// assert_eq!(InternalBatch::read(&batch), None);
    /// ```
    #[must_use]
    pub fn read(batch: &[u8]) -> Option<(u8, &[u8])> {
        let sizes = Sizes::of(Self::DELIVERY);
        let (says, content) = batch.split_at_checked(sizes.batch())?;
        let (header, body) = content.split_at_checked(sizes.header())?;
        let is_whole = sizes.batch_of(says).ok()? == content.len();
        let Header { number, stage, size, channel } = sizes.header_of(header).ok()?;
        let is_alone = size as usize == body.len();
        let is_internal = number < FIRST && (stage, channel) == (0, 0);
        (is_whole && is_alone && is_internal).then_some((number, body))
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn only_a_single_internal_message_is_an_internal_batch() {
        let mut batch = vec![9; 100];
        assert_eq!(InternalBatch::write(2, &0x0102_0304_u32, &mut batch), Ok(()));
        assert_eq!(InternalBatch::read(&batch), Some((2, &[4, 3, 2, 1][..])));
        for length in 0..batch.len() {
            assert_eq!(InternalBatch::read(&batch[..length]), None);
        }
        // Any other size, number of the application's, stage or channel.
        for place in (0..4).chain([4, 5, 6, 7, 8, 9, 10]) {
            let mut other = batch.clone();
            other[place] ^= 0x10;
            assert_eq!(InternalBatch::read(&other), None, "byte {place}");
        }
        batch.push(0);
        assert_eq!(InternalBatch::read(&batch), None);
    }

    #[test]
    fn unwritable_messages_leave_the_batch_unchanged() {
        #[derive(tightwire_derive::Wire, Default)]
        struct Percent(#[wire(range = 0..=100)] u8);
        let mut batch = vec![9; 100];
        assert!(InternalBatch::write(2, &Percent(101), &mut batch).is_err());
        assert!(batch.is_empty());
    }
}
