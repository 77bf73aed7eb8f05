//! A bad network, for tests and demos: what it does to a datagram is decided by a seed.

use core::cmp::{Ordering, Reverse};
use core::mem;
use core::time::Duration;
use std::collections::BinaryHeap;

/// What a [`Link`] does to datagrams. The default does nothing to them.
///
/// Chances are from 0 to 1, and each is drawn for each datagram.
///
/// ```
/// use std::time::Duration;
/// use tightwire::link::LinkConfig;
///
/// let mobile = LinkConfig {
///     latency: Duration::from_millis(50),
///     jitter: Duration::from_millis(20),
///     loss: 0.02,
///     ..LinkConfig::default()
/// };
/// assert_eq!(mobile.duplication, 0.0);
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkConfig {
    /// How long every datagram is on its way.
    pub latency: Duration,
    /// By how much more it can take. This alone does not change the order.
    pub jitter: Duration,
    /// The chance to be lost.
    pub loss: f64,
    /// Times in which more is lost.
    pub bursts: Option<Bursts>,
    /// The chance to arrive twice.
    pub duplication: f64,
    /// The chance to be overtaken: such a datagram takes up to twice its time.
    pub reordering: f64,
    /// The chance that one bit is another when it arrives.
    pub corruption: f64,
    /// The bytes that go through in a second, and those that can wait for that; what is beyond is
    /// lost.
    pub bandwidth: Option<Bandwidth>,
}

/// Times in which more is lost than otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// The chance that one begins with a datagram.
    pub begin: f64,
    /// The chance that it ends with a datagram.
    pub end: f64,
    /// The chance to be lost in it.
    pub loss: f64,
}

/// How much goes through a [`Link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bandwidth {
    /// Each second.
    pub bytes_per_second: u64,
    /// That can wait.
    pub queue_bytes: u64,
}

/// What became of the datagrams of a [`Link`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct LinkStats {
    /// Given to it.
    pub sent: u64,
    /// That came out, those that came twice counted twice.
    pub delivered: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Lost because too much waited.
    pub overflowed: u64,
    /// That come twice.
    pub duplicated: u64,
    /// That can be overtaken.
    pub held_back: u64,
    /// With a bit that is another.
    pub corrupted: u64,
}

/// One direction of a bad network. It owns no clock: time is an argument, and only goes forward.
///
/// What happens is decided by the seed: with the same datagrams at the same times, the same comes
/// out.
///
/// ```
/// use std::time::Duration;
/// use tightwire::link::{Link, LinkConfig};
///
/// let latency = Duration::from_millis(50);
/// let mut link = Link::new(LinkConfig { latency, ..LinkConfig::default() }, 1);
/// link.handle_datagram(Duration::ZERO, b"hello");
/// assert_eq!(link.poll_datagram(Duration::from_millis(49)), None);
/// assert_eq!(link.next_time(), Some(latency));
/// assert_eq!(link.poll_datagram(latency), Some(&b"hello"[..]));
/// ```
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    random: Random,
    is_in_burst: bool,
    /// When the last datagram that keeps its order arrives.
    last_arrival: Duration,
    /// When everything that waits for its bandwidth has gone through.
    busy_until: Duration,
    in_flight: BinaryHeap<Reverse<Flight>>,
    /// Breaks ties, so that datagrams of the same time keep their order.
    next_number: u64,
    /// The one that was handed out last, and memory for those to come.
    delivered: Vec<u8>,
    spare: Vec<Vec<u8>>,
    stats: LinkStats,
}

/// A datagram on its way.
#[derive(PartialEq, Eq, Debug)]
struct Flight {
    arrival: Duration,
    number: u64,
    bytes: Vec<u8>,
}

/// Steps of a counter, mixed.
#[derive(Debug)]
struct Random(u64);

