//! Captures of other programs: either byte order, other link types, blocks and times.
#![cfg(feature = "inspect")]

use std::time::Duration;

use etherparse::PacketBuilder;
use tightwire::encode;
use tightwire::inspect::{Capture, CaptureError, CaptureWriter, Direction};
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

const SECTION: u32 = 0x0a0d_0d0a;
const CUSTOM: u16 = 2989;

/// A file, built block by block.
struct File {
    is_big_endian: bool,
    bytes: Vec<u8>,
}

impl File {
    fn new(is_big_endian: bool) -> Self {
        let mut file = Self { is_big_endian, bytes: Vec::new() };
        file.section(&[]);
        file
    }

    fn section(&mut self, options: &[u8]) {
        let version = [self.word(0x1a2b_3c4d), self.halves(1, 0)].concat();
        self.block(SECTION, &[&version[..], &[0xff; 8], options].concat());
    }

    fn interface(&mut self, link: u16, options: &[u8]) {
        self.block(1, &[&self.halves(link, 0), &self.word(262_144), options].concat());
    }

    fn packet(&mut self, interface: u32, time: u64, packet: &[u8], options: &[u8]) {
        let length = packet.len() as u32;
        let words = [interface, (time >> 32) as u32, time as u32, length, length];
        let head = words.map(|word| self.word(word)).concat();
        let padding = &[0; 3][..packet.len().next_multiple_of(4) - packet.len()];
        self.block(6, &[&head, packet, padding, options].concat());
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = self.word(body.len() as u32 + 12);
        let block = [&self.word(kind), &length, body, &length].concat();
        self.bytes.extend(block);
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let padding = &[0; 3][..value.len().next_multiple_of(4) - value.len()];
        [&self.halves(code, value.len() as u16)[..], value, padding].concat()
    }

    fn custom(&self, code: u16, enterprise: u32, data: &[u8]) -> Vec<u8> {
        self.option(code, &[&self.word(enterprise)[..], data].concat())
    }

    fn word(&self, word: u32) -> Vec<u8> {
        if self.is_big_endian { word.to_be_bytes() } else { word.to_le_bytes() }.to_vec()
    }

    fn halves(&self, first: u16, second: u16) -> Vec<u8> {
        let bytes = |half: u16| match self.is_big_endian {
            true => half.to_be_bytes(),
            false => half.to_le_bytes(),
        };
        [bytes(first), bytes(second)].concat()
    }

    /// Returns time, direction and bytes of each datagram, and the number of skipped packets.
    fn read(&self) -> Result<(Vec<CapturedDatagram>, u64), CaptureError> {
        let mut capture = Capture::new(&self.bytes[..])?;
        let mut seen = Vec::new();
        while let Some(record) = capture.next_record() {
            let record = record?;
            assert_eq!(record.source.to_string(), "10.0.0.2:4242");
            assert_eq!(record.destination.to_string(), "10.0.0.1:7777");
            seen.push((record.time, record.direction, record.datagram.to_vec()));
        }
        Ok((seen, capture.skipped()))
    }

