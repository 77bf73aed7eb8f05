//! Received frames that wait for Play.

use core::ops::Range;

use crate::message::PeerId;

/// Frame with a snapshot, from a server.
pub(crate) const SNAPSHOT_FRAME: u8 = 8;

/// Frame with inputs, from a client.
pub(crate) const INPUT_FRAME: u8 = 9;

/// Received frames that were not polled yet, in memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bodies of all frames, one after the other.
    bytes: Vec<u8>,
    frames: Vec<Frame>,
    /// Index of the next frame to be polled.
    next: usize,
}

#[derive(Debug)]
struct Frame {
    peer: PeerId,
    number: u8,
    body: Range<usize>,
}

/// Room of a peer for frames that wait. It is a limit per peer, so that one that floods does not
/// take the room of another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameQuota {
    frames: usize,
    bytes: usize,
    /// Frames that were dropped since too many waited.
    pub(super) dropped: u64,
}

impl Frames {
    /// Keeps a frame, or drops and counts it if too many of its peer wait.
    pub(super) fn push(&mut self, peer: PeerId, number: u8, body: &[u8], quota: &mut FrameQuota) {
        let bytes = quota.bytes.saturating_add(body.len());
        if quota.frames >= MAX_FRAMES || bytes > MAX_BYTES {
            quota.dropped += 1;
            return;
        }
        quota.frames += 1;
        quota.bytes = bytes;
        let start = self.bytes.len();
        if self.frames.capacity() == 0 {
            self.frames.reserve(MAX_FRAMES);
        }
        self.bytes.extend_from_slice(body);
        self.frames.push(Frame { peer, number, body: start..self.bytes.len() });
    }

    /// Returns the next frame, in the order in which they came.
    pub(super) fn poll(&mut self) -> Option<(PeerId, u8, &[u8])> {
        let Frame { peer, number, body } = self.frames.get(self.next)?;
        self.next += 1;
        Some((*peer, *number, self.bytes.get(body.clone())?))
    }

    /// Begins to receive: frees the memory of polled frames. `false` if some were not polled, whose
    /// peers then have less room.
    pub(super) fn begin(&mut self) -> bool {
        if self.next < self.frames.len() {
            return false;
        }
        self.next = 0;
        self.frames.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        true
    }
}

impl FrameQuota {
    /// Resets the quota of the peer.
    pub(super) fn restart(&mut self) {
        (self.frames, self.bytes) = (0, 0);
    }
}

/// Largest number of frames of a peer that wait.
const MAX_FRAMES: usize = 64;

/// Largest number of bytes of a peer's frames that wait: as many frames of the largest datagrams.
const MAX_BYTES: usize = MAX_FRAMES * 1500;

/// Bytes of memory that are kept for later frames.
const KEPT_BYTES: usize = 256 << 10;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::message::{Messenger, MessengerConfig};

    fn peers() -> [PeerId; 2] {
        let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).build().unwrap();
        [1200, 1200].map(|mtu| messenger.add_peer(mtu))
    }

    #[test]
    fn frames_come_in_their_order_and_once() {
        let [one, two] = peers();
        let (mut frames, mut quota) = (Frames::default(), FrameQuota::default());
        frames.push(one, 8, &[1, 2], &mut quota);
        frames.push(two, 9, &[], &mut quota);
        assert_eq!(frames.poll(), Some((one, 8, &[1, 2][..])));
        assert!(!frames.begin());
        assert_eq!(frames.poll(), Some((two, 9, &[][..])));
        assert_eq!(frames.poll(), None);
        assert!(frames.begin());
        assert_eq!(frames.poll(), None);
    }

    #[test]
    fn a_peer_that_floods_loses_its_own_frames_only() {
        let [hostile, honest] = peers();
        let (mut frames, mut quotas) = (Frames::default(), [FrameQuota::default(); 2]);
        for _ in 0..1000 {
            frames.push(hostile, 9, &[0; 1200], &mut quotas[0]);
        }
        frames.push(honest, 9, &[7], &mut quotas[1]);
        assert_eq!((quotas[0].dropped, quotas[1].dropped), (936, 0));
        let mut of = [0, 0];
        while let Some((peer, ..)) = frames.poll() {
            of[usize::from(peer == honest)] += 1;
        }
        assert_eq!(of, [64, 1]);
        // The next time, the peer has room again.
        assert!(frames.begin());
        quotas[0].restart();
        frames.push(hostile, 9, &[0; 96_001], &mut quotas[0]);
        assert_eq!(frames.poll(), None);
        frames.push(hostile, 9, &[0; 96_000], &mut quotas[0]);
        assert!(frames.poll().is_some());
    }

    #[test]
    fn memory_of_many_frames_is_given_back() {
        let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).build().unwrap();
        let mut frames = Frames::default();
        for _ in 0..64 {
            let (peer, mut quota) = (messenger.add_peer(1200), FrameQuota::default());
            (0..64).for_each(|_| frames.push(peer, 9, &[0; 1200], &mut quota));
        }
        while frames.poll().is_some() {}
        assert!(frames.bytes.capacity() > 4 << 20);
        assert!(frames.begin());
        assert!(frames.bytes.capacity() <= KEPT_BYTES);
    }
}
