//! The bytes that may be sent to a peer.
//!
//! [`Budget`] is a token bucket whose rate is a share of what congestion control allows, so that a
//! snapshot does not queue behind an older one.

use std::time::Duration;

use crate::transport::Path;

/// Token bucket of the bytes to a peer.
///
/// Each `send` calls [`refill`](Self::refill), which also subtracts the bytes that the connection
/// sent besides snapshots. Then [`snapshot`](Self::snapshot) is the budget of the snapshot,
/// [`spend`](Self::spend) subtracts the bytes that were sent, and [`background`](Self::background)
/// is the rest, for assets.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Largest rate in bytes per second; `None` if only the connection limits it.
    max_rate: Option<u32>,
    /// Duration of a tick in seconds.
    tick: f64,
    /// Bytes in the bucket. Negative, a debt, if snapshots of [`LEAST_SNAPSHOT`] bytes exceed the
    /// rate.
    bytes: f64,
    /// Capacity of the bucket in bytes, and the debt at which snapshots stop.
    cap: f64,
    /// Rate in bytes per second, as of the last refill.
    rate: f64,
    /// Time of the last refill; `None` before the first.
    filled_at: Option<Duration>,
    /// Bytes of a second bucket, refilled at half the rate: assets get what snapshots and messages
    /// leave in it.
    half: f64,
    max_datagram: usize,
    datagram_room: usize,
    /// Bytes that the connection had sent at the last refill; `None` before the first.
    sent_before: Option<u64>,
    /// Bytes of snapshots and assets since the last refill.
    spent: u64,
}

impl Budget {
    /// Creates a bucket that is full at the first refill. A `max_rate` of 0 means no limit.
    pub(crate) fn new(max_rate: u32, tick_rate: u32) -> Self {
        Self {
            max_rate: (max_rate > 0).then_some(max_rate),
            tick: 1.0 / f64::from(tick_rate.max(1)),
            bytes: 0.0,
            cap: 0.0,
            rate: 0.0,
            filled_at: None,
            half: 0.0,
            max_datagram: 0,
            datagram_room: 0,
            sent_before: None,
            spent: 0,
        }
    }

    /// Sets the largest rate in bytes per second; 0 means no limit.
    pub(crate) fn set_max_rate(&mut self, max_rate: u32) {
        self.max_rate = (max_rate > 0).then_some(max_rate);
    }

    /// Rate in bytes per second, as of the last refill.
    #[cfg(test)]
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Adds the bytes since the last refill, at the rate that the path allows.
    pub(crate) fn refill(&mut self, now: Duration, path: &Path) {
        let seconds = path.round_trip.max(LEAST_ROUND_TRIP).as_secs_f64();
        let allowed = path.window.map_or(f64::MAX, |window| WINDOW_SHARE * window as f64 / seconds);
        self.rate = allowed.min(self.max_rate.map_or(UNLIMITED, f64::from)).min(UNLIMITED);
        self.max_datagram = path.max_datagram;
        self.datagram_room = path.datagram_room;
        let cap = (CAP_TICKS * self.tick * self.rate).max(path.max_datagram as f64);
        self.cap = cap;
        let elapsed = self.filled_at.map(|before| now.saturating_sub(before).as_secs_f64());
        let added = elapsed.map_or(cap, |seconds| seconds * self.rate);
        // Bounds the debt, since the capacity may be lower than before.
        self.bytes = (self.bytes + added).clamp(-2.0 * cap, cap);
        let half = 0.5 * elapsed.map_or(0.0, |seconds| seconds * self.rate);
        self.half = (self.half + half).clamp(-2.0 * cap, cap);
        self.filled_at = self.filled_at.max(Some(now));
        // Bytes of messages, acks, retransmits and headers. A new connection counts from 0 again.
        let before = self.sent_before.replace(path.bytes_sent).unwrap_or(path.bytes_sent);
        let beside = path.bytes_sent.saturating_sub(before).saturating_sub(self.spent);
        self.spent = 0;
        self.bytes = (self.bytes - beside as f64).max(-2.0 * cap);
        self.half -= beside as f64;
    }

