//! A transport of two ends in one process, with queues between them.

mod queue;

use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::Delivery;

use crate::reason::Reason;
use crate::transport::{
    Cause, Connection, Event, NotSentError, Path, ReconnectError, Transport, TransportLimits,
};
use queue::{Amount, BatchQueue};

/// One of two ends in the same process: for single player, and for tests in which the network does
/// not matter.
///
/// Between the ends are queues, and no batch is ever lost: a batch that an end has sent when it
/// calls [`handle_output`](Transport::handle_output) is there when the other calls
/// [`handle_input`](Transport::handle_input), all batches in the order in which they were sent.
/// Time does not matter. For a bad network, use [`Quic`](crate::quic::Quic) over a simulated
/// [`Network`](crate::quic::Network).
///
/// The limits are those of a network, so that a game that runs here also runs there: 1,200 bytes
/// for a batch of a delivery that does not fragment, and 16 MiB for one that does. Reliable batches
/// of 2 MiB can wait to be polled, and as many behind them, then [`send`](Transport::send) refuses
/// more; of unreliable ones 1 MiB can wait, then the oldest are dropped. Each batch counts for 64
/// bytes more than it has.
///
/// The ends can be in different threads: a single-player game with its server beside it. There is
/// one connection at a time, from the first [`handle_input`](Transport::handle_input) of an end on.
/// The connection of an end ends when the other closes it, or is dropped; either end can [connect
/// again](Transport::reconnect) then.
///
/// It is no transport for a real network: it has neither encryption nor authentication.
///
/// ```
/// use std::time::Duration;
/// use tightwire::Delivery;
/// use tightwire::transport::{Event, InProcess, Transport};
///
/// let (mut client, mut server) = InProcess::pair();
/// let now = Duration::ZERO;
///
/// client.handle_input(now);
/// let Some(Event::Connected { connection, .. }) = client.poll_event() else { panic!() };
/// client.send(connection, Delivery::Reliable, b"\x04\0ahoy")?;
/// client.handle_output(now);
///
/// server.handle_input(now);
/// assert!(matches!(server.poll_event(), Some(Event::Connected { .. })));
/// let Some(Event::Batch { batch, .. }) = server.poll_event() else { panic!() };
/// assert_eq!(batch, b"\x04\0ahoy");
/// # Ok::<(), tightwire::transport::NotSentError>(())
/// ```
#[derive(Debug)]
pub struct InProcess {
    rendezvous: Arc<Mutex<Rendezvous>>,
    /// The connection of this end, and its number.
    pipe: Arc<Mutex<Pipe>>,
    connection: Connection,
    /// The place of the direction that this end sends to; it receives from the other.
    side: usize,
    state: EndState,
    /// The application has not yet got the event of the connection.
    is_new: bool,
    is_paused: bool,
    /// Batches that were sent since the last output.
    outgoing: Queues,
    /// Batches that arrived and were not polled.
    incoming: Queues,
    /// Number of the next batch.
    next: u64,
    /// Reliable batches that were sent, and the part of them that the other end has taken.
    sent: Amount,
    taken: Amount,
    /// Counters and limits.
    path: Path,
    now: Duration,
}

#[derive(Debug)]
enum EndState {
    /// Before the first input.
    New,
    Open,
    /// This end has closed the connection, and tells the other end with the next output.
    Closing(Reason),
    /// The other end has closed the connection; the application gets the event when it has polled
    /// all batches.
    Ended(Reason),
    Over,
}

/// Shared state by which the two ends connect.
#[derive(Debug)]
struct Rendezvous {
    /// The newest connection. The other end may have an older one until it has polled its end.
    pipe: Arc<Mutex<Pipe>>,
    connection: Connection,
    /// The ends that are no more.
    are_dropped: [bool; 2],
}

/// State that both ends of a connection share.
#[derive(Debug, Default)]
struct Pipe {
    directions: [Direction; 2],
}

/// Batches from one end to the other.
#[derive(Debug, Default)]
struct Direction {
    queues: Queues,
    /// Reliable batches that the receiver has taken.
    taken: Amount,
    /// Reason with which the sender closed the connection; `None` while it is open.
    end: Option<Reason>,
}

/// Reliable batches, which a pause holds back, and unreliable ones.
#[derive(Debug, Default)]
struct Queues {
    reliable: BatchQueue,
    unreliable: BatchQueue,
}

/// The number of the first connection.
const FIRST: Connection = Connection(1);

/// Largest batch of a delivery that does not fragment, in bytes: as over most networks.
const MAX_DATAGRAM: usize = 1200;

/// Largest batch of a delivery that fragments, in bytes.
const MAX_FRAGMENTED: usize = 16 << 20;

/// Largest cost of reliable batches that wait to be polled, and of those that wait behind them; and
/// of unreliable batches.
const MAX_RELIABLE: u64 = 2 << 20;
const MAX_UNRELIABLE: u64 = 1 << 20;

