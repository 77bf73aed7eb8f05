//! Protocols on any datagram: it is accepted or refused with a reason, and the protocol goes on.
//!
//! Each input is used twice: as a datagram of an attacker, and as the packet in a valid datagram of
//! a hostile peer.

mod open;
mod sealed;
mod sets;

use std::fmt::Debug;

use tightwire::packet::{ExplainedPacketError, PacketError, Protocol};
use tightwire::stream::{ErrorKind, ReadError, ReadStream};
use tightwire::{Stream, Target, Wire, at, decode};

pub(crate) use open::{packet_crc32, packet_id, packet_none};
pub(crate) use sealed::packet_sealed;

/// Requirements on a packet set.
trait Packets: Wire + Default + PartialEq + Debug {}

impl<P: Wire + Default + PartialEq + Debug> Packets for P {}

/// A packet with the check that a protocol with checks adds.
#[derive(Default)]
struct Checked<P>(P);

impl<P: Wire> Wire for Checked<P> {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        Wire::serialize(at!(this.0).target(), stream)?;
        stream.check("end")
    }
}

/// Returns the expected result for a packet, by the functions below the protocol.
fn expected<P: Packets>(packet: &[u8], checks: bool) -> Result<P, PacketError> {
    let read = if checks {
        decode::<Checked<P>>(packet).map(|Checked(value)| value)
    } else {
        let mut value = P::default();
        let mut stream = ReadStream::new(packet).without_checks();
        Wire::serialize(Target::from(&mut value), &mut stream)
            .and_then(|()| stream.finish())
            .map(|()| value)
    };
    read.map_err(|refused| match refused {
        ReadError { kind: ErrorKind::TrailingData, bit } => PacketError::TrailingData { bit },
        refused => PacketError::Malformed(refused),
    })
}

/// Reads a datagram, and checks the counters.
fn read<P: Packets>(protocol: &mut Protocol<P>, datagram: &[u8]) -> Result<P, PacketError> {
    let before = protocol.counters();
    let mut value = P::default();
    let result = protocol.read(datagram, &mut value);
    let after = protocol.counters();
    let counted = (after.read - before.read, after.refused() - before.refused());
    assert_eq!(counted, if result.is_ok() { (1, 0) } else { (0, 1) });
    assert_eq!(after.written, before.written);
    result.map(|()| value)
}

/// Reads with an explanation, and compares it with the expected result.
fn check_explained<P: Packets>(
    protocol: &mut Protocol<P>,
    datagram: &[u8],
    expected: &Result<P, PacketError>,
) {
    let mut value = P::default();
    let result = protocol.read_explained(datagram, &mut value);
    assert_eq!(
        result.as_ref().err().map(ExplainedPacketError::refused),
        expected.as_ref().err().copied()
    );
    match &result {
        Ok(()) => assert_eq!(Some(&value), expected.as_ref().ok()),
        Err(refused) => {
            let is_malformed = matches!(refused.refused(), PacketError::Malformed(_));
            assert_eq!(refused.field().is_some(), is_malformed);
            assert!(!refused.to_string().is_empty());
        }
    }
}

/// Writes a packet that was read: it fits into a buffer of its length, and into none that is
/// shorter.
fn write_again<P: Packets>(protocol: &mut Protocol<P>, value: &mut P, length: usize) -> Vec<u8> {
    let mut buffer = vec![0xff; length];
    if let Some(short) = length.checked_sub(1) {
        assert!(protocol.write(value, &mut buffer[..short]).is_err());
    }
    let before = protocol.counters().written;
    let datagram = match protocol.write(value, &mut buffer) {
        Ok(datagram) => datagram.to_vec(),
        Err(refused) => panic!("{refused}: what was read is not written: {value:?}"),
    };
    assert_eq!(protocol.counters().written, before + 1);
    datagram
}
