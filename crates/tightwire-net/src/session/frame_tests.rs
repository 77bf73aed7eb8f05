//! Frames between a server and its clients.

use core::time::Duration;

use tightwire_core::Wire;

use super::frames::{INPUT_FRAME, SNAPSHOT_FRAME};
use super::{Client, Server, SessionConfig, SessionEvent};
use crate::message::{FRAME_PREFIX, Message, PeerId};
use crate::reason::Reason;
use crate::transport::{InProcess, NotSentError, Transport};

#[derive(Wire, Message, Default)]
struct Jump;

/// A server and its client in one process.
struct Pair<T> {
    server: Server<(), T>,
    client: Client<(), T>,
    now: Duration,
    /// Reason of the end, as the client and the server see it.
    ends: [Option<Reason>; 2],
}

impl Pair<InProcess> {
    fn new(has_frames: [bool; 2]) -> Self {
        let (client_end, server_end) = InProcess::pair();
        Self::over(client_end, server_end, has_frames)
    }
}

impl<T: Transport> Pair<T> {
    fn over(client_end: T, server_end: T, [client_has, server_has]: [bool; 2]) -> Self {
        let config = SessionConfig::new("arena", "1.0");
        let server = Server::builder(config.clone()).send_only::<Jump>().open_to_anyone();
        let mut server = server.build(server_end).unwrap();
        let mut client = Client::builder(config).send_only::<Jump>().build(client_end).unwrap();
        if server_has {
            server.enable_frames();
        }
        if client_has {
            client.enable_frames();
        }
        let mut pair = Self { server, client, now: Duration::ZERO, ends: [None, None] };
        (0..500).for_each(|_| pair.frame());
        assert!(pair.client.server().is_some());
        pair
    }

    fn frame(&mut self) {
        self.now += Duration::from_millis(1);
        self.client.receive(self.now, &mut ());
        self.client.transmit(self.now);
        self.server.receive(self.now, &mut ());
        self.server.transmit(self.now);
        while let Some(event) = self.client.poll_event() {
            if let SessionEvent::Disconnected { reason, .. } = event {
                self.ends[0] = Some(reason);
            }
        }
        while let Some(event) = self.server.poll_event() {
            if let SessionEvent::Disconnected { reason, .. } = event {
                self.ends[1] = Some(reason);
            }
        }
    }

    fn ids(&self) -> [PeerId; 2] {
        [self.client.server().unwrap(), self.server.peers().next().unwrap()]
    }
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&[0; FRAME_PREFIX][..], body].concat()
}

#[test]
fn frames_go_both_ways() {
    let mut pair = Pair::new([true, true]);
    let [server, client] = pair.ids();
    pair.client.send_frame(server, INPUT_FRAME, &mut frame(b"left")).unwrap();
    pair.server.send_frame(client, SNAPSHOT_FRAME, &mut frame(b"world")).unwrap();
    pair.server.send_frame(client, SNAPSHOT_FRAME, &mut frame(b"")).unwrap();
    pair.frame();
    assert_eq!(pair.server.poll_frame(), Some((client, INPUT_FRAME, &b"left"[..])));
    assert_eq!(pair.server.poll_frame(), None);
    pair.frame();
    assert_eq!(pair.client.poll_frame(), Some((server, SNAPSHOT_FRAME, &b"world"[..])));
    assert_eq!(pair.client.poll_frame(), Some((server, SNAPSHOT_FRAME, &b""[..])));
    assert_eq!(pair.client.poll_frame(), None);
    assert!(pair.client.path(server).is_some_and(|path| path.max_datagram > 1000));
}

#[cfg(feature = "quic")]
#[test]
fn frames_go_over_quic() {
    use crate::link::LinkConfig;
    use crate::quic::{Network, Quic, QuicConfig};

    let network = Network::new(LinkConfig::default(), 7);
    let config = QuicConfig { seed: Some(7), ..QuicConfig::default() };
    let (client_end, server_end) = Quic::pair(&network, config).unwrap();
    let mut pair = Pair::over(client_end, server_end, [true, true]);
    let [server, client] = pair.ids();
    let room = pair.server.path(client).unwrap().max_datagram;
    let mut largest = frame(&vec![7; room - FRAME_PREFIX]);
    pair.server.send_frame(client, SNAPSHOT_FRAME, &mut largest).unwrap();
    pair.server.transmit(pair.now);
    pair.client.receive(pair.now, &mut ());
    let received = pair.client.poll_frame().map(|(from, number, body)| (from, number, body.len()));
    assert_eq!(received, Some((server, SNAPSHOT_FRAME, room - FRAME_PREFIX)));
    largest.push(0);
    let sent = pair.server.send_frame(client, SNAPSHOT_FRAME, &mut largest);
    assert!(matches!(sent, Err(NotSentError::TooLarge { .. })), "{sent:?}");
}

#[test]
fn a_session_without_frames_closes_peers_that_send_one() {
    let mut pair = Pair::new([false, false]);
    let [server, _] = pair.ids();
    pair.client.send_frame(server, INPUT_FRAME, &mut frame(b"left")).unwrap();
    (0..3).for_each(|_| pair.frame());
    let reason = Some(Reason::violation("unexpected frame 9"));
    assert_eq!(pair.ends, [reason.clone(), reason]);
}

#[test]
fn a_frame_of_the_other_direction_is_a_violation() {
    let mut pair = Pair::new([true, true]);
    let [server, client] = pair.ids();
    pair.client.send_frame(server, SNAPSHOT_FRAME, &mut frame(b"")).unwrap();
    (0..3).for_each(|_| pair.frame());
    assert_eq!(pair.ends[1], Some(Reason::violation("unexpected frame 8")));

    let mut pair = Pair::new([true, true]);
    pair.server.send_frame(client, INPUT_FRAME, &mut frame(b"")).unwrap();
    (0..3).for_each(|_| pair.frame());
    assert_eq!(pair.ends[0], Some(Reason::violation("unexpected frame 9")));
}

#[test]
fn a_flood_of_frames_is_dropped_and_counted() {
    let mut pair = Pair::new([true, true]);
    let [server, client] = pair.ids();
    for _ in 0..100 {
        pair.client.send_frame(server, INPUT_FRAME, &mut frame(&[0; 10])).unwrap();
    }
    pair.frame();
    let polled = core::iter::from_fn(|| pair.server.poll_frame().map(|_| ())).count();
    assert_eq!((polled, pair.server.frames_dropped(client)), (64, 36));
    // Those that are not polled keep their room, and the others go on.
    for _ in 0..70 {
        pair.client.send_frame(server, INPUT_FRAME, &mut frame(&[0; 10])).unwrap();
    }
    pair.frame();
    pair.client.send_frame(server, INPUT_FRAME, &mut frame(&[1; 10])).unwrap();
    pair.frame();
    let polled = core::iter::from_fn(|| pair.server.poll_frame().map(|_| ())).count();
    assert_eq!((polled, pair.server.frames_dropped(client)), (64, 43));
    assert_eq!(pair.ends, [None, None]);
}

#[test]
fn a_disconnected_peer_gets_no_frame() {
    let mut pair = Pair::new([true, true]);
    let [_, client] = pair.ids();
    pair.server.close(client, &Reason::Replaced);
    let sent = pair.server.send_frame(client, SNAPSHOT_FRAME, &mut frame(b""));
    assert!(matches!(sent, Err(NotSentError::NotConnected(_))));
    assert_eq!(pair.server.path(client), None);
    (0..3).for_each(|_| pair.frame());
    assert_eq!(pair.ends, [Some(Reason::Replaced), Some(Reason::Replaced)]);
}
