//! Floods of each kind of frame, by unauthenticated peers and by admitted clients.

use std::time::Duration;

use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use super::flood::flood;
use super::test_bed::TestBed;
use crate::common::by_hand::Level;
use crate::common::by_hand::frames::*;

/// Expected outcome for the senders.
enum End {
    /// Disconnected with this violation.
    Violation(&'static str),
    /// QUIC itself closes the connection, with this code and name.
    Error(&'static str),
    /// No effect.
    Nothing,
}

struct Flood {
    name: &'static str,
    payload: Box<dyn FnMut() -> Vec<u8>>,
    end: End,
}

fn new(name: &'static str, payload: Vec<u8>, end: End) -> Flood {
    Flood { name, payload: Box::new(move || payload.clone()), end }
}

/// As many frames as `count` says, each with a number of its own.
fn counted(
    name: &'static str,
    count: u64,
    frame: impl Fn(u64) -> Vec<u8> + 'static,
    end: End,
) -> Flood {
    let mut next = 0;
    let payload = move || {
        next += count;
        (next - count..next).flat_map(&frame).collect()
    };
    Flood { name, payload: Box::new(payload), end }
}

const CONTROL: &str = "too many control frames in a packet";
const STREAM_LIMIT: &str = "0x4: STREAM_LIMIT_ERROR";
const STREAM_STATE: &str = "0x5: STREAM_STATE_ERROR";
const FRAME_ENCODING: &str = "0x7: FRAME_ENCODING_ERROR";
const CONNECTION_ID_LIMIT: &str = "0x9: CONNECTION_ID_LIMIT_ERROR";
const PROTOCOL_VIOLATION: &str = "0xa: PROTOCOL_VIOLATION";

fn floods() -> Vec<Flood> {
    let ranges = |count| ack(1000, 0, &vec![(0, 0); count]);
    let of_each = |kind, values: &[u64]| numbers(kind, values).repeat(31);
    vec![
        new("PING", packed(&ping()), End::Violation(CONTROL)),
        new("a PING", ping(), End::Nothing),
        new("PADDING", vec![0; ROOM], End::Nothing),
        new("MAX_DATA", packed(&numbers(MAX_DATA, &[7])), End::Violation(CONTROL)),
        new("a few MAX_DATA", of_each(MAX_DATA, &[1 << 30]), End::Nothing),
        new("MAX_STREAM_DATA", of_each(MAX_STREAM_DATA, &[3, 7]), End::Error(STREAM_STATE)),
        counted("MAX_STREAMS", 31, |at| numbers(MAX_STREAMS, &[(1 << 21) + at]), End::Nothing),
        new("MAX_STREAMS beyond all", numbers(MAX_STREAMS, &[1 << 61]), End::Error(FRAME_ENCODING)),
        new("DATA_BLOCKED", of_each(DATA_BLOCKED, &[9]), End::Nothing),
        new("STREAM_DATA_BLOCKED", of_each(STREAM_DATA_BLOCKED, &[2, 9]), End::Nothing),
        new("STREAMS_BLOCKED", packed(&numbers(STREAMS_BLOCKED, &[9])), End::Violation(CONTROL)),
        new("ACK, of what was not sent", ranges(3), End::Error(PROTOCOL_VIOLATION)),
        new(
            "ACK, with many ranges",
            ranges(400),
            End::Violation("too many ranges acknowledged in a packet"),
        ),
        new("ACK, again and again", ack(2, 0, &[]).repeat(31), End::Nothing),
        new("PATH_CHALLENGE", path_challenge([7; 8]).repeat(31), End::Nothing),
        new("PATH_RESPONSE", path_response([7; 8]).repeat(31), End::Nothing),
        counted(
            "NEW_CONNECTION_ID",
            4,
            |at| new_connection_id(1 + at, 0, (1 + at).to_be_bytes()),
            End::Error(CONNECTION_ID_LIMIT),
        ),
        counted(
            "NEW_CONNECTION_ID that replaces all",
            16,
            |at| new_connection_id(1 + at, 1 + at, (1 + at).to_be_bytes()),
            End::Error(CONNECTION_ID_LIMIT),
        ),
        new("RETIRE_CONNECTION_ID", numbers(RETIRE_CONNECTION_ID, &[1]).repeat(16), {
            End::Violation("too many connection ids")
        }),
        new("RESET_STREAM", of_each(RESET_STREAM, &[stream_id(0), 1, 0]), {
            End::Violation("stream reset")
        }),
        new("STOP_SENDING", of_each(STOP_SENDING, &[3, 1]), End::Error(STREAM_STATE)),
        new("CRYPTO", crypto(0, &[7; 30]), End::Violation("TLS messages after the handshake")),
        new("DATAGRAM of nothing", packed(&datagram(&[])), End::Violation(CONTROL)),
        new("a DATAGRAM of nothing", datagram(&[]), End::Violation("empty datagram or stream")),
        new("DATAGRAM", packed(&datagram(&[0, 0, 0])), End::Nothing),
        new("a DATAGRAM in padding", [datagram(&[0]), vec![0; ROOM]].concat(), End::Nothing),
        new("STREAM of nothing", packed(&stream(0, 0, &[], false)), End::Violation(CONTROL)),
        new("a STREAM of nothing", stream(0, 0, &[], false), End::Nothing),
        new("STREAM, again and again", stream(0, 1, &[7], false).repeat(100), End::Nothing),
        new("NEW_TOKEN", new_token(&[7; 100]), End::Error(PROTOCOL_VIOLATION)),
        new("HANDSHAKE_DONE", numbers(HANDSHAKE_DONE, &[]), End::Error(PROTOCOL_VIOLATION)),
        new("IMMEDIATE_ACK", packed(&numbers(IMMEDIATE_ACK, &[])), End::Violation(CONTROL)),
        new("a few IMMEDIATE_ACK", of_each(IMMEDIATE_ACK, &[]), End::Nothing),
        counted("ACK_FREQUENCY", 31, |at| numbers(ACK_FREQUENCY, &[at, 0, 25_000, 0]), {
            End::Nothing
        }),
        new("ACK_FREQUENCY without a delay", numbers(ACK_FREQUENCY, &[0, 0, 0, 0]), {
            End::Error(PROTOCOL_VIOLATION)
        }),
        new("STREAM of two directions", with_data(STREAM | 2, &[0], &[7]), {
            End::Error(STREAM_LIMIT)
        }),
        new("STREAM of the server", with_data(STREAM | 2, &[3], &[7]), End::Error(STREAM_STATE)),
        new("MAX_STREAMS of two directions", of_each(MAX_STREAMS_BIDI, &[1 << 21]), End::Nothing),
        new("no frame that there is", vec![0x21; 9], End::Violation("unknown frame type")),
    ]
}

fn run(is_admitted: bool, acknowledges: bool) {
    for Flood { name, mut payload, end } in floods() {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let address = ([10, 0, 0, 2], 1000);
        let (mut peer, connection) =
            if is_admitted { test_bed.admitted(address) } else { test_bed.connected(address) };
        peer.acknowledges = acknowledges;
        let found = flood(&mut test_bed, std::slice::from_mut(&mut peer), 1500, &mut *payload);
        println!(
            "{name}: {} frames in a call at most, {} in all, {} bytes; {:?}",
            found.most_frames, found.frames, found.memory, test_bed.ended
        );
        assert_eq!((found.arrived, found.latest), (94, Duration::ZERO), "{name}");
        // Four packets of 300 frames, and few of who is honest.
        assert!(found.most_frames < 1220, "{name}: {}", found.most_frames);
        // Unauthenticated: the first packets, and then 50 a second; 4000 for an admitted client.
        let packets = if is_admitted { 1000.0 + 1.5 * 4000.0 } else { 100.0 + 1.5 * 50.0 };
        assert!((found.frames as f64) < packets * 32.0 + 1000.0, "{name}: {}", found.frames);
        let most = if is_admitted { 1 << 20 } else { 384 << 10 };
        assert!(found.memory < most, "{name}: {} bytes", found.memory);
        let ended: Vec<_> = test_bed.ended.iter().filter(|(of, _)| *of == connection).collect();
        match end {
            End::Nothing => assert_eq!(ended.len(), 0, "{name}: {ended:?}"),
            End::Violation(text) => {
                assert_eq!(ended, [&(connection, Reason::violation(text))], "{name}");
                assert_eq!(peer.close_reason(), Some(Reason::violation(text)), "{name}");
            }
            End::Error(code) => {
                let [(_, Reason::Failed(text))] = ended[..] else { panic!("{name}: {ended:?}") };
                assert!(text.starts_with(&format!("QUIC error {code}")), "{name}: {text}");
                assert!(peer.closed.is_some(), "{name}");
            }
        }
        assert!(test_bed.ended.iter().all(|(of, _)| *of == connection), "{name}: nobody else");
    }
}

#[test]
fn floods_of_unauthenticated_peers_do_not_delay_others() {
    run(false, true);
}

#[test]
fn floods_of_authenticated_peers_do_not_delay_others() {
    run(true, true);
    run(true, false);
}

/// Many small packets in one datagram, as in handshakes, with fragmented contents.
#[test]
fn a_handshake_in_pieces_takes_little() {
    for level in [Level::Initial, Level::Handshake] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let before = test_bed.memory;
        let mut peers: Vec<_> = (0..10)
            .map(|port| {
                let mut peer = test_bed.peer(([10, 0, 0, 2], 1000 + port));
                peer.stops_half_way = true;
                peer
            })
            .collect();
        for at in 0..1000u64 {
            test_bed.now += Duration::from_millis(1);
            for peer in &mut peers {
                peer.drive(test_bed.now);
                if !peer.has_answer() {
                    continue;
                }
                let mut datagram = Vec::new();
                for part in 0..25 {
                    let offset = 1 + 2 * (at * 25 + part) % 8000;
                    datagram.extend(peer.packet(level, &crypto(offset, &[7])));
                }
                peer.send_bytes(test_bed.now, &datagram);
            }
            let read = test_bed.server.frames_read();
            test_bed.serve();
            assert!(test_bed.server.frames_read() - read < 400);
        }
        let each = (test_bed.most_memory - before) / 10;
        println!("{level:?}: {each} bytes for each handshake");
        assert!(each < 160 << 10, "{each} bytes for a handshake");
    }
}