    /// Budget in bytes of the next snapshot and the play header before it. `None` if no snapshot is
    /// sent now: it would wait in the transport until there is a newer one, or the debt is at its
    /// limit.
    pub(crate) fn snapshot(&self) -> Option<usize> {
        let largest = self.max_datagram.saturating_sub(BATCH_BYTES);
        let budget = (self.bytes as usize).max(LEAST_SNAPSHOT).min(largest);
        let is_sent = self.bytes > -self.cap && self.datagram_room >= budget + BATCH_BYTES;
        is_sent.then_some(budget)
    }

    /// Bytes for assets: those of half the rate, less all bytes that were sent.
    pub(crate) fn background(&self) -> usize {
        self.half.min(self.bytes) as usize
    }

    /// Subtracts bytes that were sent, including the headers of their batches.
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.bytes -= bytes as f64;
        self.half -= bytes as f64;
        self.spent = self.spent.saturating_add(bytes as u64);
    }
}

/// Returns whether a snapshot is sent in this tick. `last` is the tick of the last snapshot, and
/// `in_flight` the number of snapshots in flight. While no acks arrive, snapshots become rarer, so
/// that the sender resyncs later. The interval counts from the last snapshot: multiples of a number
/// of ticks may never be hit by a loop that steps several ticks at a time.
pub(crate) fn is_due(tick: u32, last: Option<u32>, interval: u32, in_flight: u32) -> bool {
    let factor = match in_flight {
        ..64 => 1,
        64..80 => 2,
        80.. => 4,
    };
    let least = interval.max(1).saturating_mul(factor);
    last.is_none_or(|last| tick.saturating_sub(last) >= least)
}

/// Share of the congestion window that the rate uses: the rest is for headers and retransmits.
const WINDOW_SHARE: f64 = 0.85;

/// Capacity of the bucket, in ticks at the current rate.
const CAP_TICKS: f64 = 2.0;

/// Minimum of the round-trip time by which the rate is computed.
const LEAST_ROUND_TRIP: Duration = Duration::from_millis(1);

/// Upper bound of the rate in bytes per second, where nothing else limits it.
const UNLIMITED: f64 = 1e9;

/// Minimum budget of a snapshot in bytes, at any rate: with less, hardly an object would fit.
const LEAST_SNAPSHOT: usize = 256;

