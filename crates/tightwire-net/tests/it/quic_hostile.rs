//! Attacks of a peer within valid encryption.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use quinn_proto::ConnectionError;
use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Trust};
use tightwire::transport::{Connection, Event, Reason, Transport};

use crate::common::raw::RawPeer;

struct TestBed {
    server: Quic<SimulatedSocket>,
    client: RawPeer<SimulatedSocket>,
    now: Duration,
    batches: Vec<(Delivery, Vec<u8>)>,
    ended: Option<Reason>,
    connection: Option<Connection>,
}

impl TestBed {
    fn new(config: QuicConfig) -> Self {
        let network = Network::new(LinkConfig::default(), 1);
        let address = SocketAddr::from(([10, 0, 0, 1], 7777));
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let server = Quic::listen(network.socket(address), &certificate, config).unwrap();
        let socket = network.socket(([10, 0, 0, 2], 1000).into());
        let client = RawPeer::connect(socket, address, Duration::ZERO);
        let (now, batches) = (Duration::ZERO, Vec::new());
        let mut test_bed = Self { server, client, now, batches, ended: None, connection: None };
        test_bed.run(50);
        assert!(test_bed.client.is_connected);
        test_bed
    }

    /// Runs this many milliseconds.
    fn run(&mut self, milliseconds: u32) {
        for _ in 0..milliseconds {
            self.now += Duration::from_millis(1);
            self.client.drive(self.now);
            self.server.handle_input(self.now);
            while let Some(event) = self.server.poll_event() {
                assert_eq!(self.ended, None, "nothing comes after the end: {event:?}");
                match event {
                    Event::Connected { connection, .. } => self.connection = Some(connection),
                    Event::Batch { delivery, batch, .. } => {
                        self.batches.push((delivery, batch.to_vec()));
                    }
                    Event::Disconnected { reason, .. } => self.ended = Some(reason),
                    other => panic!("{other:?}"),
                }
            }
            self.server.handle_output(self.now);
        }
    }

