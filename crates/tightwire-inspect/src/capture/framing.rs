//! Framing: where the blocks of a file begin and end.
//!
//! This module frames blocks, and `pcap-parser` parses them. The reader of `pcap-parser` is not
//! used: it neither reports the offset of a block nor skips a block that is longer than its buffer.

use std::io::{self, Read};

use super::blocks::{INTERFACE, MAX_BLOCK, ORDER, PACKET, SECTION};
use super::{Capture, CaptureError};

impl<R: Read> Capture<R> {
    /// Reads the next block, and returns whether there was one. The contents of a block of an
    /// unused kind are skipped.
    pub(super) fn read_block(&mut self) -> Result<bool, CaptureError> {
        self.at = self.next_at;
        if self.is_pcap {
            return self.read_packet();
        }
        self.block.clear();
        self.fill(FRAME)?;
        if self.block.is_empty() {
            return Ok(false);
        }
        if self.at == 0 {
            if let Some(form) = self.pcap_form() {
                self.begin_pcap(form)?;
                return Ok(true);
            }
            // The kind of a section header is the same in both byte orders.
            if !self.begins(SECTION.to_le_bytes()) {
                return Err(self.malformed(NO_CAPTURE));
            }
        }
        self.require(FRAME)?;
        if self.word(0) == SECTION {
            self.is_big_endian = false;
            self.is_big_endian = match self.word(8) {
                ORDER => false,
                order if order.swap_bytes() == ORDER => true,
                _ => return Err(self.malformed("unknown byte order of a section")),
            };
        }

        let length = self.word(4) as usize;
        if length < FRAME || !length.is_multiple_of(4) {
            return Err(self.malformed("its length is below twelve, or no multiple of four"));
        }
        if matches!(self.word(0), SECTION | INTERFACE | PACKET) {
            if length > MAX_BLOCK {
                return Err(self.malformed("longer than the maximum of 256 KiB"));
            }
            self.fill(length - FRAME)?;
            self.require(length)?;
        } else if length > FRAME {
            self.skip(length - FRAME - 4)?;
            self.fill(4)?;
            self.require(FRAME + 4)?;
        }
        if self.word(self.block.len() - 4) as usize != length {
            return Err(
                self.malformed("its two lengths differ: the file was changed, or overwritten")
            );
        }
        self.next_at = self.at.saturating_add(length as u64);
        Ok(true)
    }

    /// Returns whether the current block begins with these bytes; a block shorter than four bytes
    /// is compared as far as it goes.
    pub(super) fn begins(&self, with: [u8; 4]) -> bool {
        self.block.iter().zip(with).all(|(&a, b)| a == b)
    }

    /// Returns the 32-bit number at an offset of the current block; zero beyond the block's end.
    pub(super) fn word(&self, at: usize) -> u32 {
        let word = self.block.get(at..).and_then(<[u8]>::first_chunk);
        let word = *word.unwrap_or(&[0; 4]);
        if self.is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    /// Appends up to `length` bytes of the file to the block. Memory is taken for bytes that were
    /// read, not for a length that the file announces.
    pub(super) fn fill(&mut self, length: usize) -> Result<(), CaptureError> {
        let read = (&mut self.reader).take(length as u64).read_to_end(&mut self.block);
        read.map_err(|error| CaptureError::Io { at: self.at, error }).map(drop)
    }

    pub(super) fn skip(&mut self, length: usize) -> Result<(), CaptureError> {
        let skipped = io::copy(&mut (&mut self.reader).take(length as u64), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == length as u64 => Ok(()),
            Ok(_) => Err(CaptureError::Truncated { at: self.at }),
            Err(error) => Err(CaptureError::Io { at: self.at, error }),
        }
    }

    pub(super) fn require(&self, length: usize) -> Result<(), CaptureError> {
        let is_whole = self.block.len() == length;
        is_whole.then_some(()).ok_or(CaptureError::Truncated { at: self.at })
    }

    pub(super) fn malformed(&self, reason: &'static str) -> CaptureError {
        CaptureError::Malformed { at: self.at, reason }
    }
}

/// Length of the shortest block, in bytes: kind, length, and length again.
const FRAME: usize = 12;

const NO_CAPTURE: &str =
    "this is neither a pcapng nor a pcap file; `editcap -F pcapng` converts other captures";
