//! Decides which packets a socket should drop, by recent traffic.

use core::time::Duration;
use std::collections::HashMap;
use std::net::SocketAddr;

use super::filter::{Filter, Unconnected, words};
use super::ids::KeyedHash;

/// Detects addresses that send too much.
///
/// A connected address that sends more than twice its limit is silenced for a while. When
/// unconnected addresses send more than their limit, the socket gets a list of the connected
/// addresses, and passes only a random share of all other packets: as many as the limit allows. New
/// clients can still connect, if their packets are among those that pass.
#[derive(Debug)]
pub(super) struct FloodDetector {
    ids: KeyedHash,
    addresses: KeyedHash,
    /// Limit of packets of unconnected addresses per second.
    max_unconnected: u32,
    /// Start of the counting window.
    since: Duration,
    unconnected: u32,
    /// Share of the packets of unconnected addresses that the socket passes.
    share: f32,
    /// Silenced addresses, with the end of the silence.
    silenced: HashMap<SocketAddr, Duration>,
    /// Whether the last filter passed everything; `None` before the first filter.
    is_plain: Option<bool>,
}

impl FloodDetector {
    pub(super) fn new(ids: KeyedHash, max_unconnected: u32) -> Self {
        Self {
            ids,
            addresses: KeyedHash::random(),
            max_unconnected,
            since: Duration::ZERO,
            unconnected: 0,
            share: 1.0,
            silenced: HashMap::new(),
            is_plain: None,
        }
    }

    pub(super) fn count_unconnected(&mut self) {
        self.unconnected = self.unconnected.saturating_add(1);
    }

    /// Whether the counting window is over, or there was no filter yet.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.is_plain.is_none() || now >= self.since + WINDOW
    }

    /// Silences a connected address that has sent more than twice its limit `per_second` in this
    /// window: `too_many` of its packets were beyond the limit.
    pub(super) fn check_connected(
        &mut self,
        address: SocketAddr,
        too_many: u32,
        per_second: u32,
        now: Duration,
    ) {
        let most = per_second as f32 * now.saturating_sub(self.since).as_secs_f32();
        if too_many as f32 > most {
            self.silenced.insert(address, now + SILENCE);
        }
    }

    /// Returns the filter for the next window, if it has changed, and starts counting again.
    pub(super) fn filter<'a>(
        &mut self,
        now: Duration,
        connected: impl Iterator<Item = &'a SocketAddr>,
    ) -> Option<Filter> {
        let seconds = now.saturating_sub(self.since).max(WINDOW).as_secs_f32();
        let offered = self.unconnected as f32 / self.share / seconds;
        // The share at most doubles per window, since a flood that pauses is expected to go on.
        let share = (self.max_unconnected as f32 / offered.max(1.0)).min(2.0 * self.share);
        // If the socket passes more than this share, `offered` is overestimated more in each
        // window: `MIN_SHARE` keeps the share from falling for ever.
        self.share = share.clamp(MIN_SHARE, 1.0);
        self.silenced.retain(|_, until| now < *until);
        (self.since, self.unconnected) = (now, 0);

        let is_plain = self.share == 1.0 && self.silenced.is_empty();
        if self.is_plain.replace(is_plain) == Some(true) && is_plain {
            return None;
        }
        let unconnected = (self.share < 1.0).then(|| Unconnected {
            share: (self.share * u32::MAX as f32) as u32,
            connected: self
                .hashes(connected.filter(|address| !self.silenced.contains_key(address))),
        });
        let silenced = self.hashes(self.silenced.keys());
        Some(Filter { ids: self.ids, addresses: self.addresses, silenced, unconnected })
    }

    fn hashes<'a>(&self, addresses: impl Iterator<Item = &'a SocketAddr>) -> Vec<u32> {
        let mut hashes: Vec<_> =
            addresses.map(|address| self.addresses.hash(words(address))).collect();
        hashes.sort_unstable();
        hashes
    }
}