    /// Returns the reason of the end that the client got.
    fn close_reason(&self) -> Option<Reason> {
        match self.client.lost.as_ref()? {
            ConnectionError::ApplicationClosed(close) => Some(Reason::from_bytes(&close.reason)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn batches_as_the_document_has_them_arrive() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let client = &mut test_bed.client;
    client.datagram(&[0, 1, 0, 9]);
    client.datagram(&[1, 0, 0, 1, 0, 8]);
    client.datagram(&[1, 0xff, 0xff, 1, 0, 7]);
    client.datagram(&[1, 0xff, 0x7f, 1, 0, 6]);
    for batch in [[2, 1, 0, 5], [2, 1, 0, 4]] {
        let stream = client.open(&batch).unwrap();
        client.finish(stream);
    }
    client.open(&[3, 1, 0, 3, 2, 0, 2, 1]).unwrap();
    client.open(&[4, 1, 0, 0, 0, 1]).unwrap();
    test_bed.run(10);
    let mut expected = vec![
        (Delivery::Unreliable, vec![1, 0, 9]),
        (Delivery::UnreliableSequenced, vec![1, 0, 8]),
        // 65535 is older than 0, and 32767 is newer.
        (Delivery::UnreliableSequenced, vec![1, 0, 6]),
        (Delivery::Reliable, vec![1, 0, 5]),
        (Delivery::Reliable, vec![1, 0, 4]),
        (Delivery::ReliableOrdered, vec![1, 0, 3]),
        (Delivery::ReliableOrdered, vec![2, 0, 2, 1]),
        (Delivery::ReliableOrderedFragmented, vec![1, 0, 0, 0, 1]),
    ];
    let key = |(delivery, batch): &(Delivery, Vec<u8>)| (format!("{delivery:?}"), batch.clone());
    expected.sort_by_key(key);
    test_bed.batches.sort_by_key(key);
    assert_eq!(test_bed.batches, expected);
}

#[test]
fn protocol_violations_end_the_connection() {
    type Act = fn(&mut RawPeer<SimulatedSocket>);
    let cases: [(&str, Act); 14] = [
        ("empty datagram or stream", |c| c.datagram(&[])),
        ("a delivery that there is not", |c| c.datagram(&[5, 1, 0, 1])),
        ("a delivery that there is not", |c| c.datagram(&[0x80, 1, 0, 1])),
        ("reliable batch in a datagram", |c| c.datagram(&[2, 1, 0, 1])),
        ("datagram without a sequence number", |c| c.datagram(&[1, 7])),
        ("unreliable batch in a stream", |c| {
            c.open(&[0, 1, 0, 1]);
        }),
        ("a delivery that there is not", |c| {
            c.open(&[255, 1, 0, 1]);
        }),
        ("batch too long", |c| {
            c.open(&[2; 1502]);
        }),
        ("batch too long", |c| {
            c.open(&[3, 0xff, 0xff]);
        }),
        ("batch too long", |c| {
            c.open(&[4, 0xff, 0xff, 0xff, 0xff]);
        }),
        ("second stream of an ordered delivery", |c| {
            c.open(&[3, 1, 0, 1]).unwrap();
            c.open(&[3, 1, 0, 1]).unwrap();
        }),
        ("unexpected end of a stream", |c| {
            let stream = c.open(&[3, 1, 0, 1]).unwrap();
            c.finish(stream);
        }),
        ("unexpected end of a stream", |c| {
            let stream = c.open(&[]).unwrap();
            c.finish(stream);
        }),
        ("stream reset", |c| {
            let stream = c.open(&[2, 1, 0]).unwrap();
            c.quinn().send_stream(stream).reset(7u32.into()).unwrap();
        }),
    ];
    for (expected, act) in cases {
        let mut test_bed = TestBed::new(QuicConfig::default());
        act(&mut test_bed.client);
        test_bed.run(20);
        let expected = Some(Reason::violation(expected));
        assert_eq!(test_bed.ended, expected);
        assert_eq!(test_bed.close_reason(), expected, "both ends have the same reason");
        let connection = test_bed.connection.unwrap();
        assert!(test_bed.server.send(connection, Delivery::Reliable, &[1, 0, 1]).is_err());
    }
}

#[test]
fn closing_during_the_handshake_is_reported_as_left() {
    let network = Network::new(LinkConfig::default(), 1);
    let address = SocketAddr::from(([10, 0, 0, 1], 7777));
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let (config, now) = (QuicConfig::default(), Duration::ZERO);
    let mut server = Quic::listen(network.socket(address), &certificate, config).unwrap();
    let socket = network.socket(([10, 0, 0, 2], 1000).into());
    let mut client = Quic::connect(socket, address, "game.example", &trust, config, now).unwrap();
    client.handle_output(now);
    server.handle_input(now);
    server.handle_output(now);
    client.close(Connection(0), &Reason::Kicked("something else".into()));
    client.handle_output(now);
    server.handle_input(now);
    let Some(Event::Refused { reason, .. }) = server.poll_event() else { panic!() };
    assert_eq!(reason, Reason::Left);
}

#[test]
fn bidirectional_streams_are_refused() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    assert_eq!(test_bed.client.quinn().streams().open(quinn_proto::Dir::Bi), None);
}

/// Many clients fill all that they can, at a server that does not read them.
#[test]
fn the_memory_of_a_server_is_bounded_by_its_limits() {
    const CLIENTS: u16 = 8;
    let config = QuicConfig::default();
    let network = Network::new(LinkConfig::default(), 1);
    let address = SocketAddr::from(([10, 0, 0, 1], 7777));
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let socket = network.socket(address);
    // A thread of its own, since allocations are counted by thread; both take turns on one clock.
    let (clock, ticks) = mpsc::sync_channel::<Duration>(0);
    let (done, turns) = mpsc::sync_channel(0);
    let server = std::thread::spawn(move || {
        let mut batches = 0;
        let measured = allocation_counter::measure(|| {
            let mut server = Quic::listen(socket, &certificate, config).unwrap();
            for now in ticks {
                server.handle_input(now);
                // The server stalls for a while.
                if now < Duration::from_secs(1) || now > Duration::from_secs(3) {
                    while let Some(event) = server.poll_event() {
                        batches += u32::from(matches!(event, Event::Batch { .. }));
                    }
                }
                server.handle_output(now);
                done.send(()).unwrap();
            }
        });
        (measured, batches)
    });
    let mut clients: Vec<_> = (0..CLIENTS)
        .map(|port| {
            let socket = network.socket(([10, 0, 0, 2], 1000 + port).into());
            (RawPeer::connect(socket, address, Duration::ZERO), None)
        })
        .collect();
    // A batch that claims 983,040 bytes.
    let mut half = vec![7; 64 << 10];
    half[..5].copy_from_slice(&[4, 0, 0, 15, 0]);
    for step in 0..4000 {
        let now = Duration::from_millis(step);
        for (client, large) in &mut clients {
            client.drive(now);
            assert_eq!(client.lost, None);
            if !client.is_connected {
                continue;
            }
            match large {
                None => *large = client.open(&half).map(|stream| (stream, 0)),
                Some((stream, sent)) if step % 64 == 0 && *sent < 13 => {
                    let _ = client.quinn().send_stream(*stream).write(&half[5..]);
                    *sent += 1;
                }
                // Endless batches, in tiny pieces, and more than the server reads.
                _ if step % 2 == 0 => drop(client.open(&[2, 1, 0]).map(u64::from)),
                _ => (0..20).for_each(|_| client.datagram(&[0, 1])),
            }
        }
        clock.send(now).unwrap();
        turns.recv().unwrap();
    }
    drop(clock);
    let (measured, batches) = server.join().unwrap();
    let QuicConfig { receive_window, max_fragmented, receive_datagrams, .. } = config;
    let receive_window = receive_window as usize;
    // The rows of docs/RELIABILITY.md: packets are kept whole while a part of them waits.
    const PACKET: usize = 1600;
    let ordered = receive_window * 5 / 2 + 2 * 2048 * 128;
    let streams = 2 * config.reliable_streams as usize * PACKET;
    let sum = ordered + max_fragmented + streams + receive_datagrams / 256 * PACKET;
    let each = measured.bytes_max / u64::from(CLIENTS);
    println!("{CLIENTS} hostile clients: {each} bytes at most each, of {sum}; {batches} batches");
    assert!(batches > 1000);
    assert_eq!(sum / 100_000, 69, "the document says 7.0 MB");
    assert!(each < sum as u64, "{measured:?}");
    // Most of the queued packets are full: their memory is far below the worst case.
    let full = receive_window + max_fragmented + receive_datagrams;
    assert!(each < 2 * full as u64, "{measured:?}");
}
