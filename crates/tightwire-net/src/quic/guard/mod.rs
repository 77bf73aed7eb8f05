//! Inspection of packets after their decryption and before QUIC handles them.
//!
//! QUIC handles all frames of a packet at once, and the cost of a frame has little to do with its
//! bytes: a packet has room for a thousand. Therefore frames are counted before, where a packet
//! with too many can still be refused, and the work of a connection is measured in frames as well
//! as in packets.

mod crypto;
mod frames;
mod pieces;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::QuicConfig;
use super::incoming::Violation;
use frames::{QuicFrame, QuicFrames};
use pieces::{Limits, Pieces};

pub(super) use crypto::{GuardedClient, GuardedServer};

/// State that a connection shares with the keys of its packets. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Guard(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    limits: PacketLimits,
    pieces: Pieces,
    is_paused: bool,
    received: ReceivedNumbers,
    /// Numbers of the newest packet that was sent, and of the newest that was acked, after the
    /// handshake; 0 if there is none.
    newest_sent: u64,
    newest_acked: u64,
    /// Work since the last [`Guard::take_work`]; [`WORK`] for each packet.
    work: u32,
    frames: u64,
    datagrams: usize,
    violation: Option<Violation>,
    /// Path challenges during a migration; `None` otherwise.
    challenges: Option<Challenges>,
    /// CRYPTO frames of initial and of handshake packets, and connection ids, since the beginning;
    /// packets that were dropped for their parts of streams.
    crypto: [u32; 2],
    ids: u32,
    refused: u32,
}

/// PATH_CHALLENGE frames to a new address of the peer.
#[derive(Debug, Default)]
struct Challenges {
    /// Challenges in packets that were just made.
    new: Vec<[u8; 8]>,
    /// Challenge that was sent to the new address.
    sent: Option<[u8; 8]>,
    is_validated: bool,
}

/// Limits of one packet, which depend on whether the peer is welcome.
#[derive(Clone, Copy, Debug)]
struct PacketLimits {
    large_pieces: u32,
    small_pieces: u32,
    streams: u32,
    is_server: bool,
}

/// The keys that a packet was encrypted with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EncryptionLevel {
    Initial,
    Handshake,
    OneRtt,
}

/// A packet that is refused before QUIC handles it.
#[derive(Debug)]
struct RefusedPacket;

/// Work of a packet.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Work {
    /// Units of work; a packet without frames has [`WORK`].
    pub(super) units: u32,
    pub(super) frames: u64,
    pub(super) violation: Option<Violation>,
}

