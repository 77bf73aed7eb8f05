//! The sums of docs/RELIABILITY.md under "Memory of a connection", which follow from the defaults.

use tightwire::SessionConfig;
use tightwire::message::MessengerConfig;
use tightwire::quic::QuicConfig;

/// Bytes of a packet that is kept whole while a part of it waits.
const PACKET: usize = 1600;
/// Bytes of a connection until its welcome, as `quic_frames/fragments.rs` asserts.
const UNAUTHENTICATED: usize = 500_000;

/// Returns the bytes that QUIC keeps of what was received, and all bytes of an admitted peer.
fn sums(quic: &QuicConfig, messenger: &MessengerConfig) -> [usize; 2] {
    let ordered = quic.receive_window as usize * 5 / 2 + 2 * 2048 * 128;
    let streams = 2 * quic.reliable_streams as usize * PACKET;
    let datagrams = quic.receive_datagrams / 256 * PACKET;
    let received = ordered + quic.max_fragmented + streams + datagrams;
    let waiting = (2 * messenger.peer_bytes()).max(2048 * messenger.peer_messages);
    let sent = quic.max_fragmented * 5 / 2 + quic.send_window as usize + quic.send_datagrams;
    [received, received + waiting + sent]
}

#[test]
fn the_documented_memory_of_a_connection_follows_from_the_defaults() {
    let document = include_str!("../../../../docs/RELIABILITY.md");
    let (quic, session) = (QuicConfig::default(), SessionConfig::new("arena", "1.0"));
    let [received, admitted] = sums(&quic, &session.messenger);
    let mega = |bytes: usize| format!("{:.1} MB", bytes as f64 / 1e6);
    let unauthenticated = quic.max_unauthenticated * UNAUTHENTICATED;
    let clients = session.max_clients * admitted;
    let all = unauthenticated + clients + session.messenger.pool_bytes;
    let many = quic.max_connections - quic.max_unauthenticated;
    let small = QuicConfig {
        max_fragmented: 64 << 10,
        receive_window: 64 << 10,
        reliable_streams: 64,
        ..quic
    };
    let small_messages = MessengerConfig { max_fragmented: 64 << 10, ..session.messenger };
    let [_, small] = sums(&small, &small_messages);
    for line in [
        format!("| received in total, in QUIC | | {} |", mega(received)),
        format!("| total, for an admitted peer | | {} |", mega(admitted)),
        format!("| {} |\n\nBeside these", mega(UNAUTHENTICATED)),
        format!("(256) | {:.0} MB |", unauthenticated as f64 / 1e6),
        format!("(64), all of them hostile | {:.0} MB |", clients as f64 / 1e6),
        format!("| both, and free buffers | {:.2} GB |", all as f64 / 1e9),
        format!(
            "{many} admitted and 256 unauthenticated | {:.1} GB |",
            (many * admitted + unauthenticated) as f64 / 1e9
        ),
        format!("a hostile peer takes {} at most", mega(small)),
    ] {
        assert!(document.contains(&line), "docs/RELIABILITY.md does not say {line:?}");
    }
}
