//! Two ends in one process, with a network between them that is as bad as one wants.

mod config;
mod endpoint;
mod estimate;
mod frame;
mod incoming;
mod outgoing;
mod pool;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::link::{Link, LinkConfig, LinkStats};
use crate::message::Delivery;

pub use config::InProcessConfig;
use endpoint::{CONNECTION, Endpoint};

use crate::reason::Reason;
use crate::transport::{Connection, Event, LAST_TIME, NotSentError, Path, Transport};

/// One of two ends in the same process: for tests, demos and single-player.
///
/// Between them is a [`Link`] for each direction. Whatever it does to datagrams, the promises of each
/// [`Delivery`] are kept. What happens is decided by the seed: with the same calls at the same times,
/// both ends do the same.
///
/// Both ends need the same clock, roughly. They can be in different threads: a single-player game with
/// its server beside it. There is one connection, from the first
/// [`handle_input`](Transport::handle_input) on; an end that is dropped without
/// [`close`](Transport::close) is one that times out.
///
/// It is no transport for a real network: nothing is encrypted, and nobody is asked who they are.
///
/// ```
/// use std::time::Duration;
/// use tightwire::Delivery;
/// use tightwire::link::LinkConfig;
/// use tightwire::transport::{Event, InProcess, InProcessConfig, Transport};
///
/// let link = LinkConfig { latency: Duration::from_millis(40), loss: 0.5, ..LinkConfig::default() };
/// let config = InProcessConfig { link, ..InProcessConfig::default() };
/// let (mut client, mut server) = InProcess::pair(config, 1);
///
/// client.handle_input(Duration::ZERO);
/// let Some(Event::Connected { connection, .. }) = client.poll_event() else { panic!() };
/// client.send(connection, Delivery::Reliable, b"\x04\0ahoy")?;
/// client.handle_output(Duration::ZERO);
///
/// let mut received = Vec::new();
/// while received.is_empty() {
///     // A clock that jumps to when something happens.
///     let Some(now) = client.next_time().min(server.next_time()) else { break };
///     server.handle_input(now);
///     while let Some(event) = server.poll_event() {
///         if let Event::Batch { batch, .. } = event {
///             received.extend_from_slice(batch);
///         }
///     }
///     server.handle_output(now);
///     client.handle_input(now);
///     client.handle_output(now);
/// }
/// assert_eq!(received, b"\x04\0ahoy");
/// # Ok::<(), tightwire::transport::NotSentError>(())
/// ```
#[derive(Debug)]
pub struct InProcess {
    network: Arc<Mutex<Network>>,
    /// The place of the link that this end sends to; the other one is what it receives from.
    side: usize,
    endpoint: Endpoint,
}

/// What both ends share.
#[derive(Debug)]
struct Network {
    links: [Link; 2],
}

impl InProcess {
    /// Two ends that are connected.
    #[must_use]
    pub fn pair(config: InProcessConfig, seed: u64) -> (Self, Self) {
        let config = config.checked();
        // The two directions have nothing in common.
        let links = [seed, !seed].map(|seed| Link::new(config.link, seed));
        let network = Arc::new(Mutex::new(Network { links }));
        let end = |side| Self { network: network.clone(), side, endpoint: Endpoint::new(config) };
        (end(0), end(1))
    }

    /// Another network for what this end sends from now on. What is on its way stays so.
    ///
    /// ```
    /// use tightwire::link::LinkConfig;
    /// use tightwire::transport::{InProcess, InProcessConfig};
    ///
    /// let (client, server) = InProcess::pair(InProcessConfig::default(), 1);
    /// client.set_link(LinkConfig { loss: 1.0, ..LinkConfig::default() });
    /// assert_eq!(client.link_stats().lost, 0);
    /// # drop(server);
    /// ```
    pub fn set_link(&self, link: LinkConfig) {
        self.network().links[self.side].set_config(link);
    }

    /// What became of the datagrams that this end sent.
    #[must_use]
    pub fn link_stats(&self) -> LinkStats {
        self.network().links[self.side].stats()
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        lock(&self.network)
    }
}

impl Transport for InProcess {
    fn handle_input(&mut self, now: Duration) {
        let now = now.min(LAST_TIME);
        self.endpoint.handle_now(now);
        let mut network = lock(&self.network);
        let link = &mut network.links[1 - self.side];
        while let Some(datagram) = link.poll_datagram(now) {
            self.endpoint.handle_datagram(datagram);
        }
        self.endpoint.handle_time();
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        self.endpoint.poll_event()
    }

    fn send(&mut self, to: Connection, delivery: Delivery, batch: &[u8]) -> Result<(), NotSentError> {
        if to != CONNECTION {
            return Err(NotSentError::NotConnected(to));
        }
        self.endpoint.send(delivery, batch)
    }

    fn pause(&mut self, connection: Connection) {
        if connection == CONNECTION {
            self.endpoint.pause();
        }
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        if connection == CONNECTION {
            self.endpoint.close(reason);
        }
    }

    fn handle_output(&mut self, now: Duration) {
        let now = now.min(LAST_TIME);
        let mut network = lock(&self.network);
        let link = &mut network.links[self.side];
        self.endpoint.handle_output(now, |frame| link.handle_datagram(now, frame));
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        (connection == CONNECTION).then(|| self.endpoint.path())?
    }

    fn next_time(&self) -> Option<Duration> {
        let arrival = self.network().links[1 - self.side].next_time();
        arrival.into_iter().chain(self.endpoint.next_time()).min()
    }
}

/// A thread that panicked elsewhere leaves a network that can be used.
fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}
