//! A client made of packets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use tightwire::quic::{Packets, Socket};
use tightwire::transport::Reason;

use super::frames::{self, ReceivedFrame};
use super::handshake::{Handshake, ParameterChange};
use super::packet::{Header, Level, Opened, open, seal};

/// A client under the control of a test: by itself, it only completes the handshake.
pub(crate) struct HandPeer<S> {
    pub(crate) socket: S,
    server: SocketAddr,
    handshake: Handshake,
    /// The server's id: at first one of our choice.
    destination: Vec<u8>,
    has_answer: bool,
    source: [u8; 8],
    token: Vec<u8>,
    key_phase: bool,
    spaces: [Space; 3],
    /// Whether the peer acks packets.
    pub(crate) acknowledges: bool,
    /// Whether it answers a Retry and then goes no further.
    pub(crate) stops_half_way: bool,
    /// Code and reason of the end.
    pub(crate) closed: Option<(u64, Vec<u8>)>,
    /// Contiguous stream data, by stream number.
    pub(crate) streams: BTreeMap<u64, Vec<u8>>,
    /// Challenges to show where it is.
    pub(crate) challenges: Vec<[u8; 8]>,
    /// Further ids of the server, by their sequence number.
    pub(crate) issued: BTreeMap<u64, Vec<u8>>,
}

#[derive(Default)]
struct Space {
    next: u32,
    received: BTreeSet<u64>,
    wants_ack: bool,
}

impl<S: Socket> HandPeer<S> {
    pub(crate) fn new(socket: S, server: SocketAddr, seed: u64) -> Self {
        Self::with_parameters(socket, server, seed, &[])
    }

    /// Returns a client with these changes of its transport parameters.
    pub(crate) fn with_parameters(
        socket: S,
        server: SocketAddr,
        seed: u64,
        changes: &[ParameterChange],
    ) -> Self {
        let destination = (seed ^ 0x5555_5555_5555_5555).to_be_bytes().to_vec();
        let source = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let mut handshake = Handshake::new(&source, changes);
        handshake.set_destination(&destination);
        Self {
            socket,
            server,
            handshake,
            destination,
            has_answer: false,
            source,
            token: Vec::new(),
            key_phase: false,
            spaces: Default::default(),
            acknowledges: true,
            stops_half_way: false,
            closed: None,
            streams: BTreeMap::new(),
            challenges: Vec::new(),
            issued: BTreeMap::new(),
        }
    }

    /// Whether the server has answered the first packet.
    pub(crate) fn has_answer(&self) -> bool {
        self.has_answer
    }

    /// Returns the server's id that packets go to.
    pub(crate) fn destination(&self) -> &[u8] {
        &self.destination
    }

    /// Lets the first packet go to an id of the test's choice.
    pub(crate) fn set_destination(&mut self, destination: &[u8]) {
        self.handshake.set_destination(destination);
        self.destination = destination.to_vec();
    }

    /// Returns the number of packets that were received after the handshake.
    pub(crate) fn received(&self) -> usize {
        self.spaces[Level::OneRtt as usize].received.len()
    }

    /// Returns the first received packet after the handshake with this number or a larger one.
    pub(crate) fn received_from(&self, number: u64) -> Option<u64> {
        self.spaces[Level::OneRtt as usize].received.range(number..).next().copied()
    }

    /// Sends to another id of the server from now on.
    pub(crate) fn switch_destination(&mut self, sequence: u64) {
        self.destination.clone_from(&self.issued[&sequence]);
    }

    /// Protects the packets after the handshake with the next keys from now on.
    pub(crate) fn update_keys(&mut self) {
        self.handshake.update_keys();
        self.key_phase = !self.key_phase;
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.handshake.keys[2].is_some() && self.closed.is_none()
    }

    /// Returns the close reason from the server, if it sent one.
    pub(crate) fn close_reason(&self) -> Option<Reason> {
        self.closed.as_ref().map(|(_, reason)| Reason::from_bytes(reason))
    }

    /// A packet with these frames.
    pub(crate) fn packet(&mut self, level: Level, payload: &[u8]) -> Vec<u8> {
        let space = &mut self.spaces[level as usize];
        let number = space.next;
        space.next += 1;
        let (destination, source, token) = (&self.destination, &self.source, &self.token);
        let header = Header { level, destination, source, token, key_phase: self.key_phase };
        seal(&self.handshake.keys[level as usize].as_ref().unwrap().local, &header, number, payload)
    }