    fn refusal(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

type CapturedDatagram = (Duration, Option<Direction>, Vec<u8>);

fn ip(datagram: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64).udp(4242, 7777);
    builder.write(&mut packet, datagram).unwrap();
    packet
}

fn ethernet(datagram: &[u8]) -> Vec<u8> {
    let mut packet = [&[2; 12][..], &[8, 0], &ip(datagram)].concat();
    // The minimum size of a frame, which is more than these need.
    packet.resize(packet.len().max(60), 0xaa);
    packet
}

#[test]
fn both_byte_orders_are_read() {
    for is_big_endian in [false, true] {
        let mut file = File::new(is_big_endian);
        let resolution = file.option(9, &[9]);
        let offset = match is_big_endian {
            true => 100i64.to_be_bytes(),
            false => 100i64.to_le_bytes(),
        };
        let offset = file.option(14, &offset);
        file.interface(1, &[resolution, offset].concat());
        for flags in 0..4 {
            let flags = file.option(2, &file.word(0xabcd_0000 | flags));
            file.packet(0, 0x1_0000_0001, &ethernet(b"fire"), &flags);
        }
        let time = Duration::from_secs(100) + Duration::from_nanos(0x1_0000_0001);
        let directions = [None, Some(Direction::Received), Some(Direction::Sent), None];
        let expected = directions.map(|direction| (time, direction, b"fire".to_vec()));
        assert_eq!(file.read().unwrap(), (expected.to_vec(), 0));
    }
}

#[test]
fn times_have_the_resolution_of_their_interface() {
    let mut file = File::new(false);
    file.interface(101, &[]);
    file.interface(101, &file.option(9, &[3]));
    file.interface(101, &file.option(9, &[0x80 | 10]));
    for interface in 0..3 {
        file.packet(interface, 2048, &ip(b""), &[]);
    }
    let (seen, _) = file.read().unwrap();
    let times: Vec<_> = seen.iter().map(|(time, ..)| time.as_nanos()).collect();
    assert_eq!(times, [2_048_000, 2_048_000_000, 2_000_000_000]);
}

#[test]
fn an_option_behind_the_end_of_options_is_none() {
    let mut file = File::new(false);
    file.interface(101, &[]);
    let options = [file.option(0, &[]), file.option(2, &[1, 0, 0, 0])].concat();
    file.packet(0, 0, &ip(b""), &options);
    assert_eq!(file.read().unwrap().0[0].1, None);
}

#[test]
fn records_without_a_whole_udp_datagram_are_skipped() {
    let mut file = File::new(false);
    file.interface(101, &[]);
    file.interface(147, &[]);
    let mut tcp = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64).tcp(1, 2, 3, 4);
    builder.write(&mut tcp, b"fire").unwrap();
    let whole = ip(b"fire");
    let mut fragment = whole.clone();
    fragment[6] = 0x20;
    let mut jumbo = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(1, 2).write(&mut jumbo, b"").unwrap();
    jumbo.resize(70_000, 0);
    jumbo[4..6].fill(0);
    jumbo[44..46].fill(0);
    file.packet(0, 0, &tcp, &[]);
    file.packet(0, 0, &fragment, &[]);
    file.packet(0, 0, &whole[..whole.len() - 1], &[]);
    file.packet(0, 0, b"", &[]);
    file.packet(0, 0, &jumbo, &[]);
    file.packet(1, 0, &whole, &[]);
    file.packet(0, 0, &whole, &[]);
    assert_eq!(file.read().unwrap(), (vec![(Duration::ZERO, None, b"fire".to_vec())], 6));
}

#[test]
fn other_blocks_are_passed_over_however_long_they_are() {
    let mut file = File::new(true);
    file.block(0x0bad_cafe, &[]);
    file.block(4, &vec![7; 1 << 20]);
    file.block(0x0bad, &[]);
    file.block(0x0bad, &[&file.word(32473)[..], b"somebody's own data!"].concat());
    file.interface(1, &[]);
    file.block(3, &[7; 32]);
    file.packet(0, 0, &ethernet(b"fire"), &[]);
    file.block(5, &[7; 4]);
    assert_eq!(file.read().unwrap().0.len(), 1);
}

