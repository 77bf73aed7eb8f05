//! The header of a snapshot frame, which the play layer puts before each snapshot.

use tightwire_core::stream::{ErrorKind, ReadError, ReadStream, Stream, Target, WriteStream};
use tightwire_core::{Wire, at};

use super::time::InputReport;

/// Ack of a peer's inputs, before each snapshot to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PlayHeader {
    /// `None` if no input arrived yet, or none for 64 ticks.
    pub(crate) input: Option<InputReport>,
    /// Every object that the peer owns is exact at the tick of the snapshot.
    pub(crate) owned_exact: bool,
}

impl PlayHeader {
    /// Size in bytes.
    pub(crate) const BYTES: usize = 2;

    /// Writes the header before a snapshot.
    pub(crate) fn write(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let mut stream = WriteStream::new(&mut bytes);
        let Ok(()) = Self::serialize(self.into(), &mut stream);
        // Outside of the assertion: it is what writes the last bits, in release builds too.
        let finished = stream.finish().is_ok();
        debug_assert!(finished, "both numbers were clamped");
        bytes
    }

    /// Reads the header of a frame, and returns it with the snapshot behind it.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the frame is too short or the header is malformed.
    pub(crate) fn read(frame: &[u8]) -> Result<(Self, &[u8]), ReadError> {
        let end = ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 };
        let (header, snapshot) = frame.split_at_checked(Self::BYTES).ok_or(end)?;
        let mut stream = ReadStream::new(header);
        let mut header = Self::default();
        Self::serialize(Target::from(&mut header), &mut stream)?;
        Ok((header, snapshot))
    }
}

impl Wire for PlayHeader {
    const MAX_BITS: u64 = 16;

    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let mut has_input = this.input.is_some();
        stream.named("has_input").bool(&mut has_input)?;
        let (mut ahead, mut margin) = this.input.map_or((0, 0), |report| {
            (report.ahead.clamp(-LIMIT, LIMIT - 1), report.margin.unwrap_or(NO_MARGIN))
        });
        // The size is fixed, so that the snapshot behind the header begins at a whole byte.
        let limit = if has_input { -LIMIT..=LIMIT - 1 } else { 0..=0 };
        let bit = stream.position();
        stream.named("ahead").int(&mut ahead, -LIMIT..=LIMIT - 1)?;
        stream.named("margin").int(&mut margin, -LIMIT..=LIMIT - 1)?;
        if !limit.contains(&ahead) || !limit.contains(&margin) {
            return stream.refuse_at(ErrorKind::OutOfRange, bit);
        }
        let margin = Some(margin).filter(|margin| *margin > NO_MARGIN);
        at!(this.input).put(has_input.then_some(InputReport { ahead, margin }));
        stream.bool(at!(this.owned_exact))
    }
}

/// Number of values below 0 of both numbers.
const LIMIT: i8 = 64;

/// The margin if no input arrived since the last snapshot.
const NO_MARGIN: i8 = -LIMIT;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn header(ahead: i8, margin: Option<i8>, owned_exact: bool) -> PlayHeader {
        PlayHeader { input: Some(InputReport { ahead, margin }), owned_exact }
    }

    #[test]
    fn headers_have_the_documented_bytes() {
        for (header, bytes) in [
            (header(3, Some(12), true), [0x87, 0xcc]),
            (header(-2, Some(-18), false), [0x7d, 0x2e]),
            (header(-2, None, false), [0x7d, 0x00]),
            (PlayHeader { input: None, owned_exact: true }, [0x80, 0xc0]),
        ] {
            assert_eq!(header.write(), bytes, "{header:?}");
            assert_eq!(PlayHeader::read(&bytes), Ok((header, &[][..])));
        }
    }

    #[test]
    fn every_header_that_is_read_is_written_alike() {
        let mut read = 0;
        for bits in 0..=u16::MAX {
            let bytes = bits.to_le_bytes();
            if let Ok((header, _)) = PlayHeader::read(&bytes) {
                assert_eq!(header.write(), bytes);
                read += 1;
            }
        }
        assert_eq!(read, (1 << 15) + 2);
    }

    #[test]
    fn a_short_frame_is_refused() {
        for frame in [&[][..], &[0x87]] {
            assert_eq!(PlayHeader::read(frame).unwrap_err().kind, ErrorKind::UnexpectedEnd);
        }
        assert_eq!(PlayHeader::read(&[0x87, 0xcc, 1, 2]).unwrap().1, [1, 2]);
    }
}