/// Bytes of the batch before a frame: its size and number.
const BATCH_BYTES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn path(window: Option<usize>, round_trip: u64) -> Path {
        let round_trip = Duration::from_millis(round_trip);
        Path { max_datagram: 1200, round_trip, window, datagram_room: 100_000, ..Path::default() }
    }

    /// Runs ticks at 60 Hz in which snapshots fill their budgets, and returns the bytes per second
    /// and the share of ticks with a snapshot.
    fn run(budget: &mut Budget, path: &Path, messages: usize) -> (f64, f64) {
        let (mut bytes, mut snapshots) = (0, 0);
        let mut path = *path;
        for tick in 0..6000u32 {
            budget.refill(Duration::from_secs(1) + tick * Duration::from_nanos(16_666_667), &path);
            path.bytes_sent += messages as u64;
            bytes += messages;
            if let Some(snapshot) = budget.snapshot() {
                budget.spend(snapshot + 3);
                path.bytes_sent += snapshot as u64 + 3;
                bytes += snapshot + 3;
                snapshots += 1;
            }
        }
        (bytes as f64 / 100.0, f64::from(snapshots) / 6000.0)
    }

    #[test]
    fn the_rate_follows_the_congestion_window() {
        // 0.85 · 5000 / 100 ms is 42.5 kB/s, or 708 bytes a tick.
        let mut budget = Budget::new(0, 60);
        let (rate, share) = run(&mut budget, &path(Some(5000), 100), 0);
        assert_eq!(budget.rate().round(), 42_500.0);
        assert!((rate / 42_500.0 - 1.0).abs() < 0.01 && share == 1.0, "{rate} {share}");
        // Without a congestion window, all datagrams are full.
        let (rate, _) = run(&mut Budget::new(0, 60), &path(None, 0), 0);
        assert_eq!(rate, 72_000.0);
    }

    #[test]
    fn the_largest_rate_of_a_peer_holds() {
        for max_rate in [2_000, 6_000, 20_000, 64_000] {
            let mut budget = Budget::new(max_rate, 60);
            let (rate, share) = run(&mut budget, &path(None, 50), 0);
            let expected = f64::from(max_rate);
            assert!((rate / expected - 1.0).abs() < 0.03, "{rate} of {max_rate}");
            println!("{max_rate} B/s: {rate} sent, snapshots in {share:.2} of the ticks");
            // 256 bytes at 60 Hz are 15.5 kB/s: only below that snapshots are left out.
            assert_eq!(share == 1.0, max_rate > 15_500);
        }
    }

    #[test]
    fn what_is_sent_beside_snapshots_makes_them_smaller() {
        let mut budget = Budget::new(60_000, 60);
        let (rate, share) = run(&mut budget, &path(None, 50), 700);
        assert!((rate / 60_000.0 - 1.0).abs() < 0.02 && share == 1.0, "{rate} {share}");
        // A new connection counts its bytes from 0.
        budget.refill(Duration::from_secs(200), &path(None, 50));
        assert_eq!(budget.snapshot(), Some(1197));
    }

    #[test]
    fn a_snapshot_that_would_wait_is_not_sent() {
        let mut budget = Budget::new(0, 60);
        budget.refill(Duration::ZERO, &Path { datagram_room: 1199, ..path(None, 50) });
        assert_eq!(budget.snapshot(), None);
        budget.refill(Duration::ZERO, &Path { datagram_room: 1200, ..path(None, 50) });
        assert_eq!(budget.snapshot(), Some(1197));
        // The largest datagram is below the minimum budget.
        budget.refill(Duration::ZERO, &Path { max_datagram: 100, ..path(None, 50) });
        assert_eq!(budget.snapshot(), Some(97));
    }

    #[test]
    fn background_data_gets_what_remains_of_half_the_rate() {
        let mut budget = Budget::new(60_000, 60);
        budget.refill(Duration::ZERO, &path(None, 50));
        assert_eq!(budget.background(), 0);
        budget.refill(Duration::from_millis(10), &path(None, 50));
        assert_eq!(budget.background(), 300);
        budget.spend(200);
        assert_eq!(budget.background(), 100);
        budget.spend(200);
        assert_eq!(budget.background(), 0);
    }

    #[test]
    fn snapshots_are_thinned_while_acks_stay_away() {
        let sent = |step: usize, interval, in_flight| {
            let (mut last, mut count) = (None, 0);
            for tick in (1..=64).step_by(step) {
                if is_due(tick, last, interval, in_flight) {
                    (last, count) = (Some(tick), count + 1);
                }
            }
            count
        };
        let every = |in_flight| sent(1, 1, in_flight);
        assert_eq!([0, 63, 64, 79, 80, 96].map(every), [64, 64, 32, 32, 16, 16]);
        assert_eq!(sent(1, 2, 64), 16);
        // A loop of half the rate, whose newest ticks are all odd.
        assert_eq!((sent(2, 2, 0), sent(2, 1, 64)), (32, 32));
        // The number of ticks until the sender resyncs, with 96 packets in flight.
        let (mut in_flight, mut ticks, mut last) = (0, 0, None);
        while in_flight < 96 {
            if is_due(ticks, last, 1, in_flight) {
                in_flight += 1;
                last = Some(ticks);
            }
            ticks += 1;
        }
        assert!((157..=160).contains(&ticks), "{ticks}");
    }
}
