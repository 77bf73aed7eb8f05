//! QUIC frames after decryption, as the guard between decryption and QUIC judges them.

mod keys;
mod model;
mod payloads;
mod incoming {
    pub(super) type Violation = &'static str;
}
#[allow(dead_code, unused_imports, reason = "a part of the transport")]
#[path = "../../../../crates/tightwire-net/src/quic/guard/mod.rs"]
mod guard;

use std::collections::BTreeSet;

use allocation_counter::measure;
use bytes::BytesMut;
use guard::{Guard, UNAUTHENTICATED_STREAMS, WORK};
use keys::Levels;
use model::{Counts, Part, Streams};
use payloads::{add_part, parts, stream_id};
use tightwire::quic::QuicConfig;

const INITIAL: usize = 0;
const ONE_RTT: usize = 2;
const RELIABLE_STREAMS: u32 = 40;
/// Largest payload of a packet, in bytes.
const MAX_PAYLOAD: usize = 1452;

/// Checks the packets of a peer with the keys, and the actions of the application between them.
///
/// The first byte chooses the side, and what came before. Then each action begins with a byte: its
/// three lowest bits are the kind, as [`Room::act`] has them, and the others are for that.
pub(crate) fn frames(data: &[u8]) {
    let Some((choice, mut data)) = data.split_first() else { return };
    let mut room = Room::new(choice & 1 == 0);
    room.begin(choice >> 1);
    while room.act(&mut data).is_some() {}
    room.check_memory_is_returned();
}

struct Room {
    guard: Guard,
    keys: Levels,
    is_server: bool,
    is_welcome: bool,
    is_paused: bool,
    /// Actions and bytes of packets that are left: long inputs would only be slow.
    actions: u32,
    bytes: usize,
    /// Memory that the guard keeps, in bytes.
    kept: i64,
    next: u64,
    seen: BTreeSet<u64>,
    crypto: [u32; 2],
    ids: u32,
    refused: u32,
    datagrams: usize,
    challenge: Challenge,
    streams: Streams,
}

/// The last challenge to an address that the peer says to have moved to.
#[derive(Default)]
struct Challenge {
    is_migrating: bool,
    made: Option<[u8; 8]>,
    sent: Option<[u8; 8]>,
    has_answered: bool,
}

fn byte(data: &mut &[u8]) -> Option<u8> {
    data.split_off_first().copied()
}

impl Room {
    fn new(is_server: bool) -> Self {
        let guard = Guard::new(is_server);
        let keys = keys::levels(&guard);
        let mut room = Self {
            guard,
            keys,
            is_server,
            is_welcome: false,
            is_paused: false,
            actions: 16,
            bytes: 1024,
            kept: 0,
            next: 0,
            seen: BTreeSet::new(),
            crypto: [0; 2],
            ids: 0,
            refused: 0,
            datagrams: 0,
            challenge: Challenge::default(),
            streams: Streams::default(),
        };
        if !is_server {
            room.welcome();
        }
        room
    }

    /// Brings the guard near a limit that takes many packets to reach.
    fn begin(&mut self, choice: u8) {
        let (count, level, payload) = match choice {
            // As many ids as there can be, but for a few.
            120 => (32, ONE_RTT, [0x19, 0].repeat(31)),
            // Packets that are refused, since the stream has enough parts that wait.
            121..=123 => {
                self.packet(ONE_RTT, 0, &parts(self.is_server, 3, 1, 20));
                self.packet(ONE_RTT, 0, &parts(self.is_server, 4, 1, 20));
                self.packet(ONE_RTT, 0, &parts(self.is_server, 5, 1, 20));
                (if choice == 121 { 254 } else { 0 }, ONE_RTT, parts(self.is_server, 5, 99, 1))
            }
            124 => (3, INITIAL, [6, 0, 1, 7].repeat(20)),
            125 => (3, 1, [6, 0, 1, 7].repeat(20)),
            126 => (1, ONE_RTT, parts(self.is_server, 7, 0, 60)),
            _ => return,
        };
        (0..count).for_each(|_| _ = self.packet(level, 0, &payload));
    }