/// Smallest share of packets that pass. After a flood, the share doubles with every window, so that
/// all packets pass again after about a second.
const MIN_SHARE: f32 = 1.0 / 4096.0;
/// Length of the counting window.
const WINDOW: Duration = Duration::from_millis(100);
/// Time for which an address that sends too much is silenced. By default this is less than the idle
/// timeout of a connection, so that a peer that stops flooding is not disconnected.
const SILENCE: Duration = Duration::from_secs(4);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MAX_PACKETS: u32 = 4000;

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// Runs a window in which unconnected addresses send `sent` packets, of which the current share
    /// arrives.
    fn after(detector: &mut FloodDetector, window: &mut u32, sent: u32) -> Option<Filter> {
        for _ in 0..(sent as f32 * detector.share) as u32 {
            detector.count_unconnected();
        }
        *window += 1;
        let now = WINDOW * *window;
        assert!(detector.is_due(now));
        detector.filter(now, [address(1), address(2)].iter())
    }

    #[test]
    fn the_filter_passes_as_many_packets_as_are_read() {
        let (mut detector, mut window) = (FloodDetector::new(KeyedHash::random(), MAX_PACKETS), 0);
        let plain = after(&mut detector, &mut window, 0).unwrap();
        assert_eq!((plain.unconnected, plain.silenced.len()), (None, 0));
        assert_eq!(
            after(&mut detector, &mut window, MAX_PACKETS / 10),
            None,
            "as many as there may be"
        );
        for _ in 0..10 {
            let unconnected =
                after(&mut detector, &mut window, 20_000).unwrap().unconnected.unwrap();
            let pass = f64::from(unconnected.share) / 2f64.powi(32) * 200_000.0;
            assert!((3_800.0..4_200.0).contains(&pass), "{pass}");
            let connected = [1, 2].map(|port| detector.addresses.hash(words(&address(port))));
            assert!(unconnected.connected.is_sorted());
            assert!(
                unconnected.connected.len() == 2
                    && connected.iter().all(|it| unconnected.connected.contains(it))
            );
        }
        let mut windows = 1;
        while after(&mut detector, &mut window, 0).unwrap().unconnected.is_some() {
            windows += 1;
        }
        assert_eq!(windows, 6, "from a fiftieth, twice as many each time");
        assert_eq!(after(&mut detector, &mut window, 0), None);
    }

    #[test]
    fn a_socket_without_filter_does_not_lower_the_share_for_ever() {
        let mut detector = FloodDetector::new(KeyedHash::random(), MAX_PACKETS);
        for window in 0..100 {
            (0..20_000).for_each(|_| detector.count_unconnected());
            assert!(detector.filter(WINDOW * window, [].iter()).is_some());
        }
        assert_eq!(detector.share, MIN_SHARE);
        let mut is_over = |window: &u32| {
            let filter = detector.filter(WINDOW * (100 + window), [].iter());
            filter.is_some_and(|filter| filter.unconnected.is_none())
        };
        assert_eq!((0..20).find(|window| is_over(window)), Some(11));
    }

    #[test]
    fn addresses_above_twice_their_rate_are_silenced_for_a_while() {
        let mut detector = FloodDetector::new(KeyedHash::random(), MAX_PACKETS);
        let connected = [address(1), address(2)];
        assert!(detector.filter(Duration::ZERO, connected.iter()).is_some());
        detector.check_connected(address(1), 99, 1000, WINDOW);
        detector.check_connected(address(2), 101, 1000, WINDOW);
        let filter = detector.filter(WINDOW, connected.iter()).unwrap();
        assert_eq!(filter.silenced, [detector.addresses.hash(words(&address(2)))]);
        assert_eq!(filter.unconnected, None);
        let later = WINDOW + SILENCE;
        assert!(!detector.filter(later - WINDOW, connected.iter()).unwrap().silenced.is_empty());
        assert!(detector.filter(later, connected.iter()).unwrap().silenced.is_empty());
        assert_eq!(detector.filter(later + WINDOW, connected.iter()), None);
    }
}
