//! The frames of a packet, as far as their number and sizes go (RFC 9000, 19).

/// A frame, as far as the guard counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QuicFrame {
    Padding,
    /// A part of a stream.
    Stream(Part),
    /// A datagram that is not empty.
    Datagram,
    Crypto,
    /// An ack: the number of the newest packet, and of further ranges.
    Ack {
        newest: u64,
        ranges: u64,
    },
    /// A connection id that is issued or retired.
    ConnectionId,
    PathChallenge([u8; 8]),
    PathResponse([u8; 8]),
    /// Other control frames, and empty streams and datagrams.
    Control,
}

/// A part of a stream, which has some bytes, or is the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub(super) stream: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The byte with which the stream begins, if it is here.
    pub(super) first: Option<u8>,
}

/// Iterates over the frames of a payload. `take` returns `None` for a frame that QUIC does not
/// know, so that no frame is parsed in two different ways.
pub(super) struct QuicFrames<'a> {
    rest: &'a [u8],
}

impl<'a> QuicFrames<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self) -> Option<QuicFrame> {
        let kind = self.number()?;
        Some(match kind {
            0x00 => {
                let end = self.rest.iter().position(|byte| *byte != 0);
                self.rest = end.map_or(&[], |end| &self.rest[end..]);
                QuicFrame::Padding
            }
            // PING, HANDSHAKE_DONE, IMMEDIATE_ACK
            0x01 | 0x1e | 0x1f => QuicFrame::Control,
            0x02 | 0x03 => {
                let newest = self.number()?;
                self.skip(1)?;
                let ranges = self.number()?;
                // Two numbers for each range, of a byte at least: more are not there.
                if ranges > self.rest.len() as u64 / 2 {
                    return None;
                }
                self.skip(1 + 2 * ranges)?;
                if kind == 0x03 {
                    self.skip(3)?;
                }
                QuicFrame::Ack { newest, ranges }
            }
            // RESET_STREAM
            0x04 => self.control(3)?,
            // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
            0x05 | 0x11 | 0x15 => self.control(2)?,
            0x06 => {
                self.skip(1)?;
                self.data()?;
                QuicFrame::Crypto
            }
            // NEW_TOKEN
            0x07 => {
                self.data()?;
                QuicFrame::Control
            }
            0x08..=0x0f => {
                let stream = self.number()?;
                let offset = if kind & 0x04 == 0 { 0 } else { self.number()? };
                let data = if kind & 0x02 == 0 { self.all() } else { self.data()? };
                if data.is_empty() && kind & 0x01 == 0 {
                    return Some(QuicFrame::Control);
                }
                let first = data.first().copied().filter(|_| offset == 0);
                QuicFrame::Stream(Part { stream, offset, length: data.len() as u64, first })
            }
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED
            0x10 | 0x12..=0x14 | 0x16 | 0x17 => self.control(1)?,
            // NEW_CONNECTION_ID
            0x18 => {
                self.skip(2)?;
                let length = *self.bytes(1)?.first()?;
                self.bytes(usize::from(length) + 16)?;
                QuicFrame::ConnectionId
            }
            // RETIRE_CONNECTION_ID
            0x19 => {
                self.skip(1)?;
                QuicFrame::ConnectionId
            }
            0x1a => QuicFrame::PathChallenge(*self.bytes(8)?.first_chunk()?),
            0x1b => QuicFrame::PathResponse(*self.bytes(8)?.first_chunk()?),
            0x1c => {
                self.skip(2)?;
                self.data()?;
                QuicFrame::Control
            }
            0x1d => {
                self.skip(1)?;
                self.data()?;
                QuicFrame::Control
            }
            0x30 | 0x31 => {
                let data = if kind == 0x30 { self.all() } else { self.data()? };
                if data.is_empty() { QuicFrame::Control } else { QuicFrame::Datagram }
            }
            // ACK_FREQUENCY
            0xaf => self.control(4)?,
            _ => return None,
        })
    }

    fn control(&mut self, numbers: u64) -> Option<QuicFrame> {
        self.skip(numbers)?;
        Some(QuicFrame::Control)
    }

    fn skip(&mut self, numbers: u64) -> Option<()> {
        (0..numbers).try_for_each(|_| self.number().map(drop))
    }

    /// Data that brings its length.
    fn data(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// Data that goes on to the end.
    fn all(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Reads a number of 1, 2, 4 or 8 bytes.
    fn number(&mut self) -> Option<u64> {
        let first = *self.rest.first()?;
        let bytes = self.bytes(1 << (first >> 6))?;
        let rest = bytes[1..].iter();
        Some(rest.fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(payload: &[u8]) -> Option<Vec<QuicFrame>> {
        let (mut frames, mut counts) = (QuicFrames::new(payload), Vec::new());
        while !frames.is_empty() {
            counts.push(frames.take()?);
        }
        Some(counts)
    }

    #[test]
    fn frames_are_parsed_as_in_the_rfc() {
        let part = |stream, offset, length| {
            let first = (offset == 0).then_some(7);
            QuicFrame::Stream(Part { stream, offset, length, first })
        };
        let cases: [(&[u8], &[QuicFrame]); 12] = [
            (&[0, 0, 0], &[QuicFrame::Padding]),
            (&[1, 0, 1], &[QuicFrame::Control, QuicFrame::Padding, QuicFrame::Control]),
            (
                &[2, 9, 0, 1, 0, 3, 2, 1],
                &[QuicFrame::Ack { newest: 9, ranges: 1 }, QuicFrame::Control],
            ),
            (
                &[3, 9, 0, 0, 0, 1, 2, 3, 1],
                &[QuicFrame::Ack { newest: 9, ranges: 0 }, QuicFrame::Control],
            ),
            (&[6, 0, 2, 7, 7, 1], &[QuicFrame::Crypto, QuicFrame::Control]),
            (&[0x08, 2, 7, 7], &[part(2, 0, 2)]),
            (&[0x0e, 2, 0x41, 0, 1, 7, 1], &[part(2, 256, 1), QuicFrame::Control]),
            (&[0x0f, 2, 5, 0, 0x0e, 2, 5, 0], &[part(2, 5, 0), QuicFrame::Control]),
            (&[0x19, 3, 0x30, 7, 7], &[QuicFrame::ConnectionId, QuicFrame::Datagram]),
            (&[0x31, 0, 0x31, 1, 7], &[QuicFrame::Control, QuicFrame::Datagram]),
            (
                &[0x1a, 1, 2, 3, 4, 5, 6, 7, 8],
                &[QuicFrame::PathChallenge([1, 2, 3, 4, 5, 6, 7, 8])],
            ),
            (&[0x40, 0xaf, 1, 2, 3, 4, 0x1d, 0, 0], &[QuicFrame::Control, QuicFrame::Control]),
        ];
        for (payload, expected) in cases {
            assert_eq!(all(payload).as_deref(), Some(expected), "{payload:x?}");
        }
    }

    #[test]
    fn truncated_and_unknown_frames_are_refused() {
        for payload in [
            &[0x21][..],
            &[0x06, 0, 2, 7],
            &[0x02, 9, 0, 0x3f, 0, 1, 1],
            &[0x0e, 2, 0x40],
            &[0x18, 1, 0, 8, 1, 2, 3],
            &[0x31, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x1a, 1, 2],
        ] {
            assert_eq!(all(payload), None, "{payload:x?}");
        }
    }
}