impl InProcess {
    /// Creates two connected ends.
    #[must_use]
    pub fn pair() -> (Self, Self) {
        let pipe = Arc::new(Mutex::new(Pipe::default()));
        let rendezvous =
            Rendezvous { pipe: pipe.clone(), connection: FIRST, are_dropped: [false; 2] };
        let rendezvous = Arc::new(Mutex::new(rendezvous));
        (Self::new(rendezvous.clone(), pipe.clone(), 0), Self::new(rendezvous, pipe, 1))
    }

    fn new(rendezvous: Arc<Mutex<Rendezvous>>, pipe: Arc<Mutex<Pipe>>, side: usize) -> Self {
        Self {
            rendezvous,
            pipe,
            connection: FIRST,
            side,
            state: EndState::New,
            is_new: false,
            is_paused: false,
            outgoing: Queues::default(),
            incoming: Queues::default(),
            next: 0,
            sent: Amount::default(),
            taken: Amount::default(),
            path: new_path(),
            now: Duration::ZERO,
        }
    }

    /// Returns the reliable batches that the other end has not taken yet.
    fn waiting(&self) -> Amount {
        self.sent.without(self.taken)
    }

    fn clear(&mut self) {
        self.outgoing = Queues::default();
        self.incoming = Queues::default();
        self.is_new = false;
    }

    /// The newest connection, if this end had one before it and that is over.
    fn newer(&self) -> Option<(Arc<Mutex<Pipe>>, Connection)> {
        if !matches!(self.state, EndState::Over) {
            return None;
        }
        let rendezvous = lock(&self.rendezvous);
        (rendezvous.connection > self.connection)
            .then(|| (rendezvous.pipe.clone(), rendezvous.connection))
    }

    /// Takes part in another connection.
    fn begin(&mut self, pipe: Arc<Mutex<Pipe>>, connection: Connection) {
        self.clear();
        (self.pipe, self.connection) = (pipe, connection);
        (self.state, self.is_new, self.next) = (EndState::Open, true, 0);
        (self.sent, self.taken) = (Amount::default(), Amount::default());
        self.path = new_path();
    }
}

impl Transport for InProcess {
    fn handle_input(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.is_paused = false;
        if matches!(self.state, EndState::New) {
            self.state = EndState::Open;
            self.is_new = true;
        }
        if let Some((pipe, connection)) = self.newer() {
            self.begin(pipe, connection);
        }
        if !matches!(self.state, EndState::Open) {
            return;
        }
        let mut pipe = lock(&self.pipe);
        self.taken = pipe.directions[self.side].taken;
        let direction = &mut pipe.directions[1 - self.side];
        // A receiver that polls too little makes the sender wait. After a close the sender cannot
        // send more, so all is taken.
        let limit = if direction.end.is_some() { u64::MAX } else { MAX_RELIABLE };
        let reliable = self.incoming.reliable.append(&mut direction.queues.reliable, limit);
        direction.taken = direction.taken.with(reliable);
        let unreliable =
            self.incoming.unreliable.append(&mut direction.queues.unreliable, u64::MAX);
        self.path.dropped += self.incoming.unreliable.drop_oldest(MAX_UNRELIABLE);
        let came = reliable.with(unreliable);
        self.path.packets_received += came.batches;
        self.path.bytes_received += came.bytes;
        if let Some(reason) = direction.end.take() {
            self.outgoing = Queues::default();
            self.state = EndState::Ended(reason);
        }
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        if core::mem::take(&mut self.is_new) {
            return Some(Event::Connected { connection: self.connection, address: None });
        }
        // Batches that a pause holds back come before the end too.
        if self.incoming.is_empty() {
            if !matches!(self.state, EndState::Ended(_)) {
                return None;
            }
            let EndState::Ended(reason) = core::mem::replace(&mut self.state, EndState::Over)
            else {
                return None;
            };
            return Some(Event::Disconnected { connection: self.connection, reason });
        }
        let (delivery, batch) = self.incoming.pop(self.is_paused)?;
        Some(Event::Batch { from: self.connection, delivery, batch })
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        if to != self.connection || !matches!(self.state, EndState::Open) {
            return Err(NotSentError::NotConnected(to));
        }
        let limit = if delivery.fragments() { MAX_FRAGMENTED } else { MAX_DATAGRAM };
        if batch.len() > limit {
            return Err(NotSentError::TooLarge { size: batch.len(), limit });
        }
        if delivery.is_reliable() {
            let waiting = self.waiting();
            let mut more = waiting;
            more.add(batch.len());
            // A single batch is always taken, or the largest could never be sent.
            if waiting.batches > 0 && more.cost() > MAX_RELIABLE {
                return Err(NotSentError::Full { backlog: waiting.bytes as usize });
            }
            self.sent.add(batch.len());
        }
        self.path.packets_sent += 1;
        self.path.bytes_sent += batch.len() as u64;
        self.path.dropped += self.outgoing.push(self.next, delivery, batch);
        self.next += 1;
        Ok(())
    }