    /// Takes an action off the data: 0 to 2 are a packet with this payload, 3 one of a handshake, 4
    /// one with a frame many times, 5 one with fragments, 6 what the application does. None at the
    /// end, and when the connection ends.
    fn act(&mut self, data: &mut &[u8]) -> Option<()> {
        self.actions = self.actions.checked_sub(1)?;
        let control = byte(data)?;
        let choice = control >> 3;
        match control & 7 {
            0..=2 => {
                let length = usize::from(byte(data)?).min(data.len());
                let payload = data.split_off(..length)?;
                self.packet(ONE_RTT, choice, payload)
            }
            3 => {
                let length = usize::from(byte(data)?).min(data.len());
                let payload = data.split_off(..length)?;
                self.packet(usize::from(choice & 1), choice >> 1, payload)
            }
            4 => {
                let (length, count) = (usize::from(byte(data)? % 32), usize::from(byte(data)?));
                let frame = data.split_off(..length.min(data.len()))?;
                let room = MAX_PAYLOAD.min(self.bytes) / frame.len().max(1);
                let payload = frame.repeat((2 * count).min(room));
                self.bytes -= payload.len();
                self.packet(ONE_RTT, choice, &payload)
            }
            5 => {
                let &[stream, streams, offset, step, count] = data.split_off(..5)?.first_chunk()?;
                let mut payload = Vec::new();
                for at in 0..u64::from(count).min(self.bytes as u64 / 11) {
                    let index = u64::from(stream) + at % (u64::from(streams) + 1);
                    let id = stream_id(self.is_server, index);
                    add_part(&mut payload, id, u64::from(offset) + at * u64::from(step % 8));
                }
                self.bytes -= payload.len();
                self.packet(ONE_RTT, choice, &payload)
            }
            6 => self.application(choice, byte(data)?, data),
            _ => {
                self.actions = self.actions.checked_sub(6)?;
                self.check_drained()
            }
        }
    }

    fn application(&mut self, choice: u8, which: u8, data: &mut &[u8]) -> Option<()> {
        match choice % 8 {
            0 => {
                if let Some((id, count, offset)) = self.streams.read(which.into()) {
                    self.run(|guard| guard.handle_read(id, count, offset));
                }
            }
            1 => {
                if let Some(id) = self.streams.end(which.into()) {
                    self.run(|guard| guard.handle_end(id));
                }
            }
            2 => {
                let is_some = which & 1 == 1 && self.datagrams > 0;
                self.datagrams = if is_some { self.datagrams - 1 } else { 0 };
                self.run(|guard| guard.handle_datagram(is_some));
            }
            3 => self.is_paused = which & 1 == 1,
            4 => self.welcome(),
            5 => {
                let is_migrating = which & 1 == 1;
                self.challenge = Challenge { is_migrating, ..Challenge::default() };
                self.run(|guard| guard.set_migrating(is_migrating));
            }
            6 => {
                let payload = data.split_off(..usize::from(which).min(data.len()))?;
                self.send(payload);
            }
            _ => {
                let is_there = which & 1 == 1;
                if let Some(made) = self.challenge.made.take().filter(|_| is_there) {
                    self.challenge.sent = Some(made);
                }
                self.run(|guard| guard.handle_sent(is_there));
            }
        }
        Some(())
    }

    /// The application lets the peer in.
    fn welcome(&mut self) {
        self.is_welcome = true;
        let config = QuicConfig { reliable_streams: RELIABLE_STREAMS, ..QuicConfig::default() };
        self.run(|guard| guard.welcome(&config));
    }

    /// Sends a packet with a challenge, if the payload has one.
    fn send(&mut self, payload: &[u8]) {
        let mut packet = [0x1a; 9];
        let length = payload.len().min(8);
        packet[1..=length].copy_from_slice(&payload[..length]);
        if self.challenge.is_migrating {
            self.challenge.made = packet[1..].first_chunk().copied();
        }
        let [.., keys] = &self.keys;
        let memory = measure(|| keys.local.encrypt(0, &mut packet, 0));
        self.kept += memory.bytes_current;
        self.check_memory(memory.bytes_max);
    }

    /// Calls the guard, and counts its memory.
    fn run(&mut self, call: impl FnOnce(&Guard)) {
        let memory = measure(|| call(&self.guard));
        self.kept += memory.bytes_current;
        self.check_memory(memory.bytes_max);
    }

    fn check_memory(&self, most: u64) {
        let limit = if self.is_welcome { 16 << 10 } else { 2 << 10 };
        assert!(most < limit, "{most} bytes in a call");
        assert!(self.kept < limit as i64, "{} bytes are kept", self.kept);
    }

