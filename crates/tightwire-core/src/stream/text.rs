//! Bytes, text and plain structs: values that are copied as a whole.

use alloc::string::String;
use alloc::vec::Vec;

use zerocopy::IntoBytes as _;

use super::{ErrorKind, RawStream, ReadStream, Stream, Target};
use crate::bits::{contains_zero, is_ascii_without_zero, low_word, zero_bytes};

/// A struct that can be sent as its memory image: it has no padding, and all bytes are valid.
///
/// `zerocopy` checks that; derive its `FromBytes`, `IntoBytes` and `Immutable`. The image has the
/// machine's byte order: little-endian except on rare big-endian machines. Where those may take
/// part, use the `byteorder` types of `zerocopy`.
pub trait Pod: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable {}

impl<T: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable + ?Sized> Pod for T {}

/// A string to read text into: a `String`, or behind its feature an `ArrayString`.
pub trait TextBuffer {
    /// The text.
    fn as_str(&self) -> &str;

    /// Replaces the contents by `text`; returns `false` if there is no room.
    fn replace(&mut self, text: &str) -> bool;

    /// Like [`replace`](Self::replace), with a few ASCII characters.
    fn replace_ascii(&mut self, text: &[u8]) -> bool {
        core::str::from_utf8(text).is_ok_and(|text| self.replace(text))
    }

    /// Like [`replace`](Self::replace), with the first `length` bytes of a text, which end a character.
    fn replace_start(&mut self, text: &str, length: usize) -> bool {
        text.get(..length).is_some_and(|text| self.replace(text))
    }
}

impl TextBuffer for String {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_str(&self) -> &str {
        self
    }

    #[inline]
    fn replace(&mut self, text: &str) -> bool {
        self.clear();
        self.push_str(text);
        true
    }

    // A loop over a few characters takes half of the time of validating and copying them.
    #[inline]
    fn replace_ascii(&mut self, text: &[u8]) -> bool {
        if self.capacity() < text.len() {
            // As much as growing would get, without what it takes to keep the contents.
            *self = String::with_capacity(8);
        }
        self.clear();
        self.extend(text.iter().map(|character| char::from(character & 0x7f)));
        true
    }

    // All of the text is copied, whose length the compiler knows: a call that copies a length which is not
    // predictable would take longer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn replace_start(&mut self, text: &str, length: usize) -> bool {
        if self.capacity() < text.len() {
            // Memory with room for the text is kept.
            if self.capacity() >= length {
                return text.get(..length).is_some_and(|text| self.replace(text));
            }
            *self = String::with_capacity(text.len());
        }
        self.clear();
        self.push_str(text);
        self.truncate(length);
        true
    }
}

/// The bytes, after alignment to a whole byte.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bytes<S: Stream>(
    stream: &mut S,
    mut bytes: Target<'_, S::Access, [u8]>,
) -> Result<(), S::Error> {
    let length = bytes.len();
    if let Some(bytes) = bytes.when_reading() {
        bytes.copy_from_slice(stream.raw_bytes(&[], length)?);
        Ok(())
    } else {
        stream.raw_bytes(&bytes, length).map(drop)
    }
}

/// The length, then the contents like `bytes`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn blob<S: Stream>(
    stream: &mut S,
    blob: Target<'_, S::Access, Vec<u8>>,
    max_len: usize,
) -> Result<(), S::Error> {
    let mut length = blob.len();
    self::length(stream, &mut length, max_len)?;
    grown_bytes(stream, blob, length)
}

/// Like `bytes`, into a vector that grows to `length`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn grown_bytes<S: Stream>(
    stream: &mut S,
    mut blob: Target<'_, S::Access, Vec<u8>>,
    length: usize,
) -> Result<(), S::Error> {
    if let Some(blob) = blob.when_reading() {
        // Memory is allocated only after the bytes are known to be in the packet.
        let bytes = stream.raw_bytes(&[], length)?;
        blob.clear();
        blob.extend_from_slice(bytes);
        Ok(())
    } else {
        stream.raw_bytes(&blob, length).map(drop)
    }
}

