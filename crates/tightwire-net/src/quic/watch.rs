//! Decides which packets a socket should drop, by recent traffic.

use core::time::Duration;
use std::collections::HashMap;
use std::net::SocketAddr;

use super::filter::{Filter, Strangers, words};
use super::ids::KeyedHash;

/// Detects addresses that send too much.
///
/// A known address that sends more than twice its limit is silenced for a while. When strangers
/// send more than their limit, the socket gets a list of the known addresses, and the share of all
/// other packets that would be read anyway: newcomers still come through, by chance, as they did
/// before.
#[derive(Debug)]
pub(super) struct Watch {
    ids: KeyedHash,
    addresses: KeyedHash,
    /// Limit of packets of strangers per second.
    most: u32,
    /// Start of the counting window.
    since: Duration,
    strangers: u32,
    /// Share of the packets of strangers that the socket passes.
    share: f32,
    /// Silenced addresses, with the end of the silence.
    loud: HashMap<SocketAddr, Duration>,
    /// The last filter had no addresses; `None` if there was no filter yet.
    is_plain: Option<bool>,
}

impl Watch {
    pub(super) fn new(ids: KeyedHash, most: u32) -> Self {
        Self {
            ids,
            addresses: KeyedHash::random(),
            most,
            since: Duration::ZERO,
            strangers: 0,
            share: 1.0,
            loud: HashMap::new(),
            is_plain: None,
        }
    }

    pub(super) fn see_stranger(&mut self) {
        self.strangers = self.strangers.saturating_add(1);
    }

    /// Whether the counting window is over, or there was no filter yet.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        self.is_plain.is_none() || now >= self.since + WINDOW
    }

    /// Silences a known address that has sent more than twice its limit `per_second` in this
    /// window: `too_many` of its packets were beyond the limit.
    pub(super) fn see_known(
        &mut self,
        address: SocketAddr,
        too_many: u32,
        per_second: u32,
        now: Duration,
    ) {
        let most = per_second as f32 * now.saturating_sub(self.since).as_secs_f32();
        if too_many as f32 > most {
            self.loud.insert(address, now + SILENCE);
        }
    }

    /// Returns the filter for the next window, if it has changed, and starts counting again.
    pub(super) fn filter<'a>(
        &mut self,
        now: Duration,
        known: impl Iterator<Item = &'a SocketAddr>,
    ) -> Option<Filter> {
        let seconds = now.saturating_sub(self.since).max(WINDOW).as_secs_f32();
        let offered = self.strangers as f32 / self.share / seconds;
        // Not at once back to everything: a flood that pauses is expected to go on.
        let share = (self.most as f32 / offered.max(1.0)).min(2.0 * self.share);
        // A socket may have let pass more than it was asked to: then there seem to be more and more.
        self.share = share.clamp(LEAST, 1.0);
        self.loud.retain(|_, until| now < *until);
        (self.since, self.strangers) = (now, 0);

        let is_plain = self.share == 1.0 && self.loud.is_empty();
        if self.is_plain.replace(is_plain) == Some(true) && is_plain {
            return None;
        }
        let strangers = (self.share < 1.0).then(|| Strangers {
            share: (self.share * u32::MAX as f32) as u32,
            known: self.hashes(known.filter(|address| !self.loud.contains_key(address))),
        });
        let loud = self.hashes(self.loud.keys());
        Some(Filter { ids: self.ids, addresses: self.addresses, loud, strangers })
    }

    fn hashes<'a>(&self, addresses: impl Iterator<Item = &'a SocketAddr>) -> Vec<u32> {
        let mut hashes: Vec<_> =
            addresses.map(|address| self.addresses.hash(words(address))).collect();
        hashes.sort_unstable();
        hashes
    }
}

/// Smallest share: from here it takes a second or so until all packets pass again.
const LEAST: f32 = 1.0 / 4096.0;
/// Length of the counting window.
const WINDOW: Duration = Duration::from_millis(100);
/// Time for which an address that sends too much is silenced. By default this is less than the idle
/// timeout of a connection, so that a peer that stops is not disconnected.
const SILENCE: Duration = Duration::from_secs(4);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MOST: u32 = 4000;

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// Runs a window in which strangers send this many packets, and the share of them arrives.
    fn after(watch: &mut Watch, window: &mut u32, sent: u32) -> Option<Filter> {
        for _ in 0..(sent as f32 * watch.share) as u32 {
            watch.see_stranger();
        }
        *window += 1;
        let now = WINDOW * *window;
        assert!(watch.is_due(now));
        watch.filter(now, [address(1), address(2)].iter())
    }

    #[test]
    fn of_many_strangers_as_many_pass_as_are_read_and_later_all() {
        let (mut watch, mut window) = (Watch::new(KeyedHash::random(), MOST), 0);
        let plain = after(&mut watch, &mut window, 0).unwrap();
        assert_eq!((plain.strangers, plain.loud.len()), (None, 0));
        assert_eq!(after(&mut watch, &mut window, MOST / 10), None, "as many as there may be");
        for _ in 0..10 {
            let strangers = after(&mut watch, &mut window, 20_000).unwrap().strangers.unwrap();
            let pass = f64::from(strangers.share) / 2f64.powi(32) * 200_000.0;
            assert!((3_800.0..4_200.0).contains(&pass), "{pass}");
            let known = [1, 2].map(|port| watch.addresses.hash(words(&address(port))));
            assert!(strangers.known.is_sorted());
            assert!(
                strangers.known.len() == 2 && known.iter().all(|it| strangers.known.contains(it))
            );
        }
        let mut windows = 1;
        while after(&mut watch, &mut window, 0).unwrap().strangers.is_some() {
            windows += 1;
        }
        assert_eq!(windows, 6, "from a fiftieth, twice as many each time");
        assert_eq!(after(&mut watch, &mut window, 0), None);
    }

    #[test]
    fn a_socket_that_lets_all_pass_does_not_keep_newcomers_out_for_ever() {
        let mut watch = Watch::new(KeyedHash::random(), MOST);
        for window in 0..100 {
            (0..20_000).for_each(|_| watch.see_stranger());
            assert!(watch.filter(WINDOW * window, [].iter()).is_some());
        }
        assert_eq!(watch.share, LEAST);
        let mut is_over = |window: &u32| {
            let filter = watch.filter(WINDOW * (100 + window), [].iter());
            filter.is_some_and(|filter| filter.strangers.is_none())
        };
        assert_eq!((0..20).find(|window| is_over(window)), Some(11));
    }

    #[test]
    fn one_who_sends_twice_what_it_may_is_silenced_for_a_while() {
        let mut watch = Watch::new(KeyedHash::random(), MOST);
        let known = [address(1), address(2)];
        assert!(watch.filter(Duration::ZERO, known.iter()).is_some());
        watch.see_known(address(1), 99, 1000, WINDOW);
        watch.see_known(address(2), 101, 1000, WINDOW);
        let filter = watch.filter(WINDOW, known.iter()).unwrap();
        assert_eq!(filter.loud, [watch.addresses.hash(words(&address(2)))]);
        assert_eq!(filter.strangers, None);
        let later = WINDOW + SILENCE;
        assert!(!watch.filter(later - WINDOW, known.iter()).unwrap().loud.is_empty());
        assert!(watch.filter(later, known.iter()).unwrap().loud.is_empty());
        assert_eq!(watch.filter(later + WINDOW, known.iter()), None);
    }
}
