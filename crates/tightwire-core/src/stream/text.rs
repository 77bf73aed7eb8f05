//! Bytes, text and plain structs: values that are copied as a whole.

use alloc::string::String;
use alloc::vec::Vec;

use super::{ErrorKind, RawStream, ReadStream, Stream, Target};
use crate::bits::contains_zero;

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
    let Ok(read) = core::str::from_utf8(bytes) else { return Some(ErrorKind::MalformedText) };
    if contains_zero(bytes) {
        return Some(ErrorKind::InteriorNul);
    }
    (!text.replace(read)).then_some(ErrorKind::OutOfRange)
}

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
