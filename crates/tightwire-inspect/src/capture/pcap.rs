//! Files of the older format, pcap: a header, then the packets of one interface.

use std::io::Read;

use pcap_parser::Linktype;

use super::blocks::MAX_BLOCK;
use super::interface::Interface;
use super::{Capture, CaptureError};

/// Byte order and time resolution, from a file's first four bytes.
#[derive(Clone, Copy)]
pub(super) struct PcapForm {
    is_big_endian: bool,
    /// Units of a time's fraction per second.
    units: u32,
}

impl<R: Read> Capture<R> {
    /// Returns the form of the file if its first bytes, up to four, are those of a pcap file.
    pub(super) fn pcap_form(&self) -> Option<PcapForm> {
        let forms = [(MICROSECONDS, 1_000_000), (NANOSECONDS, 1_000_000_000)];
        forms.into_iter().find_map(|(magic, units)| {
            let is_little_endian = self.begins(magic.to_le_bytes());
            let is_one = is_little_endian || self.begins(magic.to_be_bytes());
            is_one.then_some(PcapForm { is_big_endian: !is_little_endian, units })
        })
    }

    /// Reads the rest of the file header.
    pub(super) fn begin_pcap(&mut self, form: PcapForm) -> Result<(), CaptureError> {
        let missing = HEADER - self.block.len();
        self.fill(missing)?;
        self.require(HEADER)?;
        self.is_pcap = true;
        self.is_big_endian = form.is_big_endian;
        // Major and minor version, 16 bits each. The major version comes first in the file, so it
        // is the lower half of a little-endian word.
        let version = self.word(4);
        let major = if form.is_big_endian { version >> 16 } else { version & 0xffff };
        if major != 2 {
            return Err(self.malformed("version of pcap other than 2"));
        }
        // The upper half tells whether frames end in a checksum. The checksum lies behind the bytes
        // that are read.
        let link = Linktype((self.word(20) & 0xffff) as i32);
        self.interfaces.push(Interface::plain(link, form.units));
        self.next_at = HEADER as u64;
        Ok(())
    }

    /// Reads the next packet, and returns whether there was one.
    pub(super) fn read_packet(&mut self) -> Result<bool, CaptureError> {
        self.block.clear();
        self.fill(PCAP_PACKET)?;
        if self.block.is_empty() {
            return Ok(false);
        }
        self.require(PCAP_PACKET)?;
        let length = self.word(8) as usize;
        if length > MAX_BLOCK {
            return Err(self.malformed("longer than the maximum of 256 KiB"));
        }
        self.fill(length)?;
        self.require(PCAP_PACKET + length)?;
        self.next_at = self.at.saturating_add((PCAP_PACKET + length) as u64);
        Ok(true)
    }
}

/// Magic number of a file whose times have fractions of 10^-6 seconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;

/// Magic number of a file whose times have fractions of 10^-9 seconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Length of the file header, in bytes.
const HEADER: usize = 24;

/// Length of a packet's header, in bytes: time in two numbers, captured length and original length.
pub(super) const PCAP_PACKET: usize = 16;
