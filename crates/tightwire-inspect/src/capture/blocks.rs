//! Blocks of a pcapng file, apart from a datagram's bytes. docs/WIRE.md lists them.
//!
//! Every field has whole bytes, and the stream writes the least significant byte first, as a
//! little-endian section needs it.
//!
//! The protocol's identity is in options of the section header. `editcap` and `mergecap` copy these
//! options, and no tool counts them as packets, while tshark counts custom blocks. The identity
//! leaves 16 KiB of the block to options that tools add. A damaged identity counts as absent: the
//! datagrams are still readable.

use tightwire_core::Wire;

use super::Direction;

pub(super) const SECTION: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE: u32 = 1;
pub(super) const PACKET: u32 = 6;

pub(super) const ORDER: u32 = 0x1a2b_3c4d;

/// Code of the option with a packet's direction.
pub(super) const FLAGS: u16 = 2;

/// Code of a custom option that tools may copy when they change a file.
pub(super) const CUSTOM: u16 = 2989;

/// Maximum length of a block, in bytes. Longer blocks are neither written nor read: a length in a
/// file must not decide how much memory is allocated.
pub(super) const MAX_BLOCK: usize = 256 << 10;

/// Maximum length of a datagram, in bytes: the largest that UDP's length field allows.
pub(super) const MAX_DATAGRAM: usize = u16::MAX as usize - 8;

/// Maximum length of identity and snapshot description together, in bytes. The rest of the block is
/// for tools, which add their names and comments when they copy a file.
pub(super) const MAX_METADATA: usize = 240 << 10;

#[derive(Wire)]
pub(super) struct SectionHead {
    kind: u32,
    length: u32,
    order: u32,
    major: u16,
    minor: u16,
    /// All ones: the length of a section is not known while the section is recorded.
    section_length: u64,
}

/// Header of one part of an identity or snapshot description: a custom option's code, length and
/// tag.
#[derive(Wire)]
pub(super) struct PartHead {
    option: OptionHead,
    enterprise: u32,
    tag: [u8; 12],
}

#[derive(Wire)]
pub(super) struct SectionEnd {
    end: OptionHead,
    length_again: u32,
}

#[derive(Wire)]
pub(super) struct InterfaceBlock {
    kind: u32,
    length: u32,
    link_type: u16,
    reserved: u16,
    snap_length: u32,
    resolution_option: OptionHead,
    resolution: u8,
    padding: [u8; 3],
    end: OptionHead,
    length_again: u32,
}

#[derive(Wire)]
pub(super) struct PacketHead {
    kind: u32,
    length: u32,
    interface: u32,
    time_high: u32,
    time_low: u32,
    captured_length: u32,
    original_length: u32,
}

#[derive(Wire)]
pub(super) struct PacketEnd {
    flags_option: OptionHead,
    flags: u32,
    end: OptionHead,
    length_again: u32,
}

/// Header of an option; all zeros ends the options.
#[derive(Wire, Default)]
struct OptionHead {
    code: u16,
    length: u16,
}

impl SectionHead {
    /// Returns the header of a section with `options` bytes of options.
    pub(super) fn new(options: u32) -> Self {
        Self {
            kind: SECTION,
            length: (Self::MAX_BYTES + SectionEnd::MAX_BYTES) as u32 + options,
            order: ORDER,
            major: 1,
            minor: 0,
            section_length: u64::MAX,
        }
    }
}

/// Kinds of metadata in a section header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MetadataKind {
    /// [`Identity`](tightwire_core::packet::Identity) of the packets' protocol.
    Identity,
    /// [`snapshot::Description`](tightwire_snapshot::Description) of the snapshots in the packets.
    Snapshots,
}

impl MetadataKind {
    const ALL: [Self; 2] = [Self::Identity, Self::Snapshots];

    const fn tag(self) -> [u8; 12] {
        match self {
            Self::Identity => *b"tightwire\0\0\0",
            Self::Snapshots => *b"tw-snapshots",
        }
    }
}

impl PartHead {
    /// IANA's private enterprise number for examples. This format has no number of its own, so the
    /// tag identifies it.
    const ENTERPRISE: u32 = 32473;

    /// Bytes that an option's length counts besides the part: enterprise number and tag.
    const WITHIN: u16 = 16;

    /// Length of an option without its part, in bytes.
    pub(super) const AROUND: usize = Self::MAX_BYTES;

    /// Maximum length of a part, in bytes. An option with a part of this length has the largest
    /// length that needs no padding.
    pub(super) const MAX_PART: usize = (u16::MAX - 3 - Self::WITHIN) as usize;

    /// Returns the header of a part of at most [`MAX_PART`](Self::MAX_PART) bytes.
    pub(super) fn new(kind: MetadataKind, part: usize) -> Self {
        let option = OptionHead { code: CUSTOM, length: Self::WITHIN + part as u16 };
        Self { option, enterprise: Self::ENTERPRISE, tag: kind.tag() }
    }

    /// Returns the metadata kind and the part in the value of a custom option; `None` if the option
    /// is not of this format.
    pub(super) fn part_in(value: &[u8], is_big_endian: bool) -> Option<(MetadataKind, &[u8])> {
        let (&enterprise, data) = value.split_first_chunk()?;
        let enterprise = match is_big_endian {
            true => u32::from_be_bytes(enterprise),
            false => u32::from_le_bytes(enterprise),
        };
        let mut kind = MetadataKind::ALL.into_iter().filter(|_| enterprise == Self::ENTERPRISE);
        kind.find_map(|kind| Some((kind, data.strip_prefix(&kind.tag())?)))
    }
}

impl SectionEnd {
    pub(super) fn new(head: &SectionHead) -> Self {
        Self { end: OptionHead::default(), length_again: head.length }
    }
}

impl InterfaceBlock {
    /// Link type of packets that begin with their IP header, of either version.
    const LINK_RAW: u16 = 101;

    pub(super) fn new() -> Self {
        let length = Self::MAX_BYTES as u32;
        Self {
            kind: INTERFACE,
            length,
            link_type: Self::LINK_RAW,
            reserved: 0,
            snap_length: 0,
            resolution_option: OptionHead { code: 9, length: 1 },
            resolution: 9,
            padding: [0; 3],
            end: OptionHead::default(),
            length_again: length,
        }
    }
}

impl PacketHead {
    pub(super) fn new(nanoseconds: u64, packet_length: u32) -> Self {
        let around = (Self::MAX_BYTES + PacketEnd::MAX_BYTES) as u32;
        Self {
            kind: PACKET,
            length: around + packet_length.next_multiple_of(4),
            interface: 0,
            time_high: (nanoseconds >> 32) as u32,
            time_low: nanoseconds as u32,
            captured_length: packet_length,
            original_length: packet_length,
        }
    }
}

impl PacketEnd {
    pub(super) fn new(head: &PacketHead, direction: Direction) -> Self {
        Self {
            flags_option: OptionHead { code: FLAGS, length: 4 },
            flags: flags_of(direction),
            end: OptionHead::default(),
            length_again: head.length,
        }
    }
}

fn flags_of(direction: Direction) -> u32 {
    match direction {
        Direction::Received => 1,
        Direction::Sent => 2,
    }
}

/// Returns the direction in a packet's flags; `None` if it is unknown (0) or undefined (3).
pub(super) fn direction_of(flags: u32) -> Option<Direction> {
    let mut directions = [Direction::Received, Direction::Sent].into_iter();
    directions.find(|&direction| flags_of(direction) == flags & 3)
}
