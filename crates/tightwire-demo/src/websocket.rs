//! The server's side of a WebSocket ([RFC 6455]): the handshake's key, and frames in both
//! directions.
//!
//! The only client is a page on this machine, so there are no extensions, no subprotocols and no
//! TLS. Frames are untrusted input: every length is checked before memory is taken.
//!
//! [RFC 6455]: https://www.rfc-editor.org/rfc/rfc6455

use std::fmt;
use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

/// Returns the `Sec-WebSocket-Accept` for a client's `Sec-WebSocket-Key`, which proves that the
/// server speaks WebSocket.
pub(crate) fn accept_key(key: &str) -> String {
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(key.as_bytes());
    context.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(context.finish())
}

/// A message of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close,
}

/// Error that ends the reading of a client's frames.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The connection ended or failed.
    Io(io::Error),
    /// The client broke a rule of the protocol.
    Protocol(&'static str),
    /// The message is longer than the reader's limit.
    TooLong { bytes: u64, max: usize },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Protocol(rule) => f.write_str(rule),
            Self::TooLong { bytes, max } => {
                write!(f, "a message of {bytes} bytes is too long: at most {max}")
            }
        }
    }
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads the messages of a client.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    stream: R,
    /// Maximum length of a message in bytes, over all of its fragments.
    max: usize,
    /// Fragments of an incomplete message, and whether it is text; `None` between messages.
    begun: Option<(bool, Vec<u8>)>,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(stream: R, max: usize) -> Self {
        Self { stream, max, begun: None }
    }

    /// Waits for the next message.
    pub(crate) fn next(&mut self) -> Result<Message, FrameError> {
        loop {
            let [first, second] = self.array()?;
            let (is_final, opcode) = (first & 0x80 != 0, first & 0x0f);
            if first & 0x70 != 0 {
                return Err(FrameError::Protocol("a reserved bit is set without an extension"));
            }
            if second & 0x80 == 0 {
                return Err(FrameError::Protocol("a frame of a client is not masked"));
            }
            let bytes = match second & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.array()?)),
                127 => u64::from_be_bytes(self.array()?),
                short => u64::from(short),
            };
            let is_control = opcode & 8 != 0;
            if is_control && (!is_final || bytes > MAX_CONTROL) {
                return Err(FrameError::Protocol("a control frame is fragmented or too long"));
            }
            let before = self.begun.as_ref().map_or(0, |(_, begun)| begun.len() as u64);
            let whole = if is_control { bytes } else { bytes.saturating_add(before) };
            if whole > self.max as u64 {
                return Err(FrameError::TooLong { bytes: whole, max: self.max });
            }
            let payload = self.payload(bytes as usize)?;
            let (is_text, payload) = match (opcode, self.begun.take()) {
                (0, Some((is_text, mut begun))) => {
                    begun.extend(payload);
                    (is_text, begun)
                }
                (1 | 2, None) => (opcode == 1, payload),
                (0..=2, _) => return Err(FrameError::Protocol("a fragment is out of order")),
                // Control frames may come between the fragments of a message.
                (control, begun) => {
                    self.begun = begun;
                    return match control {
                        8 => Ok(Message::Close),
                        9 => Ok(Message::Ping(payload)),
                        10 => Ok(Message::Pong),
                        _ => Err(FrameError::Protocol("a frame has an opcode that is not in use")),
                    };
                }
            };
            if !is_final {
                self.begun = Some((is_text, payload));
            } else if is_text {
                let text = String::from_utf8(payload);
                return text
                    .map(Message::Text)
                    .map_err(|_| FrameError::Protocol("a text is not UTF-8"));
            } else {
                return Ok(Message::Binary(payload));
            }
        }
    }

    /// Reads the payload of a frame, and unmasks it. The caller has checked the length.
    fn payload(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mask: [u8; 4] = self.array()?;
        let mut payload = vec![0; bytes];
        self.stream.read_exact(&mut payload)?;
        for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        Ok(payload)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Kinds of frames that the server sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Encodes a whole message as one frame; a server does not mask.
pub(crate) fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(10 + payload.len());
    frame.push(0x80 | opcode as u8);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short @ ..126), _) => frame.push(short),
        (_, Ok(medium)) => {
            frame.push(126);
            frame.extend(medium.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// Encodes the close frame for a client that broke a rule: status 1008 with the reason, cut to what
/// fits.
pub(crate) fn refusal(reason: &str) -> Vec<u8> {
    let status = 1008_u16.to_be_bytes();
    let reason = cut(reason, MAX_CONTROL as usize - status.len());
    frame(Opcode::Close, &[&status, reason.as_bytes()].concat())
}

/// Returns the beginning of a text, at most `bytes` long.
fn cut(text: &str, bytes: usize) -> &str {
    let ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    &text[..ends.take_while(|end| *end <= bytes).last().unwrap_or(0)]
}

/// Maximum length of a control frame's payload, in bytes.
const MAX_CONTROL: u64 = 125;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::random::Random;
    use crate::test_support::{seed, volume};

    /// Encodes a frame as a client sends it.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = frame(Opcode::Text, payload);
        let head = bytes.len() - payload.len();
        (bytes[0], bytes[1]) = (first, bytes[1] | 0x80);
        bytes.splice(head..head, [1, 2, 3, 4]);
        for (byte, mask) in bytes[head + 4..].iter_mut().zip([1, 2, 3, 4].iter().cycle()) {
            *byte ^= mask;
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Message, String> {
        Reader::new(bytes, 1000).next().map_err(|error| error.to_string())
    }

    #[test]
    fn the_examples_of_the_rfc_are_read_and_written() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(read(&hello), Ok(Message::Text("Hello".into())));
        assert_eq!(frame(Opcode::Text, b"Hello"), b"\x81\x05Hello");
        assert_eq!(frame(Opcode::Binary, &[0; 256])[..4], [0x82, 0x7e, 0x01, 0x00]);
        assert_eq!(frame(Opcode::Binary, &[0; 65536])[..10], [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(frame(Opcode::Binary, &[0; 125])[1], 125);
        assert_eq!(frame(Opcode::Binary, &[0; 126])[1], 126);
    }

    #[test]
    fn fragments_are_put_together_around_control_frames() {
        let parts = [masked(0x01, b"Hel"), masked(0x89, b"!"), masked(0x80, b"lo")].concat();
        let mut reader = Reader::new(&parts[..], 1000);
        assert_eq!(reader.next().unwrap(), Message::Ping(b"!".into()));
        assert_eq!(reader.next().unwrap(), Message::Text("Hello".into()));
        assert!(matches!(reader.next(), Err(FrameError::Io(_))));
        assert_eq!(read(&masked(0x82, &[7; 300])), Ok(Message::Binary(vec![7; 300])));
        assert_eq!(read(&masked(0x88, b"")), Ok(Message::Close));
        assert_eq!(read(&masked(0x8a, b"")), Ok(Message::Pong));
    }

    #[test]
    fn a_client_that_breaks_a_rule_is_refused_with_the_rule() {
        let refused = |bytes: &[u8], rule: &str| {
            let error = read(bytes).unwrap_err();
            assert!(error.contains(rule), "{bytes:02x?}: {error}");
        };
        refused(b"\x81\x05Hello", "not masked");
        refused(&masked(0xc1, b"a"), "reserved bit");
        refused(&masked(0x83, b"a"), "opcode");
        refused(&masked(0x8b, b"a"), "opcode");
        refused(&masked(0x80, b"a"), "out of order");
        refused(&[masked(0x01, b"a"), masked(0x81, b"b")].concat(), "out of order");
        refused(&masked(0x09, b"a"), "control frame");
        refused(&masked(0x89, &[0; 126]), "control frame");
        refused(&masked(0x81, &[0xff]), "not UTF-8");
        refused(&masked(0x81, &[0; 1001]), "1001 bytes is too long: at most 1000");
        refused(&[masked(0x01, &[0; 600]), masked(0x80, &[0; 600])].concat(), "1200 bytes");
        // No memory is taken for a length that a header claims.
        refused(&[0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "too long");
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let mut random = Random::new(seed(1), 0);
        for _ in 0..volume(20_000, 2_000_000) {
            let bytes: Vec<u8> = (0..random.below(64)).map(|_| random.next() as u8).collect();
            let mut reader = Reader::new(&bytes[..], 32);
            while reader.next().is_ok() {}
        }
    }

    #[test]
    fn reasons_are_cut_between_letters() {
        assert_eq!(cut("aäb", 2), "a");
        assert_eq!(cut("aäb", 3), "aä");
        assert_eq!(cut("aäb", 99), "aäb");
        assert_eq!(cut("ä", 0), "");
        assert_eq!(refusal(&"x".repeat(500)).len(), 2 + 125);
    }
}