impl Link {
    /// An empty one.
    #[must_use]
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            config,
            random: Random(seed),
            is_in_burst: false,
            last_arrival: Duration::ZERO,
            busy_until: Duration::ZERO,
            in_flight: BinaryHeap::new(),
            next_number: 0,
            delivered: Vec::new(),
            spare: Vec::new(),
            stats: LinkStats::default(),
        }
    }

    /// Another network from now on. What is on its way stays so.
    pub fn set_config(&mut self, config: LinkConfig) {
        self.config = config;
    }

    /// What became of the datagrams so far.
    #[must_use]
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// When the next datagram arrives, if one is on its way.
    #[must_use]
    pub fn next_time(&self) -> Option<Duration> {
        self.in_flight.peek().map(|Reverse(flight)| flight.arrival)
    }

    /// Sends a datagram.
    pub fn handle_datagram(&mut self, now: Duration, datagram: &[u8]) {
        self.stats.sent += 1;
        // Each number is drawn whether it is needed or not: a change of one chance does not change
        // what the others decide.
        let draws: [f64; 8] = core::array::from_fn(|_| self.random.next_unit());
        let [burst, lost, doubled, held, corrupted, jitter, more, bit] = draws;
        let LinkConfig { latency, loss, bursts, duplication, reordering, corruption, .. } =
            self.config;
        let mut loss = loss;
        if let Some(bursts) = bursts {
            let turn = if self.is_in_burst { bursts.end } else { bursts.begin };
            self.is_in_burst ^= burst < turn;
            loss = if self.is_in_burst { bursts.loss } else { loss };
        }
        if lost < loss {
            self.stats.lost += 1;
            return;
        }
        let Some(departure) = self.depart(now, datagram.len() as u64) else {
            self.stats.overflowed += 1;
            return;
        };
        let delay = latency.saturating_add(part(self.config.jitter, jitter));
        let mut arrival = departure.saturating_add(delay);
        if held < reordering {
            self.stats.held_back += 1;
            arrival = arrival.saturating_add(part(delay, more));
        } else {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        let is_corrupted = corrupted < corruption && !datagram.is_empty();
        let flipped = is_corrupted.then_some((bit * datagram.len() as f64 * 8.0) as usize);
        if flipped.is_some() {
            self.stats.corrupted += 1;
        }
        self.fly(arrival, datagram, flipped);
        if doubled < duplication {
            self.stats.duplicated += 1;
            self.fly(arrival.saturating_add(part(latency, more)), datagram, None);
        }
    }

    /// The next datagram that has arrived by now.
    pub fn poll_datagram(&mut self, now: Duration) -> Option<&[u8]> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse(flight) = self.in_flight.pop()?;
        self.stats.delivered += 1;
        self.spare.push(mem::replace(&mut self.delivered, flight.bytes));
        Some(&self.delivered)
    }

    /// When a datagram has gone through the bandwidth; nothing if too much waits already.
    fn depart(&mut self, now: Duration, length: u64) -> Option<Duration> {
        let Some(Bandwidth { bytes_per_second, queue_bytes }) = self.config.bandwidth else {
            return Some(now);
        };
        let start = self.busy_until.max(now);
        let rate = bytes_per_second.max(1) as f64;
        let waiting = (start - now).as_secs_f64() * rate;
        if waiting > queue_bytes as f64 {
            return None;
        }
        self.busy_until = start.saturating_add(part(Duration::from_secs(1), length as f64 / rate));
        Some(self.busy_until)
    }

    fn fly(&mut self, arrival: Duration, datagram: &[u8], flipped_bit: Option<usize>) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(datagram);
        if let Some(bit) = flipped_bit
            && let Some(byte) = bytes.get_mut(bit / 8)
        {
            *byte ^= 1 << (bit % 8);
        }
        let number = self.next_number;
        self.next_number += 1;
        self.in_flight.push(Reverse(Flight { arrival, number, bytes }));
    }
}

/// A part or a multiple of a time, as far as there are such times.
fn part(time: Duration, share: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * share).unwrap_or(Duration::MAX)
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.arrival, self.number).cmp(&(other.arrival, other.number))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Random {
    /// From 0 to below 1.
    fn next_unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
