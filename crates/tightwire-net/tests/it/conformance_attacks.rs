//! Transports that keep almost every promise: the suite finds them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tightwire::Delivery;
use tightwire::transport::conformance::{self, Clock, Options, Pair};
use tightwire::transport::{
    Connection, Event, InProcess, NotSentError, Reason, Transport, TransportWrapper,
};

fn judge<T: Transport>(mut wrap: impl FnMut(InProcess) -> T) -> Result<(), String> {
    let make = || {
        let (client, server) = InProcess::pair();
        Pair { client: wrap(client), server: wrap(server), clock: Clock::jumping() }
    };
    let options = Options { batches: 2000, ..Options::default() };
    conformance::run(make, &options).map(drop).map_err(|broken| broken.to_string())
}

macro_rules! wraps_in_process {
    () => {
        type Inner = InProcess;

        fn inner(&self) -> &InProcess {
            &self.inner
        }

        fn inner_mut(&mut self) -> &mut InProcess {
            &mut self.inner
        }
    };
}

/// A transport that claims to carry 16 megabytes, and loses batches of more than 400 kilobytes.
struct LosesTheLargest {
    inner: InProcess,
}

impl TransportWrapper for LosesTheLargest {
    wraps_in_process!();

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        if (400_000..=16 << 20).contains(&batch.len()) {
            return Ok(());
        }
        self.inner.send(to, delivery, batch)
    }
}

#[test]
fn the_suite_finds_losses_of_the_largest_batches() {
    assert!(judge(|inner| LosesTheLargest { inner }).is_err());
}

/// Hands out each smallest batch that is unreliable and sequenced after a later one.
struct LateTiny {
    inner: InProcess,
    kept: VecDeque<Vec<u8>>,
    due: VecDeque<Vec<u8>>,
    quiet: u32,
    current: Vec<u8>,
}

impl TransportWrapper for LateTiny {
    wraps_in_process!();

    fn handle_input(&mut self, now: Duration) {
        self.inner.handle_input(now);
        self.quiet += 1;
        if self.quiet > 20 {
            self.due.append(&mut self.kept);
        }
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.kept.clear();
        self.due.clear();
        self.inner.close(connection, reason);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let late = Delivery::UnreliableSequenced;
        if let Some(batch) = self.due.pop_front() {
            self.current = batch;
            let from = Connection(1);
            return Some(Event::Batch { from, delivery: late, batch: &self.current });
        }
        loop {
            match self.inner.poll_event()? {
                Event::Batch { delivery, batch, .. } if delivery == late && batch.len() == 3 => {
                    self.kept.push_back(batch.to_vec());
                }
                Event::Batch { from, delivery, batch } => {
                    if delivery == late {
                        self.quiet = 0;
                        self.due.append(&mut self.kept);
                    }
                    self.current = batch.to_vec();
                    return Some(Event::Batch { from, delivery, batch: &self.current });
                }
                Event::Connected { connection, address } => {
                    return Some(Event::Connected { connection, address });
                }
                Event::Disconnected { connection, reason } => {
                    return Some(Event::Disconnected { connection, reason });
                }
                _ => return None,
            }
        }
    }
}

#[test]
fn the_suite_finds_late_small_batches() {
    let wrap = |inner| LateTiny {
        inner,
        kept: VecDeque::new(),
        due: VecDeque::new(),
        quiet: 0,
        current: Vec::new(),
    };
    assert!(judge(wrap).is_err());
}

/// Keeps any number of unreliable batches for an end that does not look.
struct Hoarder {
    inner: InProcess,
    to: Arc<Mutex<VecDeque<Vec<u8>>>>,
    from: Arc<Mutex<VecDeque<Vec<u8>>>>,
    is_open: bool,
    current: Vec<u8>,
}

impl TransportWrapper for Hoarder {
    wraps_in_process!();

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        if delivery == Delivery::Unreliable && batch.len() <= 1200 && self.inner.path(to).is_some()
        {
            self.to.lock().unwrap().push_back(batch.to_vec());
            return Ok(());
        }
        self.inner.send(to, delivery, batch)
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.is_open &= connection != Connection(1);
        self.inner.close(connection, reason);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        if self.is_open
            && let Some(batch) = self.from.lock().unwrap().pop_front()
        {
            self.current = batch;
            let delivery = Delivery::Unreliable;
            return Some(Event::Batch { from: Connection(1), delivery, batch: &self.current });
        }
        let event = self.inner.poll_event();
        self.is_open |= matches!(event, Some(Event::Connected { .. }));
        event
    }
}

#[test]
fn the_suite_finds_unbounded_unreliable_queues() {
    let make = || {
        let (client, server) = InProcess::pair();
        let lanes = [0, 1].map(|_| Arc::new(Mutex::new(VecDeque::new())));
        let wrap = |inner, to: usize| Hoarder {
            inner,
            to: lanes[to].clone(),
            from: lanes[1 - to].clone(),
            is_open: false,
            current: Vec::new(),
        };
        Pair { client: wrap(client, 0), server: wrap(server, 1), clock: Clock::jumping() }
    };
    let options = Options { batches: 2000, ..Options::default() };
    assert!(conformance::run(make, &options).is_err());
}

/// Holds unreliable batches back in a pause, too.
struct PausesAll {
    inner: InProcess,
    is_paused: bool,
}

impl TransportWrapper for PausesAll {
    wraps_in_process!();

    fn handle_input(&mut self, now: Duration) {
        self.is_paused = false;
        self.inner.handle_input(now);
    }

    fn pause(&mut self, connection: Connection) {
        self.is_paused |= connection == Connection(1);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        if self.is_paused { None } else { self.inner.poll_event() }
    }
}

#[test]
fn the_suite_finds_pauses_that_hold_everything_back() {
    assert!(judge(|inner| PausesAll { inner, is_paused: false }).is_err());
}