/// The length of a collection.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn length<S: RawStream>(
    stream: &mut S,
    length: &mut usize,
    max_len: usize,
) -> Result<(), S::Error> {
    let mut offset = *length as u64;
    stream.raw_offset(&mut offset, max_len as u64)?;
    *length = offset as usize;
    Ok(())
}

/// The length in bytes, then the UTF-8 text.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn string<S: Stream, T: TextBuffer>(
    stream: &mut S,
    mut text: Target<'_, S::Access, T>,
    max_len: usize,
) -> Result<(), S::Error> {
    if let Some(text) = text.when_reading() {
        return stream.raw_text(text, max_len);
    }
    let start = stream.position();
    let bytes = text.as_str().as_bytes();
    length(stream, &mut { bytes.len() }, max_len)?;
    stream.raw_characters(bytes, start)
}

/// Reads a text part by part.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn read_parts<S: RawStream, T: TextBuffer>(
    stream: &mut S,
    text: &mut T,
    max_len: usize,
) -> Result<(), S::Error> {
    let start = stream.position();
    let mut length = 0;
    self::length(stream, &mut length, max_len)?;
    match replace_text(text, stream.raw_bytes(&[], length)?) {
        None => Ok(()),
        Some(refused) => stream.refuse_at(refused, start),
    }
}

/// Reads the text at the bit `position` of a packet whose last word is known. Returns the position behind the text, or behind
/// what was read of it and the reason of the refusal.
///
/// One call that takes and returns numbers: the checks and the copy would otherwise be repeated for
/// every string of every type, and the address of a stream would force its state through memory. `"C"`
/// tells the compiler that the call does not unwind, so that no caller needs code and tables to drop its
/// values then.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
pub(super) extern "C" fn read_at<T: TextBuffer>(
    text: &mut T,
    packet: &[u8],
    last_word: u64,
    position: u64,
    max_len: usize,
) -> (u64, Option<ErrorKind>) {
    let mut stream = ReadStream::from_parts(packet, last_word, position);
    let refused = read_parts(&mut stream, text, max_len).err();
    (stream.position(), refused.map(|refused| refused.kind))
}

/// Replaces the text by the bytes that were read, or returns why not.
#[cfg_attr(not(debug_assertions), inline(always))]
fn replace_text<T: TextBuffer>(text: &mut T, bytes: &[u8]) -> Option<ErrorKind> {
    if bytes.len() < 8 && is_ascii_without_zero(with_spaces(bytes)) {
        return (!text.replace_ascii(bytes)).then_some(ErrorKind::OutOfRange);
    }
    replace_any(text, bytes)
}

/// [`replace_text`] of any characters, as a call: the registers that it needs are not saved for a few characters
/// of ASCII.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "only Rust calls it")]
extern "C" fn replace_any<T: TextBuffer>(text: &mut T, bytes: &[u8]) -> Option<ErrorKind> {
    match bytes.len() {
        // `from_utf8` reads two words at once.
        0..8 => replace_padded(text, [with_spaces(bytes), SPACES], bytes),
        8..=32 => replace_padded(text, padded_words(bytes), bytes),
        _ => {
            let Ok(read) = core::str::from_utf8(bytes) else {
                return Some(ErrorKind::MalformedText);
            };
            if contains_zero(bytes) {
                return Some(ErrorKind::InteriorNul);
            }
            (!text.replace(read)).then_some(ErrorKind::OutOfRange)
        }
    }
}

/// Loads up to seven bytes, with spaces behind them.
#[cfg_attr(not(debug_assertions), inline(always))]
fn with_spaces(bytes: &[u8]) -> u64 {
    low_word(bytes) | SPACES.unbounded_shl(8 * bytes.len() as u32)
}