#[test]
fn an_identity_is_found_among_other_options_in_either_byte_order() {
    let identity = Identity::new("tanks", "1.3", Protection::Id, Schema::of::<Option<u16>>());
    let mut buffer = [0; 64];
    let sent = encode(&identity, &mut buffer).unwrap();
    let (first, second) = sent.split_at(5);
    let ours = |part: &[u8]| [b"tightwire\0\0\0", part].concat();
    for is_big_endian in [false, true] {
        let mut file = File { is_big_endian, bytes: Vec::new() };
        let options = [
            file.option(1, b"a comment"),
            file.custom(CUSTOM, 1234, &ours(b"another enterprise")),
            file.custom(CUSTOM, 32473, &ours(first)),
            file.option(CUSTOM, &[]),
            file.custom(CUSTOM, 32473, b"tightwire\0\0\x01 a form of another time"),
            file.custom(CUSTOM, 32473, b"short"),
            file.custom(2988, 32473, &ours(b"text")),
            file.custom(19373, 32473, &ours(b"not to be copied")),
            file.custom(CUSTOM, 32473, &ours(second)),
            file.option(4, b"a program"),
            file.option(0, &[]),
            file.custom(CUSTOM, 32473, &ours(b"behind the end")),
        ];
        file.section(&options.concat());
        assert_eq!(Capture::new(&file.bytes[..]).unwrap().identity(), Some(&identity));

        // The next section has no identity.
        file.section(&options[0]);
        file.interface(1, &[]);
        file.packet(0, 0, &ethernet(b"fire"), &[]);
        let mut capture = Capture::new(&file.bytes[..]).unwrap();
        assert!(capture.next_record().unwrap().is_ok());
        assert_eq!((capture.identity(), capture.identity_error()), (None, None));

        // The one after that is damaged.
        file.section(&options[2]);
        file.interface(1, &[]);
        file.packet(0, 0, &ethernet(b"fire"), &[]);
        let mut capture = Capture::new(&file.bytes[..]).unwrap();
        assert!(capture.next_record().unwrap().is_ok() && capture.next_record().unwrap().is_ok());
        assert!(capture.identity().is_none() && capture.identity_error().is_some());
    }
}

#[test]
fn refusals_say_where_and_why() {
    let file = || File::new(false);
    let refusal = |build: fn(&mut File)| {
        let mut file = file();
        build(&mut file);
        file.refusal()
    };
    let reasons = [
        refusal(|file| file.packet(0, 0, &[], &[])),
        refusal(|file| file.block(6, &[0; 16])),
        refusal(|file| file.block(1, &[0; 4])),
        refusal(|file| file.block(6, &vec![0; 256 << 10])),
        refusal(|file| file.block(SECTION, &[0; 16])),
        refusal(|file| file.block(SECTION, b"\x4d\x3c\x2b\x1a\x02\0\0\0\0\0\0\0\0\0\0\0")),
        refusal(|file| (0..257).for_each(|_| file.interface(1, &[]))),
        refusal(|file| file.bytes.extend([7, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0])),
        refusal(|file| file.bytes.extend([7, 0, 0, 0, 12, 0, 0, 0, 16, 0, 0, 0])),
    ];
    let expected = [
        "the block at byte 28: packet of an undescribed interface",
        "the block at byte 28: malformed packet block",
        "the block at byte 28: malformed interface description",
        "the block at byte 28: longer than the maximum of 256 KiB",
        "the block at byte 28: unknown byte order of a section",
        "the block at byte 28: version of pcapng other than 1",
        "the block at byte 5148: more than 256 interfaces",
        "the block at byte 28: its length is below twelve, or no multiple of four",
        "the block at byte 28: its two lengths differ: the file was changed, or overwritten",
    ];
    assert_eq!(reasons, expected);
    let refused = Capture::new(&b"PK\x03\x04 is no capture"[..]).unwrap_err();
    assert!(matches!(refused, CaptureError::Malformed { at: 0, .. }), "{refused}");
}

#[test]
fn a_block_of_nothing_but_options_takes_a_stated_amount_of_memory() {
    let mut file = File::new(false);
    file.interface(101, &[]);
    // Empty comments, as many as a block holds: the parser's list of them is the worst case of a
    // packet.
    let options = [1u8, 0, 0, 0].repeat((256 << 10) / 4 - 30);
    file.packet(0, 0, &ip(b""), &options);
    let info = allocation_counter::measure(|| assert_eq!(file.read().unwrap().0.len(), 1));
    assert!(info.bytes_max < 4 << 20, "{} bytes", info.bytes_max);
}

#[test]
fn a_length_alone_takes_no_memory() {
    let mut file = CaptureWriter::new(Vec::new(), &Identity::default()).unwrap().finish().unwrap();
    let end = file.len() as u64;
    file.extend([6, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let info = allocation_counter::measure(|| {
        let mut capture = Capture::new(&file[..]).unwrap();
        let refused = capture.next_record().unwrap().unwrap_err();
        assert!(matches!(refused, CaptureError::Truncated { at } if at == end));
    });
    assert!(info.bytes_max < 10_000, "{} bytes", info.bytes_max);
}
