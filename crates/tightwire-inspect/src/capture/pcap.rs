//! Files of the older kind: a header, and then packets of one interface.

use std::io::Read;

use pcap_parser::Linktype;

use super::blocks::MAX_BLOCK;
use super::interface::Interface;
use super::{Capture, CaptureError};

/// What the first four bytes say of the rest.
#[derive(Clone, Copy)]
pub(super) struct PcapForm {
    is_big_endian: bool,
    /// Of the fractions in times.
    units: u32,
}

impl<R: Read> Capture<R> {
    /// The form of the file, if its first bytes, or as many as there are, say that it is a pcap file.
    pub(super) fn pcap_form(&self) -> Option<PcapForm> {
        let forms = [(MICROSECONDS, 1_000_000), (NANOSECONDS, 1_000_000_000)];
        forms.into_iter().find_map(|(magic, units)| {
            let is_little_endian = self.begins(magic.to_le_bytes());
            let is_one = is_little_endian || self.begins(magic.to_be_bytes());
            is_one.then_some(PcapForm { is_big_endian: !is_little_endian, units })
        })
    }

    /// Reads the rest of the header.
    pub(super) fn begin_pcap(&mut self, form: PcapForm) -> Result<(), CaptureError> {
        let missing = HEADER - self.block.len();
        self.fill(missing)?;
        self.require(HEADER)?;
        self.is_pcap = true;
        self.is_big_endian = form.is_big_endian;
        // Two numbers of 16 bits, of which the first is the lower half if the lowest byte is first.
        let version = self.word(4);
        let major = if form.is_big_endian { version >> 16 } else { version & 0xffff };
        if major != 2 {
            return Err(self.malformed("a version of pcap other than 2"));
        }
        // The upper half says whether frames end in a checksum, which is behind all that is looked at.
        let link = Linktype((self.word(20) & 0xffff) as i32);
        self.interfaces.push(Interface::plain(link, form.units));
        self.next_at = HEADER as u64;
        Ok(())
    }

    /// Reads the next packet, and says whether there was one.
    pub(super) fn read_packet(&mut self) -> Result<bool, CaptureError> {
        self.block.clear();
        self.fill(PCAP_PACKET)?;
        if self.block.is_empty() {
            return Ok(false);
        }
        self.require(PCAP_PACKET)?;
        let length = self.word(8) as usize;
        if length > MAX_BLOCK {
            return Err(self.malformed("a packet longer than 256 KiB, more than is read"));
        }
        self.fill(length)?;
        self.require(PCAP_PACKET + length)?;
        self.next_at = self.at.saturating_add((PCAP_PACKET + length) as u64);
        Ok(true)
    }
}

/// Fractions of seconds are of 10^-6 seconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;

/// They are of 10^-9 seconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The bytes before the first packet.
const HEADER: usize = 24;

/// The bytes before each: its time in two numbers, how much of it there is, and how much there was.
pub(super) const PCAP_PACKET: usize = 16;
