//! Transport parameters that no honest client sends (RFC 9000, 18.2).

use tightwire::Delivery;
use tightwire::quic::QuicConfig;
use tightwire::transport::{NotSentError, Transport};

use super::test_bed::{SERVER, TestBed};
use crate::common::by_hand::{HandPeer, ParameterChange, parameter};

const ADDRESS: ([u8; 4], u16) = ([10, 0, 0, 2], 1000);
const TRANSPORT_PARAMETER_ERROR: u64 = 8;

fn changed(id: u64, value: u64) -> Vec<ParameterChange> {
    vec![(id, Some(parameter(value)))]
}

#[test]
fn invalid_transport_parameters_are_refused() {
    let largest = (1 << 62) - 1;
    for (name, changes) in [
        ("small packets", changed(0x03, 1199)),
        ("ack delay exponent", changed(0x0a, 21)),
        ("ack delay", changed(0x0b, 1 << 14)),
        ("few connection ids", changed(0x0e, 1)),
        ("streams", changed(0x08, (1 << 60) + 1)),
        ("no number", vec![(0x04, Some(vec![0xff]))]),
        ("a number and more", vec![(0x04, Some(vec![1, 1]))]),
        ("two of them", [changed(0x04, 1), changed(0x04, 2)].concat()),
        ("another source id", vec![(0x0f, Some(vec![7; 8]))]),
        ("no source id", vec![(0x0f, None)]),
        ("the first id, which a server tells", vec![(0x00, Some(vec![7; 8]))]),
        ("a reset token, which a server tells", vec![(0x02, Some(vec![7; 16]))]),
        ("the id of a Retry, which a server tells", vec![(0x10, Some(vec![7; 8]))]),
        ("a delay of acks above the longest", changed(0xff04_de1b, largest)),
    ] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let before = test_bed.memory;
        let socket = test_bed.network.socket(ADDRESS.into());
        let mut peer = HandPeer::with_parameters(socket, SERVER.into(), 1, &changes);
        test_bed.run(50, &mut [&mut peer]);
        let code = peer.closed.as_ref().map(|(code, _)| *code);
        assert_eq!(code, Some(TRANSPORT_PARAMETER_ERROR), "{name}: {:?}", test_bed.refused);
        assert_eq!(test_bed.connections.len(), 0, "{name}");
        // Nothing is left of the attempt.
        test_bed.run(10_000, &mut []);
        assert!(test_bed.memory - before < 64 << 10, "{name}: {}", test_bed.memory - before);
    }
}

/// The peer is connected, and the server sends as if it were honest: there is no room, or more than
/// there can be.
#[test]
fn memory_is_bounded_for_any_valid_transport_parameters() {
    let largest = (1 << 62) - 1;
    let nothing = [0x04, 0x05, 0x06, 0x07, 0x08, 0x09].map(|id| (id, None)).to_vec();
    let everything = [0x04, 0x05, 0x06, 0x07].map(|id| (id, Some(parameter(largest)))).to_vec();
    for (name, changes) in [
        ("no windows and no streams", nothing),
        ("no datagrams", vec![(0x20, None)]),
        ("datagrams of a byte", changed(0x20, 3)),
        ("no stream", changed(0x09, 0)),
        ("the largest windows", everything),
        ("the most streams", changed(0x09, 1 << 60)),
        ("the most connection ids", changed(0x0e, largest)),
        ("the largest packets", changed(0x03, largest)),
        ("the shortest timeout", changed(0x01, 1)),
        ("no timeout", vec![(0x01, None)]),
        ("the longest delay of acks", changed(0x0b, (1 << 14) - 1)),
        ("unknown ones", vec![(27, Some(vec![7; 500])), (31 * 99 + 27, Some(Vec::new()))]),
    ] {
        let config = QuicConfig::default();
        let mut test_bed = TestBed::new(config);
        let before = test_bed.memory;
        let socket = test_bed.network.socket(ADDRESS.into());
        let mut peer = HandPeer::with_parameters(socket, SERVER.into(), 1, &changes);
        test_bed.run(20, &mut [&mut peer]);
        let Some(connection) = test_bed.connections.get(&ADDRESS.into()).copied() else {
            panic!("{name}: {:?}", test_bed.refused)
        };
        test_bed.server.welcome(connection);
        peer.acknowledges = false;
        let mut refused = 0;
        for number in 0..2000u32 {
            let batch = |size: usize, prefix: &[u8]| [prefix, &vec![number as u8; size]].concat();
            for (delivery, batch) in [
                (Delivery::Unreliable, batch(100, &[100, 0])),
                (Delivery::UnreliableSequenced, batch(100, &[100, 0])),
                (Delivery::Reliable, batch(100, &[100, 0])),
                (Delivery::ReliableOrdered, batch(100, &[100, 0])),
                (Delivery::ReliableOrderedFragmented, batch(5000, &5000u32.to_le_bytes())),
            ] {
                let sent = test_bed.send(connection, delivery, &batch);
                refused += u32::from(sent.is_err());
                assert!(
                    !matches!(sent, Err(NotSentError::NotConnected(_)))
                        || !test_bed.ended.is_empty(),
                    "{name}: {sent:?}"
                );
            }
            test_bed.step(&mut [&mut peer]);
        }
        let memory = test_bed.most_memory - before;
        println!("{name}: {refused} refused, {memory} bytes, {:?}", test_bed.ended);
        let limits =
            config.max_fragmented * 5 / 2 + config.send_window as usize + 4 * config.send_datagrams;
        assert!(memory < limits as i64 + (512 << 10), "{name}: {memory} bytes, of {limits}");
        // All that waits has gone with the connection: after the idle timeout, or three times the
        // announced delay of acks, which can be 16 s, if that is longer (RFC 9000, 10.1).
        test_bed.run(60_000, &mut []);
        assert!(test_bed.memory - before < 64 << 10, "{name}: {}", test_bed.memory - before);
    }
}