/// Like [`replace_text`], with the same bytes as words that spaces follow: they change neither whether the text
/// is valid nor whether it contains a zero.
///
/// Text in packets is mostly names and short chat lines, at any address. Of those, `from_utf8` looks at byte by
/// byte what is not aligned, and mispredicts each end; aligned and of a fixed length, it reads them in one
/// or two steps.
#[cfg_attr(not(debug_assertions), inline(always))]
fn replace_padded<T: TextBuffer, const N: usize>(
    text: &mut T,
    words: [u64; N],
    bytes: &[u8],
) -> Option<ErrorKind> {
    let memory = words.map(u64::to_le);
    let padded = core::str::from_utf8(memory.as_bytes()).ok();
    let Some(padded) = padded.filter(|padded| padded.is_char_boundary(bytes.len())) else {
        return Some(ErrorKind::MalformedText);
    };
    if words.iter().fold(0, |found, &word| found | zero_bytes(word)) != 0 {
        return Some(ErrorKind::InteriorNul);
    }
    (!text.replace_start(padded, bytes.len())).then_some(ErrorKind::OutOfRange)
}

/// Loads 8 to 32 bytes, with spaces behind them.
#[cfg_attr(not(debug_assertions), inline(always))]
fn padded_words(bytes: &[u8]) -> [u64; 4] {
    core::array::from_fn(|index| {
        // The word that ends with the text, if this one would end behind it.
        let at = (8 * index).min(bytes.len().saturating_sub(8));
        let missing = 8 * (8 * index - at) as u32;
        let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let spaces = SPACES.unbounded_shl(u64::BITS.saturating_sub(missing));
        word.map_or(0, |word| u64::from_le_bytes(*word).unbounded_shr(missing)) | spaces
    })
}

const SPACES: u64 = u64::from_le_bytes([b' '; 8]);

/// The number of UTF-16 code units, then each in 32 bits, not aligned.
pub(super) fn wide_string<S: Stream>(
    stream: &mut S,
    mut text: Target<'_, S::Access, String>,
    max_len: usize,
) -> Result<(), S::Error> {
    let start = stream.position();
    let mut length = text.encode_utf16().count();
    self::length(stream, &mut length, max_len)?;
    let Some(text) = text.when_reading() else {
        for unit in text.encode_utf16().take(length) {
            if unit == 0 {
                return stream.refuse_at(ErrorKind::InteriorNul, start);
            }
            stream.raw_bits(&mut u64::from(unit), 32)?;
        }
        return Ok(());
    };
    text.clear();
    let mut high = None;
    for _ in 0..length {
        let mut group = 0;
        stream.raw_bits(&mut group, 32)?;
        let character = match (high.take(), u16::try_from(group)) {
            (None, Ok(first @ 0xd800..0xdc00)) => {
                high = Some(first);
                continue;
            }
            (None, Ok(unit)) => char::from_u32(unit.into()),
            (Some(first), Ok(last)) => {
                char::decode_utf16([first, last]).next().and_then(Result::ok)
            }
            (_, Err(_)) => None,
        };
        match character {
            Some('\0') => return stream.refuse_at(ErrorKind::InteriorNul, start),
            Some(character) => text.push(character),
            None => return stream.refuse_at(ErrorKind::MalformedText, start),
        }
    }
    match high {
        Some(_) => stream.refuse_at(ErrorKind::MalformedText, start),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(bytes: &[u8]) -> Option<ErrorKind> {
        match core::str::from_utf8(bytes) {
            Err(_) => Some(ErrorKind::MalformedText),
            Ok(text) if text.contains('\0') => Some(ErrorKind::InteriorNul),
            Ok(_) => None,
        }
    }

    #[test]
    fn text_of_every_length_is_checked_like_a_str() {
        // Letters, and a character of each length, a cut or a stray part of one, and a zero at every place.
        let others = ["\u{7f}", "é", "ﬀ", "𝄞", "\0"].map(str::as_bytes);
        let invalid =
            [&b"\xc3"[..], b"\x80", b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9d\x84"];
        for length in 0..=40 {
            for at in 0..=length {
                for part in others.into_iter().chain(invalid).chain([&[][..]]) {
                    let mut bytes: Vec<u8> = (0..length).map(|i| b'a' + i % 26).collect();
                    let at = usize::from(at);
                    bytes.splice(at..at, part.iter().copied());
                    let mut text = String::from("before");
                    assert_eq!(replace_text(&mut text, &bytes), expected(&bytes), "{bytes:?}");
                    if expected(&bytes).is_none() {
                        assert_eq!(text.as_bytes(), bytes);
                    }
                }
            }
        }
    }
}