    /// The guard inspects a packet; None if the connection ends.
    fn packet(&mut self, level: usize, choice: u8, payload: &[u8]) -> Option<()> {
        let number = match choice {
            0..=15 => self.next,
            16..=23 => self.next + u64::from(choice),
            24 => self.next + 1000,
            _ => self.next.saturating_sub(u64::from(choice - 24) * 20),
        };
        let (counts, malformed) = Counts::of(payload);
        let is_paused = self.is_paused;
        self.run(|guard| guard.prepare(is_paused));
        let mut buffer = BytesMut::from(payload);
        let mut is_taken = false;
        let keys = &self.keys[level].remote;
        let memory = measure(|| is_taken = keys.decrypt(number, &[], &mut buffer).is_ok());
        self.kept += memory.bytes_current;
        self.check_memory(memory.bytes_max);
        assert!(memory.count_total < 200, "{} allocations", memory.count_total);
        assert_eq!(&buffer[..], payload, "QUIC gets it unchanged");

        let work = self.guard.take_work();
        let ranges = if malformed.is_some() { 0 } else { counts.ranges };
        assert_eq!(work.units, WORK + counts.frames + ranges);
        assert!(work.units < 1000, "{} units", work.units);
        assert!(is_taken || work.frames == 0, "frames of a packet that is dropped");

        let expected =
            malformed.map_or_else(|| self.judge(level, number, &counts), Judged::Refused);
        match expected {
            Judged::Refused(reason) => {
                assert!(!is_taken, "{reason}");
                let named = Some(reason).filter(|_| level != INITIAL);
                assert_eq!(work.violation, named);
                // Anybody can make initial packets, and they change nothing for others.
                (level == INITIAL).then_some(())
            }
            Judged::Dropped => {
                assert!(is_taken && work.violation.is_none() && work.frames == 0);
                Some(())
            }
            Judged::Fine => {
                self.check_parts(&counts, is_taken, work.violation)?;
                if is_taken {
                    self.datagrams += counts.datagrams as usize;
                    if let Some(answer) = counts.answer {
                        self.challenge.has_answered |= self.challenge.sent == Some(answer);
                    }
                }
                assert_eq!(self.guard.datagrams(), self.datagrams);
                assert_eq!(self.guard.has_migrated(), self.challenge.has_answered);
                Some(())
            }
            Judged::Handshake => {
                assert!(is_taken && work.violation.is_none());
                // QUIC ends the connection for any other frame at these levels.
                let is_other = !counts.parts.is_empty() || counts.datagrams + counts.ids > 0;
                (!is_other).then_some(())
            }
        }
    }

    /// Everything but the parts of streams.
    fn judge(&mut self, level: usize, number: u64, counts: &Counts) -> Judged {
        if let Some(crypto) = self.crypto.get_mut(level) {
            *crypto += counts.crypto;
            let is_too_many = *crypto > 64;
            return match is_too_many {
                true => Judged::Refused("too many CRYPTO frames"),
                false => Judged::Handshake,
            };
        }
        let is_old = number + 128 < self.next;
        if is_old || !self.seen.insert(number) {
            return Judged::Dropped;
        }
        self.next = self.next.max(number + 1);
        if self.is_server && counts.crypto > 0 {
            return Judged::Refused("TLS messages after the handshake");
        }
        self.ids += counts.ids;
        if self.ids > 1024 {
            return Judged::Refused("too many connection ids");
        }
        Judged::Fine
    }

    /// Whether parts of streams were refused for a reason, and how many wait.
    fn check_parts(
        &mut self,
        counts: &Counts,
        is_taken: bool,
        violation: Option<&'static str>,
    ) -> Option<()> {
        if !is_taken {
            self.refused += 1;
            let is_too_much = self.refused > 256;
            assert_eq!(violation, is_too_much.then_some("too many stream fragments"));
            let is_honest = |part: &Part| self.streams.is_honest(*part);
            assert!(self.is_paused || !counts.parts.iter().all(is_honest), "an honest packet");
            return (!is_too_much).then_some(());
        }
        assert_eq!(violation, None);
        self.refused = self.refused.saturating_sub(1);
        let most = if self.is_welcome { RELIABLE_STREAMS + 2 } else { UNAUTHENTICATED_STREAMS };
        for part in &counts.parts {
            if !self.streams.admits(*part, self.is_server, most) {
                return None;
            }
            self.streams.add(*part);
        }
        // A packet can go beyond a limit by its own parts.
        let [first, second, third, others] = self.streams.behind_gaps();
        let (large, small) = if self.is_welcome { (usize::MAX, 80) } else { (556, 64) };
        assert!(first.max(second) <= large, "{first} and {second} parts behind gaps");
        assert!(third <= 316 && others <= small + 300, "{third}, {others} parts behind gaps");
        Some(())
    }

    /// When all streams have ended, there is room for as much as in the beginning.
    fn check_drained(&mut self) -> Option<()> {
        while let Some(id) = self.streams.end(0) {
            self.run(|guard| guard.handle_end(id));
        }
        let fresh: Vec<_> = self.streams.fresh(self.is_server).take(4).collect();
        for id in fresh {
            let payload = parts(self.is_server, id >> 2, 1, 16);
            let refused = self.refused;
            self.packet(ONE_RTT, 0, &payload)?;
            assert!(self.refused <= refused, "stream {id}: the guard counts what is over");
        }
        while let Some(id) = self.streams.end(0) {
            self.run(|guard| guard.handle_end(id));
        }
        Some(())
    }

    /// Nothing is left when the connection ends.
    fn check_memory_is_returned(self) {
        let Self { guard, keys, kept, .. } = self;
        let memory = measure(|| drop((guard, keys)));
        assert!(memory.bytes_current <= -kept, "{} bytes are left", memory.bytes_current + kept);
    }
}

/// Judgement of a packet, but for its parts of streams.
enum Judged {
    /// QUIC must not have it.
    Refused(&'static str),
    /// QUIC drops it, since it had one of this number.
    Dropped,
    Handshake,
    Fine,
}