impl Guard {
    /// Creates the guard of an unauthenticated connection.
    pub(super) fn new(is_server: bool) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            limits: PacketLimits {
                large_pieces: 256,
                small_pieces: 64,
                streams: UNAUTHENTICATED_STREAMS,
                is_server,
            },
            pieces: Pieces::default(),
            is_paused: false,
            received: ReceivedNumbers::default(),
            newest_sent: 0,
            newest_acked: 0,
            work: 0,
            frames: 0,
            datagrams: 0,
            violation: None,
            challenges: None,
            crypto: [0; 2],
            ids: 0,
            refused: 0,
        })))
    }

    /// Raises the limits for a connection that is welcome.
    pub(super) fn welcome(&self, config: &QuicConfig) {
        let mut inner = self.lock();
        // Of the ordered streams, QUIC has at most 2048.
        inner.limits.large_pieces = u32::MAX;
        // Two parts of each stream, all streams at once.
        inner.limits.small_pieces = config.reliable_streams.saturating_mul(2).max(64);
        inner.limits.streams = config.reliable_streams.saturating_add(2);
    }

    /// Prepares for a packet: sets whether the application reads streams at the moment.
    pub(super) fn prepare(&self, is_paused: bool) {
        self.lock().is_paused = is_paused;
    }

    /// Returns the work of the packet, and resets it.
    pub(super) fn take_work(&self) -> Work {
        let mut inner = self.lock();
        let Inner { work, frames, violation, .. } = &mut *inner;
        Work {
            units: core::mem::take(work),
            frames: core::mem::take(frames),
            violation: violation.take(),
        }
    }

    /// Returns the number of the next packet, after the handshake.
    pub(super) fn next_number(&self) -> u64 {
        self.lock().newest_sent.saturating_add(1)
    }

    /// Whether the packet with this number, or a newer one, is acked: QUIC has then forgotten it.
    pub(super) fn is_acked(&self, number: u64) -> bool {
        self.lock().newest_acked >= number
    }

    /// Begins or ends path validation of a new address.
    pub(super) fn set_migrating(&self, is_migrating: bool) {
        self.lock().challenges = is_migrating.then(Challenges::default);
    }

    /// Whether the new address is validated.
    pub(super) fn has_migrated(&self) -> bool {
        self.lock().challenges.as_ref().is_some_and(|challenges| challenges.is_validated)
    }

    /// Records made packets; `is_there` if they go to the new address.
    pub(super) fn handle_sent(&self, is_there: bool) {
        if let Some(challenges) = &mut self.lock().challenges {
            let new = core::mem::take(&mut challenges.new);
            if let Some(challenge) = new.last().filter(|_| is_there) {
                challenges.sent = Some(*challenge);
            }
        }
    }

    /// Counts a pair of keys that is going to be derived.
    fn handle_key_update(&self) {
        let mut inner = self.lock();
        inner.work = inner.work.saturating_add(KEY_UPDATE);
    }

    /// A packet is going to be encrypted.
    fn handle_outgoing(&self, number: u64, payload: &[u8]) {
        let mut inner = self.lock();
        inner.newest_sent = inner.newest_sent.max(number);
        let Some(challenges) = &mut inner.challenges else { return };
        let mut frames = QuicFrames::new(payload);
        while let Some(frame) = frames.take() {
            if let QuicFrame::PathChallenge(challenge) = frame {
                challenges.new.push(challenge);
            }
        }
    }

    /// Returns the number of received datagrams that were not read.
    pub(super) fn datagrams(&self) -> usize {
        self.lock().datagrams
    }

    /// Records that a datagram was read, or that there was none.
    pub(super) fn handle_datagram(&self, is_some: bool) {
        let mut inner = self.lock();
        inner.datagrams = if is_some { inner.datagrams.saturating_sub(1) } else { 0 };
    }

    /// Records that `count` parts of a stream were read, up to this offset.
    pub(super) fn handle_read(&self, stream: u64, count: u32, offset: u64) {
        self.lock().pieces.handle_read(stream, count, offset);
    }

    /// Records the end of a stream.
    pub(super) fn handle_end(&self, stream: u64) {
        self.lock().pieces.remove(stream);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a packet that is going to be decrypted.
    fn begin(&self) {
        let mut inner = self.lock();
        inner.work = inner.work.saturating_add(WORK);
    }

    /// Inspects a decrypted packet; an error if it is refused.
    fn inspect(
        &self,
        level: EncryptionLevel,
        number: u64,
        payload: &[u8],
    ) -> Result<(), RefusedPacket> {
        let mut inner = self.lock();
        let counts = inner.inspect(level, number, payload);
        // Initial packets can be forged, so they close no connection.
        if level != EncryptionLevel::Initial
            && let Err(Some(violation)) = counts
        {
            inner.violation.get_or_insert(violation);
        }
        counts.map_err(|_| RefusedPacket)
    }
}

