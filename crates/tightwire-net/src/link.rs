//! A simulated bad network, for tests and demos, decided by a seed.

use core::cmp::{Ordering, Reverse};
use core::mem;
use core::ops::Add;
use core::time::Duration;
use std::collections::BinaryHeap;
use std::net::{IpAddr, SocketAddr};

/// Impairments of a [`Link`]. The default has none.
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
    /// Latency of every datagram.
    /// Default: 0 ns.
    pub latency: Duration,
    /// Maximum additional latency. Jitter alone does not reorder datagrams.
    /// Default: 0 ns.
    pub jitter: Duration,
    /// Chance that a datagram is lost.
    /// Default: 0.0.
    pub loss: f64,
    /// Bursts of loss; `None` for none.
    /// Default: None.
    pub bursts: Option<Bursts>,
    /// Chance that a datagram arrives twice.
    /// Default: 0.0.
    pub duplication: f64,
    /// Chance that a datagram is overtaken: such a datagram takes up to twice its time.
    /// Default: 0.0.
    pub reordering: f64,
    /// Chance that a datagram arrives with a flipped bit.
    /// Default: 0.0.
    pub corruption: f64,
    /// Bandwidth with its queue; datagrams that do not fit into the queue are lost. `None` for no
    /// limit.
    /// Default: None.
    pub bandwidth: Option<Bandwidth>,
}

/// Bursts of loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// Chance that a burst begins with a datagram.
    pub begin: f64,
    /// Chance that a burst ends with a datagram.
    pub end: f64,
    /// Chance that a datagram is lost within a burst.
    pub loss: f64,
}

/// Bandwidth of a [`Link`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bandwidth {
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Bytes that may wait in the queue.
    pub queue_bytes: u64,
}

/// Counters of a [`Link`]'s datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct LinkStats {
    /// Datagrams that were sent.
    pub sent: u64,
    /// Datagrams that arrived; duplicates count twice.
    pub delivered: u64,
    /// Datagrams that were lost by chance.
    pub lost: u64,
    /// Datagrams that were lost because the queue was full, or too many were in flight.
    pub overflowed: u64,
    /// Datagrams that arrive twice.
    pub duplicated: u64,
    /// Datagrams that were held back, and may be overtaken.
    pub held_back: u64,
    /// Datagrams with a flipped bit.
    pub corrupted: u64,
}

impl Add for LinkStats {
    type Output = Self;

    /// Adds up the counters of two links, such as those of both directions.
    fn add(mut self, other: Self) -> Self {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.lost += other.lost;
        self.overflowed += other.overflowed;
        self.duplicated += other.duplicated;
        self.held_back += other.held_back;
        self.corrupted += other.corrupted;
        self
    }
}

/// One direction of a simulated bad network. A link has no clock: time is an argument, and only
/// goes forward.
///
/// The seed decides the outcome: the same datagrams at the same times give the same arrivals.
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
    random: LinkRandom,
    is_in_burst: bool,
    /// Arrival of the last datagram that keeps its order.
    last_arrival: Duration,
    /// Time at which the queue for the bandwidth is empty.
    busy_until: Duration,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    in_flight_bytes: usize,
    /// Largest number of bytes in flight; for short datagrams, each counts as [`SHORT`] bytes.
    max_in_flight: usize,
    /// Tie-breaker, so that datagrams of the same arrival keep their order.
    next_number: u64,
    /// Last delivered datagram. `spare` is memory for later ones.
    delivered: Vec<u8>,
    spare: Vec<Vec<u8>>,
    stats: LinkStats,
}

/// A datagram in flight.
#[derive(PartialEq, Eq, Debug)]
struct InFlight {
    arrival: Duration,
    number: u64,
    bytes: Vec<u8>,
    /// Ends of the datagram; `None` if its link has only two.
    ends: Option<Ends>,
}

/// The ends of a datagram that shares its link with those of others, and its congestion bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ends {
    pub(crate) remote: SocketAddr,
    pub(crate) local: Option<IpAddr>,
    pub(crate) congestion: u8,
}

/// A generator that mixes a counter.
#[derive(Debug)]
struct LinkRandom(u64);