    /// Sends a packet with these frames.
    pub(crate) fn send(&mut self, now: Duration, level: Level, payload: &[u8]) {
        let packet = self.packet(level, payload);
        self.send_bytes(now, &packet);
    }

    pub(crate) fn send_bytes(&mut self, now: Duration, bytes: &[u8]) {
        let size = bytes.len();
        let packets = Packets { to: self.server, from: None, congestion: 0, bytes, size };
        self.socket.send(now, &packets);
    }

    /// Handles received packets, and continues the handshake.
    pub(crate) fn drive(&mut self, now: Duration) {
        let mut datagrams = Vec::new();
        self.socket.receive(now, &mut |packet| {
            datagrams.push(packet.bytes.to_vec());
            true
        });
        for datagram in datagrams {
            self.take(&datagram);
        }
        if self.stops_half_way && self.has_answer {
            return;
        }
        for (level, offset, bytes) in std::mem::take(&mut self.handshake.out) {
            let mut payload = frames::crypto(offset, &bytes);
            if level == Level::Initial {
                payload.resize(FIRST.max(payload.len()), 0);
            }
            self.send(now, level, &payload);
        }
        for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
            let wants_ack = std::mem::take(&mut self.spaces[level as usize].wants_ack);
            if wants_ack && self.acknowledges {
                let payload = self.ack(level);
                self.send(now, level, &payload);
            }
        }
    }

    /// Acknowledges everything that came.
    pub(crate) fn ack(&self, level: Level) -> Vec<u8> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for &number in self.spaces[level as usize].received.iter().rev().take(200) {
            match ranges.last_mut() {
                Some((low, _)) if *low == number + 1 => *low = number,
                _ => ranges.push((number, number)),
            }
        }
        let (low, high) = ranges[0];
        let mut pairs = Vec::new();
        let mut last = low;
        for (low, high) in &ranges[1..] {
            pairs.push((last - high - 2, high - low));
            last = *low;
        }
        frames::ack(high, high - low, &pairs)
    }

    fn take(&mut self, datagram: &[u8]) {
        let mut rest = datagram;
        while !rest.is_empty() {
            let largest =
                [0, 1, 2].map(|at: usize| self.spaces[at].received.last().copied().unwrap_or(0));
            match open(&mut rest, self.source.len(), &self.handshake.keys, largest) {
                Some(Opened::Packet { level, number, source, payload }) => {
                    if level == Level::Initial && !self.has_answer {
                        self.has_answer = true;
                        self.destination = source;
                    }
                    let wants_ack = self.take_frames(level, &payload);
                    let space = &mut self.spaces[level as usize];
                    space.received.insert(number);
                    space.wants_ack |= wants_ack;
                }
                Some(Opened::Retry { source, token }) if self.token.is_empty() => {
                    self.handshake.set_destination(&source);
                    (self.destination, self.token) = (source, token);
                    self.handshake.restart();
                }
                Some(Opened::Retry { .. }) | None => return,
            }
        }
    }

    /// Whether they are to be acknowledged.
    fn take_frames(&mut self, level: Level, mut payload: &[u8]) -> bool {
        let mut wants_ack = false;
        while !payload.is_empty() {
            let frame = frames::take(&mut payload).expect("a frame of the server");
            wants_ack |= !matches!(frame, ReceivedFrame::Ack | ReceivedFrame::Padding);
            match frame {
                ReceivedFrame::Crypto { offset, data } => self.handshake.read(level, offset, data),
                ReceivedFrame::Stream { id, offset, data } => {
                    let stream = self.streams.entry(id).or_default();
                    let known = stream.len().saturating_sub(offset as usize);
                    if offset as usize <= stream.len() && known < data.len() {
                        stream.extend(&data[known..]);
                    }
                }
                ReceivedFrame::Id { sequence, id } => {
                    self.issued.insert(sequence, id.to_vec());
                }
                ReceivedFrame::Challenge(token) => self.challenges.push(token),
                ReceivedFrame::Closed { code, reason } => {
                    self.closed = Some((code, reason.to_vec()));
                }
                ReceivedFrame::Padding | ReceivedFrame::Ack | ReceivedFrame::Other => {}
            }
        }
        wants_ack
    }
}

/// The frames of a first packet have as many bytes, so that the packet has 1200.
const FIRST: usize = 1180;
