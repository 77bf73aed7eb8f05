//! Protections without keys: anyone who knows the game can make a datagram.

use std::cell::RefCell;

use tightwire::packet::{Identity, Protection, Protocol};

use super::sets::{Input, Message};
use super::{Packets, check_explained, expected, read, write_again};

thread_local! {
    // Made once: only their counters change, and computing a protocol id takes a while.
    static NONE: RefCell<Protocols> = RefCell::new(Protocols::new(|| Protection::None));
    static ID: RefCell<Protocols> = RefCell::new(Protocols::new(|| Protection::Id));
    static CRC32: RefCell<Protocols> = RefCell::new(Protocols::new(|| Protection::Crc32));
}

/// Checks the whole input as a datagram, and as the packet in one.
pub(crate) fn packet_none(data: &[u8]) {
    NONE.with_borrow_mut(|protocols| protocols.check(data));
}

/// Checks as [`packet_none`] does.
pub(crate) fn packet_id(data: &[u8]) {
    ID.with_borrow_mut(|protocols| protocols.check(data));
}

/// Checks as [`packet_none`] does.
pub(crate) fn packet_crc32(data: &[u8]) {
    CRC32.with_borrow_mut(|protocols| protocols.check(data));
}

/// Protocols of each set, without and with checks.
struct Protocols {
    messages: [Protocol<Message>; 2],
    inputs: [Protocol<Input>; 2],
}

impl Protocols {
    fn new(protection: fn() -> Protection) -> Self {
        Self { messages: both(protection), inputs: both(protection) }
    }

    fn check(&mut self, data: &[u8]) {
        self.messages.iter_mut().for_each(|protocol| check(protocol, data));
        self.inputs.iter_mut().for_each(|protocol| check(protocol, data));
    }
}

fn both<P: Packets>(protection: fn() -> Protection) -> [Protocol<P>; 2] {
    let protocol = || Protocol::new("fuzz", "1", protection());
    [protocol(), protocol().with_checks()]
}

fn check<P: Packets>(protocol: &mut Protocol<P>, data: &[u8]) {
    let result = read(protocol, data);
    check_explained(protocol, data, &result);
    assert_eq!(protocol.unsealed(data), data);
    if let Ok(mut value) = result {
        assert_eq!(write_again(protocol, &mut value, data.len()), data);
    }

    let datagram = datagram(protocol.identity(), data);
    let expected = expected::<P>(data, protocol.identity().has_checks());
    let result = read(protocol, &datagram);
    assert_eq!(result, expected);
    check_explained(protocol, &datagram, &expected);
    if let Ok(mut value) = result {
        assert_eq!(write_again(protocol, &mut value, datagram.len()), datagram);
    }
}

/// Makes the datagram around a packet, without the library.
fn datagram(identity: &Identity, packet: &[u8]) -> Vec<u8> {
    let id = identity.id().to_le_bytes();
    match identity.protection() {
        Protection::Id => [&id, packet].concat(),
        Protection::Crc32 => {
            let crc = !id.iter().chain(packet).fold(!0, |crc, byte| next_crc(crc, *byte));
            [&crc.to_le_bytes(), packet].concat()
        }
        _ => packet.to_vec(),
    }
}

fn next_crc(crc: u32, byte: u8) -> u32 {
    crc >> 8 ^ CRC_OF_BYTE[usize::from(crc as u8 ^ byte)]
}

/// Table of the reflected CRC-32 of IEEE 802.3.
const CRC_OF_BYTE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};