impl Link {
    /// Makes an empty link.
    #[must_use]
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            config,
            random: LinkRandom(seed),
            is_in_burst: false,
            last_arrival: Duration::ZERO,
            busy_until: Duration::ZERO,
            in_flight: BinaryHeap::new(),
            in_flight_bytes: 0,
            max_in_flight: usize::MAX,
            next_number: 0,
            delivered: Vec::new(),
            spare: Vec::new(),
            stats: LinkStats::default(),
        }
    }

    /// Limits the bytes in flight: datagrams beyond are lost.
    #[cfg(feature = "quic")]
    pub(crate) fn with_max_in_flight(mut self, bytes: usize) -> Self {
        self.max_in_flight = bytes;
        self
    }

    /// Changes the configuration for later datagrams; those in flight are not affected.
    pub fn set_config(&mut self, config: LinkConfig) {
        self.config = config;
    }

    /// Returns the counters so far.
    #[must_use]
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// Returns the arrival of the next datagram; `None` if none is in flight.
    #[must_use]
    pub fn next_time(&self) -> Option<Duration> {
        self.in_flight.peek().map(|Reverse(flight)| flight.arrival)
    }

    /// Sends a datagram.
    pub fn handle_datagram(&mut self, now: Duration, datagram: &[u8]) {
        self.send(now, datagram, None);
    }

    /// Sends a datagram between these ends.
    #[cfg(feature = "quic")]
    pub(crate) fn handle_between(&mut self, now: Duration, datagram: &[u8], ends: Ends) {
        self.send(now, datagram, Some(ends));
    }

    fn send(&mut self, now: Duration, datagram: &[u8], ends: Option<Ends>) {
        self.stats.sent += 1;
        // All numbers are drawn whether they are needed or not: a change of one chance does not
        // change the other decisions.
        let draws: [f64; 8] = core::array::from_fn(|_| self.random.next_unit());
        let [burst, lost, duplicated, held, corrupted, jitter, more, bit] = draws;
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
        self.fly(arrival, datagram, flipped, ends);
        if duplicated < duplication {
            self.stats.duplicated += 1;
            self.fly(arrival.saturating_add(part(latency, more)), datagram, None, ends);
        }
    }

    /// Returns the next datagram that has arrived by `now`; `None` if there is none.
    pub fn poll_datagram(&mut self, now: Duration) -> Option<&[u8]> {
        self.poll(now)?;
        Some(&self.delivered)
    }

    /// Returns the next datagram that has arrived by `now`, with its ends.
    #[cfg(feature = "quic")]
    pub(crate) fn poll_between(&mut self, now: Duration) -> Option<(Ends, &[u8])> {
        let ends = self.poll(now)?;
        Some((ends?, &self.delivered))
    }

    /// Makes the next datagram that has arrived the delivered one.
    fn poll(&mut self, now: Duration) -> Option<Option<Ends>> {
        if self.next_time()? > now {
            return None;
        }
        let Reverse(flight) = self.in_flight.pop()?;
        self.stats.delivered += 1;
        self.in_flight_bytes -= flight.bytes.len().max(SHORT);
        self.spare.push(mem::replace(&mut self.delivered, flight.bytes));
        Some(flight.ends)
    }

    /// Returns the time at which a datagram has passed the bandwidth; `None` if the queue is full.
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

    fn fly(
        &mut self,
        arrival: Duration,
        datagram: &[u8],
        flipped_bit: Option<usize>,
        ends: Option<Ends>,
    ) {
        let in_flight_bytes = self.in_flight_bytes.saturating_add(datagram.len().max(SHORT));
        if in_flight_bytes > self.max_in_flight {
            self.stats.overflowed += 1;
            return;
        }
        self.in_flight_bytes = in_flight_bytes;
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
        self.in_flight.push(Reverse(InFlight { arrival, number, bytes, ends }));
    }
}

/// Bytes as which a short datagram counts: memory is not given back, and the next one may be long.
const SHORT: usize = 1500;

/// Returns a share or multiple of a time, saturating.
fn part(time: Duration, share: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * share).unwrap_or(Duration::MAX)
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.arrival, self.number).cmp(&(other.arrival, other.number))
    }
}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl LinkRandom {
    /// Returns a number from 0 to below 1.
    fn next_unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
