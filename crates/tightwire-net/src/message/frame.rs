//! Frames: batches of the session that have no messages.

use super::Delivery;
use super::header::Sizes;
use super::registry::FIRST;

/// Bytes in front of the body of a frame: the size of what follows, and the number.
pub const FRAME_PREFIX: usize = 3;

/// Returns the number and the body of a frame: an unreliable batch of snapshots or inputs, which is
/// not made of messages. `None` for a batch of messages.
///
/// ```
/// use tightwire::Delivery;
/// use tightwire::message::frame_in;
///
/// assert_eq!(frame_in(&[3, 0, 8, 1, 2], Delivery::Unreliable), Some((8, &[1, 2][..])));
/// // A message, and a frame of another size than it says.
/// assert_eq!(frame_in(&[5, 0, 16, 4, 0, 0, 0], Delivery::Unreliable), None);
/// assert_eq!(frame_in(&[4, 0, 8, 1, 2], Delivery::Unreliable), None);
/// ```
#[must_use]
pub fn frame_in(batch: &[u8], delivery: Delivery) -> Option<(u8, &[u8])> {
    let (says, content) = batch.split_at_checked(SIZES.batch())?;
    let (&number, body) = content.split_first()?;
    let is_frame = delivery == Delivery::Unreliable && number < FIRST;
    (is_frame && SIZES.batch_of(says) == Ok(content.len())).then_some((number, body))
}

/// Makes `batch` a frame: writes the size and the number into the first [`FRAME_PREFIX`] bytes, in
/// front of the body. `false` if it is too long or too short.
pub(crate) fn put_frame(number: u8, batch: &mut [u8]) -> bool {
    if number >= FIRST || batch.len() > SIZES.max_batch() {
        return false;
    }
    let Some(place) = batch.get_mut(FRAME_PREFIX - 1) else { return false };
    *place = number;
    SIZES.put_batch(batch);
    true
}

const SIZES: Sizes = Sizes::of(Delivery::Unreliable);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_its_size_and_its_number_in_front() {
        let mut batch = [0, 0, 0, 1, 2, 3];
        assert!(put_frame(9, &mut batch));
        assert_eq!(batch, [4, 0, 9, 1, 2, 3]);
        assert_eq!(frame_in(&batch, Delivery::Unreliable), Some((9, &[1, 2, 3][..])));
        for delivery in Delivery::ALL.into_iter().skip(1) {
            assert_eq!(frame_in(&batch, delivery), None);
        }
        for length in 0..batch.len() {
            assert_eq!(frame_in(&batch[..length], Delivery::Unreliable), None);
        }
    }

    #[test]
    fn a_frame_that_cannot_be_is_not_made() {
        assert!(!put_frame(16, &mut [0; 8]));
        assert!(!put_frame(8, &mut [0; 2]));
        assert!(put_frame(8, &mut [0; 3]));
        let mut long = vec![0; 2 + usize::from(u16::MAX)];
        assert!(put_frame(8, &mut long));
        assert_eq!(frame_in(&long, Delivery::Unreliable).map(|(_, body)| body.len()), Some(65534));
        long.push(0);
        assert!(!put_frame(8, &mut long));
    }
}