impl Inner {
    /// Inspects a decrypted packet. An error without a violation drops the packet as if it were
    /// lost.
    fn inspect(
        &mut self,
        level: EncryptionLevel,
        number: u64,
        payload: &[u8],
    ) -> Result<(), Option<Violation>> {
        let counts = self.count(payload)?;
        if level != EncryptionLevel::OneRtt {
            // Counted apart, since Initial packets can be forged. QUIC refuses their other frames.
            let crypto = &mut self.crypto[usize::from(level == EncryptionLevel::Handshake)];
            *crypto = crypto.saturating_add(counts.crypto);
            if *crypto > MAX_CRYPTO {
                return Err(Some("too many CRYPTO frames"));
            }
            self.frames += u64::from(counts.all());
            return Ok(());
        }
        if !self.received.is_new(number) {
            // QUIC drops duplicates, which third parties can replay: no violation.
            return Ok(());
        }
        if counts.crypto > 0 && self.limits.is_server {
            return Err(Some("TLS messages after the handshake"));
        }
        self.ids += counts.ids;
        if self.ids > MAX_IDS {
            return Err(Some("too many connection ids"));
        }
        self.take_parts(payload)?;
        if let Some(challenges) = &mut self.challenges {
            challenges.is_validated |= counts.answer.is_some() && counts.answer == challenges.sent;
        }
        self.newest_acked = self.newest_acked.max(counts.newest_acked);
        self.datagrams += counts.datagrams as usize;
        self.frames += u64::from(counts.all());
        Ok(())
    }

    /// Counts the frames of a packet, up to the first beyond a limit.
    fn count(&mut self, payload: &[u8]) -> Result<FrameCounts, Option<Violation>> {
        let (mut frames, mut counts) = (QuicFrames::new(payload), FrameCounts::default());
        while !frames.is_empty() {
            match frames.take().ok_or(Some("unknown frame type"))? {
                QuicFrame::Padding => {}
                QuicFrame::Stream(_) => counts.parts += 1,
                QuicFrame::Datagram => counts.datagrams += 1,
                QuicFrame::Crypto => counts.crypto += 1,
                QuicFrame::Ack { newest, ranges } => {
                    counts.newest_acked = counts.newest_acked.max(newest);
                    counts.control += 1;
                    counts.ranges += ranges as u32;
                }
                QuicFrame::ConnectionId => {
                    counts.ids += 1;
                    counts.control += 1;
                }
                QuicFrame::PathResponse(answer) => {
                    counts.answer = Some(answer);
                    counts.control += 1;
                }
                QuicFrame::PathChallenge(_) | QuicFrame::Control => counts.control += 1,
            }
            self.work = self.work.saturating_add(1);
            if counts.control + counts.crypto > MAX_CONTROL {
                return Err(Some("too many control frames in a packet"));
            }
            if counts.parts + counts.datagrams > MAX_DATA {
                return Err(Some("too many frames in a packet"));
            }
            if counts.ranges > MAX_RANGES {
                return Err(Some("too many ranges acknowledged in a packet"));
            }
        }
        self.work = self.work.saturating_add(counts.ranges);
        Ok(counts)
    }

    fn take_parts(&mut self, payload: &[u8]) -> Result<(), Option<Violation>> {
        let limits = Limits {
            large: self.limits.large_pieces,
            small: self.limits.small_pieces,
            streams: self.limits.streams,
            is_read: !self.is_paused,
        };
        let parts = || {
            let mut frames = QuicFrames::new(payload);
            core::iter::from_fn(move || frames.take()).filter_map(|frame| match frame {
                QuicFrame::Stream(part) => Some(part),
                _ => None,
            })
        };
        if parts().any(|part| !self.pieces.admits(part, limits)) {
            self.refused += 1;
            let is_too_much = self.refused > MAX_REFUSED;
            return Err(is_too_much.then_some("too many stream fragments"));
        }
        parts().for_each(|part| self.pieces.add(part, limits));
        // On a bad network, some honest packets are refused over time.
        self.refused = self.refused.saturating_sub(1);
        Ok(())
    }
}

/// Numbers of frames of a packet.
#[derive(Default)]
struct FrameCounts {
    parts: u32,
    datagrams: u32,
    crypto: u32,
    control: u32,
    ranges: u32,
    /// Number of the newest packet that the acks are for.
    newest_acked: u64,
    ids: u32,
    /// The contents of a PATH_RESPONSE frame, if there was one.
    answer: Option<[u8; 8]>,
}

impl FrameCounts {
    fn all(&self) -> u32 {
        self.parts + self.datagrams + self.crypto + self.control
    }
}

/// Sequence numbers of received packets, as far back as QUIC itself looks.
#[derive(Debug, Default)]
struct ReceivedNumbers {
    next: u64,
    before: u128,
}