    fn pause(&mut self, connection: Connection) {
        self.is_paused |= connection == self.connection;
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        if connection != self.connection || matches!(self.state, EndState::New) {
            return;
        }
        // The application closed the connection itself, and gets no more events of it.
        self.incoming = Queues::default();
        self.is_new = false;
        self.state = match self.state {
            EndState::Open => EndState::Closing(reason.clone()),
            EndState::Closing(_) => return,
            _ => EndState::Over,
        };
    }

    fn handle_output(&mut self, now: Duration) {
        self.now = self.now.max(now);
        if !matches!(self.state, EndState::Open | EndState::Closing(_)) {
            return;
        }
        let mut pipe = lock(&self.pipe);
        let direction = &mut pipe.directions[self.side];
        self.taken = direction.taken;
        // Batches that were sent in the frame of the close go before it.
        self.path.dropped += self.outgoing.move_to(&mut direction.queues);
        if matches!(self.state, EndState::Closing(_))
            && let EndState::Closing(reason) = core::mem::replace(&mut self.state, EndState::Over)
        {
            direction.end = Some(reason);
            drop(pipe);
            self.clear();
        }
    }

    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        match self.state {
            EndState::Over => {}
            EndState::Closing(_) => self.handle_output(now),
            _ => return Err(ReconnectError::Connected),
        }
        let (pipe, connection) = match self.newer() {
            // The other end has connected again.
            Some(newer) => newer,
            None => {
                let mut rendezvous = lock(&self.rendezvous);
                if rendezvous.are_dropped[1 - self.side] {
                    return Err(ReconnectError::Failed(Cause::text("the other end was dropped")));
                }
                rendezvous.connection = Connection(self.connection.0 + 1);
                rendezvous.pipe = Arc::default();
                (rendezvous.pipe.clone(), rendezvous.connection)
            }
        };
        self.begin(pipe, connection);
        Ok(())
    }

    fn limits(&self) -> TransportLimits {
        TransportLimits { max_connections: None, max_fragmented: Some(self.path.max_fragmented) }
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        if connection != self.connection || !matches!(self.state, EndState::Open) {
            return None;
        }
        let room = MAX_UNRELIABLE.saturating_sub(self.outgoing.unreliable.cost() + 64);
        let backlog = self.waiting().bytes as usize;
        Some(Path { backlog, datagram_room: room as usize, ..self.path })
    }

    fn next_time(&self) -> Option<Duration> {
        let is_due = match &self.state {
            EndState::New | EndState::Closing(_) => true,
            EndState::Open => {
                let pipe = lock(&self.pipe);
                let direction = &pipe.directions[1 - self.side];
                !self.outgoing.is_empty()
                    || !direction.queues.is_empty()
                    || direction.end.is_some()
                    || pipe.directions[self.side].taken != self.taken
            }
            EndState::Ended(_) => false,
            EndState::Over => self.newer().is_some(),
        };
        // The next input ends a pause.
        let is_held = self.is_paused && !self.incoming.reliable.is_empty();
        (is_due || is_held).then_some(self.now)
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        lock(&self.rendezvous).are_dropped[self.side] = true;
        let reason = match &self.state {
            EndState::New | EndState::Open => Reason::failed("the other end was dropped"),
            EndState::Closing(reason) => reason.clone(),
            EndState::Ended(_) | EndState::Over => return,
        };
        let mut pipe = lock(&self.pipe);
        let direction = &mut pipe.directions[self.side];
        self.outgoing.move_to(&mut direction.queues);
        direction.end = Some(reason);
    }
}

impl Queues {
    /// Adds a batch, and returns the number of unreliable batches that were dropped for it.
    fn push(&mut self, number: u64, delivery: Delivery, batch: &[u8]) -> u64 {
        if delivery.is_reliable() {
            self.reliable.push(number, delivery, batch);
            return 0;
        }
        self.unreliable.push(number, delivery, batch);
        self.unreliable.drop_oldest(MAX_UNRELIABLE)
    }

    /// Takes the batch that was sent first; in a pause, the first unreliable one.
    fn pop(&mut self, is_paused: bool) -> Option<(Delivery, &[u8])> {
        let is_before = |unreliable| self.reliable.front().is_none_or(|number| unreliable < number);
        match self.unreliable.front() {
            Some(number) if is_paused || is_before(number) => self.unreliable.pop(),
            _ if is_paused => None,
            _ => self.reliable.pop(),
        }
    }

    /// Moves all batches behind those of `other`, and returns the number of dropped unreliable
    /// ones.
    fn move_to(&mut self, other: &mut Self) -> u64 {
        other.reliable.append(&mut self.reliable, u64::MAX);
        other.unreliable.append(&mut self.unreliable, u64::MAX);
        other.unreliable.drop_oldest(MAX_UNRELIABLE)
    }

    fn is_empty(&self) -> bool {
        self.reliable.is_empty() && self.unreliable.is_empty()
    }
}

/// The path of a connection over which nothing was sent.
fn new_path() -> Path {
    Path { max_datagram: MAX_DATAGRAM, max_fragmented: MAX_FRAGMENTED, ..Path::default() }
}

/// A thread that panicked elsewhere leaves queues that can be used.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