impl ReceivedNumbers {
    fn is_new(&mut self, number: u64) -> bool {
        if let Some(ahead) = number.checked_sub(self.next) {
            let shift = u32::try_from(ahead + 1).unwrap_or(u32::MAX);
            self.before = self.before.checked_shl(shift).unwrap_or(0) | 1;
            self.next = number + 1;
            return true;
        }
        let behind = self.next - 1 - number;
        let bit = u32::try_from(behind).ok().and_then(|behind| 1u128.checked_shl(behind));
        let Some(bit) = bit else { return false };
        let is_new = self.before & bit == 0;
        self.before |= bit;
        is_new
    }
}

/// Largest number of streams of an unauthenticated connection: the two ordered ones, and a few
/// more.
pub(super) const UNAUTHENTICATED_STREAMS: u32 = 8;
/// Work of a packet, where that of a frame is one: a frame takes about 50 nanoseconds, and
/// decryption of a packet with its overhead about 1500.
pub(super) const WORK: u32 = 32;
/// Work of a key update: six expansions of secrets, of about a microsecond each.
const KEY_UPDATE: u32 = 4 * WORK;
/// Limit of frames with data: as many as fit into 1500 bytes if each has the smallest batch there
/// is.
const MAX_DATA: u32 = 300;
/// Limit of other frames: an honest packet has about five, and at the beginning as many ids as
/// there can be.
const MAX_CONTROL: u32 = 32;
/// Limit of ranges in acks: QUIC sends 64 in our configuration.
const MAX_RANGES: u32 = 128;
/// Limit of CRYPTO frames of a handshake, which takes one or two in each direction, and more if
/// some are lost.
const MAX_CRYPTO: u32 = 64;
/// Connection ids that are given out or given back: some at the beginning, and one for each change
/// of address.
const MAX_IDS: u32 = 1024;
/// Packets that were dropped since there are too many parts of streams: then it is on purpose.
const MAX_REFUSED: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_new_once() {
        let mut received = ReceivedNumbers::default();
        for number in [0, 1, 5, 3, 200, 100, 199, 1 << 40] {
            assert!(received.is_new(number), "{number}");
            assert!(!received.is_new(number), "{number}");
        }
        assert!(!received.is_new(200), "too old to tell");
    }

    #[test]
    fn retransmitted_packets_are_no_violation() {
        let guard = Guard::new(true);
        for number in [0, 0, 0] {
            guard.begin();
            assert!(guard.inspect(EncryptionLevel::OneRtt, number, &[0x19, 0, 1, 0, 0]).is_ok());
        }
        let work = guard.take_work();
        assert_eq!((work.units, work.frames), (3 * (WORK + 3), 2));
        assert_eq!(guard.lock().ids, 1);
        assert_eq!(guard.take_work().units, 0);
    }

    #[test]
    fn violations_are_named() {
        for (name, level, payload) in [
            ("too many control frames in a packet", EncryptionLevel::OneRtt, vec![1; 40]),
            ("too many frames in a packet", EncryptionLevel::OneRtt, [0x31, 1, 7].repeat(301)),
            ("unknown frame type", EncryptionLevel::Handshake, vec![0x21]),
            ("TLS messages after the handshake", EncryptionLevel::OneRtt, vec![6, 0, 1, 7]),
            ("too many ranges acknowledged in a packet", EncryptionLevel::OneRtt, {
                [&[2, 0x7f, 0xff, 0, 0x40, 200, 0][..], &[0; 400]].concat()
            }),
        ] {
            let guard = Guard::new(true);
            assert!(guard.inspect(level, 0, &payload).is_err(), "{name}");
            assert_eq!(guard.take_work().violation, Some(name));
            // Initial packets can be forged, so they close no connection.
            assert!(
                guard.inspect(EncryptionLevel::Initial, 0, &payload).is_err()
                    == (level != EncryptionLevel::OneRtt
                        || name != "TLS messages after the handshake")
            );
            assert_eq!(guard.take_work().violation, None);
        }
    }
}
