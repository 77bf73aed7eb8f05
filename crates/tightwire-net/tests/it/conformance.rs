//! The conformance suite finds faults: each transport here breaks one promise.

use std::collections::VecDeque;
use std::time::Duration;

use tightwire::Delivery::{
    self, Reliable, ReliableOrdered, ReliableOrderedFragmented, Unreliable, UnreliableSequenced,
};
use tightwire::transport::conformance::{self, Clock, Fault, Options, Pair};
use tightwire::transport::{Connection, Event, InProcess, NotSentError, Path, Reason, Transport};

/// Fault of a transport. Batches are counted for each delivery; the fault affects one of them.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Act {
    Nothing,
    Drop(Delivery),
    Double(Delivery),
    SwapWithNext(Delivery),
    Flip(Delivery),
    Cut(Delivery),
    /// The batch arrives with another delivery.
    Relabel(Delivery),
    /// The batch arrives once more after ten others.
    Late(Delivery),
    ConnectTwice,
    NeverConnect,
    IgnorePause,
    LoseInPause,
    NeverFull,
    AcceptTooLarge,
    AcceptAnybody,
    LoseClose,
    LoseReason,
    CloseTwice,
    EndBeforeBatches,
    EventAfterClose,
    PathAfterClose,
    DropOut,
}

const VICTIM: u32 = 120;

/// Number of an affected batch among the smallest ones, which have little content to identify them
/// by.
const TINY_VICTIM: u32 = 100;

/// A transport with a fault around one without.
struct Saboteur {
    inner: InProcess,
    act: Act,
    victim: u32,
    counts: [u32; 5],
    events: VecDeque<ScriptedEvent>,
    /// An event to be returned after this many other batches.
    held: Option<(u32, ScriptedEvent)>,
    current: ScriptedEvent,
    closed: Option<Connection>,
    unsent: VecDeque<(Connection, Delivery, Vec<u8>)>,
}

#[derive(Clone)]
enum ScriptedEvent {
    Connected(Connection),
    Batch(Connection, Delivery, Vec<u8>),
    Disconnected(Connection, Reason),
}

impl Saboteur {
    fn new(inner: InProcess, act: Act, victim: u32) -> Self {
        let current = ScriptedEvent::Connected(Connection(0));
        let (events, unsent) = (VecDeque::new(), VecDeque::new());
        let (counts, held, closed) = ([0; 5], None, None);
        Self { inner, act, victim, counts, events, held, current, closed, unsent }
    }

    /// Takes an event of the inner transport.
    fn handle(&mut self, event: ScriptedEvent) {
        match (event, self.act) {
            (ScriptedEvent::Connected(_), Act::NeverConnect) => {}
            (event @ ScriptedEvent::Connected(_), Act::ConnectTwice) => {
                self.events.extend([event.clone(), event]);
            }
            (ScriptedEvent::Batch(from, delivery, bytes), _) => {
                self.handle_batch(from, delivery, bytes);
            }
            (ScriptedEvent::Disconnected(..), Act::LoseClose) => {}
            (ScriptedEvent::Disconnected(connection, _), Act::LoseReason) => {
                self.events.push_back(ScriptedEvent::Disconnected(connection, Reason::TimedOut));
            }
            (event @ ScriptedEvent::Disconnected(..), Act::CloseTwice) => {
                self.events.extend([event.clone(), event]);
            }
            (event @ ScriptedEvent::Disconnected(..), Act::EndBeforeBatches) => {
                self.events.push_front(event);
            }
            (event, _) => self.events.push_back(event),
        }
    }

    fn handle_batch(&mut self, from: Connection, delivery: Delivery, mut bytes: Vec<u8>) {
        let count = &mut self.counts[delivery as usize];
        let is_victim = *count == self.victim;
        *count += 1;
        let batch = ScriptedEvent::Batch(from, delivery, bytes.clone());
        if let Some((left, _)) = &mut self.held
            && matches!(self.act, Act::SwapWithNext(of) | Act::Late(of) if of == delivery)
        {
            *left -= 1;
            if *left == 0 {
                let held = self.held.take().map(|(_, held)| held);
                self.events.push_back(batch);
                return self.events.extend(held);
            }
        }
        if !is_victim {
            return self.events.push_back(batch);
        }
        match self.act {
            Act::Drop(of) if of == delivery => return,
            Act::Double(of) if of == delivery => self.events.push_back(batch),
            Act::SwapWithNext(of) if of == delivery => {
                self.held = Some((1, batch));
                return;
            }
            Act::Late(of) if of == delivery => self.held = Some((10, batch)),
            Act::Flip(of) if of == delivery => *bytes.last_mut().unwrap() ^= 0x10,
            Act::Cut(of) if of == delivery => drop(bytes.pop()),
            Act::Relabel(of) if of == delivery => {
                let other = Delivery::ALL[(delivery as usize + 1) % 4];
                return self.events.push_back(ScriptedEvent::Batch(from, other, bytes));
            }
            Act::DropOut => {
                let reason = Reason::failed("as it likes");
                return self.events.push_back(ScriptedEvent::Disconnected(from, reason));
            }
            _ => {}
        }
        self.events.push_back(ScriptedEvent::Batch(from, delivery, bytes));
    }
}

impl Transport for Saboteur {
    fn handle_input(&mut self, now: Duration) {
        self.inner.handle_input(now);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        while let Some(event) = self.inner.poll_event() {
            let event = match event {
                Event::Connected { connection, .. } => ScriptedEvent::Connected(connection),
                Event::Batch { from, delivery, batch } => {
                    ScriptedEvent::Batch(from, delivery, batch.to_vec())
                }
                Event::Disconnected { connection, reason } => {
                    ScriptedEvent::Disconnected(connection, reason)
                }
                event => panic!("{event:?}"),
            };
            self.handle(event);
            // One event at a time, or a pause would come too late. Only the fault in the order of
            // the end looks ahead.
            if self.act != Act::EndBeforeBatches || self.inner.path(Connection(1)).is_some() {
                break;
            }
        }
        self.current = self.events.pop_front()?;
        Some(match &self.current {
            ScriptedEvent::Connected(connection) => {
                Event::Connected { connection: *connection, address: None }
            }
            ScriptedEvent::Batch(from, delivery, batch) => {
                Event::Batch { from: *from, delivery: *delivery, batch }
            }
            ScriptedEvent::Disconnected(connection, reason) => {
                Event::Disconnected { connection: *connection, reason: reason.clone() }
            }
        })
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let limit = if delivery.fragments() { 16 << 20 } else { 1200 };
        if self.act == Act::NeverFull && self.inner.path(to).is_some() && batch.len() <= limit {
            self.unsent.push_back((to, delivery, batch.to_vec()));
            return Ok(());
        }
        match (self.inner.send(to, delivery, batch), self.act) {
            (Err(NotSentError::TooLarge { .. }), Act::AcceptTooLarge) => Ok(()),
            (Err(NotSentError::NotConnected(_)), Act::AcceptAnybody) => Ok(()),
            (said, _) => said,
        }
    }

    fn pause(&mut self, connection: Connection) {
        match self.act {
            Act::IgnorePause => {}
            Act::LoseInPause => {
                // Drops the batch that the pause would hold back.
                let _ = self.inner.poll_event();
                self.inner.pause(connection);
            }
            _ => self.inner.pause(connection),
        }
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.inner.close(connection, reason);
        self.closed = Some(connection);
        if self.act == Act::EventAfterClose && connection == Connection(1) {
            self.events.push_back(ScriptedEvent::Disconnected(connection, reason.clone()));
        }
    }

    fn handle_output(&mut self, now: Duration) {
        while let Some((to, delivery, bytes)) = self.unsent.front() {
            if matches!(self.inner.send(*to, *delivery, bytes), Err(NotSentError::Full { .. })) {
                break;
            }
            self.unsent.pop_front();
        }
        self.inner.handle_output(now);
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        if self.act == Act::PathAfterClose && self.closed == Some(connection) {
            return Some(Path::default());
        }
        self.inner.path(connection)
    }

    fn next_time(&self) -> Option<Duration> {
        self.inner.next_time()
    }
}

fn judge(act: Act, victim: u32) -> Result<conformance::Report, conformance::ConformanceError> {
    let make_pair = || {
        let (client, server) = InProcess::pair();
        Pair { client, server: Saboteur::new(server, act, victim), clock: Clock::jumping() }
    };
    let options = Options { batches: 300, max_backlog: 6 << 20, ..Options::default() };
    conformance::run(make_pair, &options)
}

#[track_caller]
fn check_victim(act: Act, victim: u32, expected: &str) {
    let broken = judge(act, victim).expect_err("the suite should find it");
    println!("{act:?} -> {broken}");
    assert_eq!(broken.to_string(), format!("{}: {expected}", broken.check), "{act:?}");
}

#[track_caller]
fn check(act: Act, expected: &str) {
    check_victim(act, VICTIM, expected);
}

#[test]
fn a_transport_that_does_nothing_wrong_passes() {
    judge(Act::Nothing, VICTIM).unwrap();
}

#[test]
fn lost_batches_are_found() {
    for delivery in Delivery::ALL {
        let count = format!("server: {delivery:?}: 299 of 300 batches arrived");
        let found = format!("{count}; the first missing one is 120");
        check(Act::Drop(delivery), &found);
    }
    let count = "server: Reliable: 299 of 300 batches arrived";
    check_victim(Act::Drop(Reliable), TINY_VICTIM, count);
    let count = "server: ReliableOrdered: 299 of 300 batches arrived; the first missing one is 100";
    check_victim(Act::Drop(ReliableOrdered), TINY_VICTIM, count);
}

#[test]
fn doubled_batches_are_found_where_they_may_not_be() {
    for delivery in &Delivery::ALL[1..] {
        let found = format!("server: {delivery:?}: batch 120 arrived twice");
        check(Act::Double(*delivery), &found);
    }
    let report = judge(Act::Double(Unreliable), VICTIM).unwrap();
    assert_eq!(report.deliveries[0].duplicated, 1);
    let found = "server: Reliable: batch 100 arrived twice";
    check_victim(Act::Double(Reliable), TINY_VICTIM, found);
}

#[test]
fn batches_out_of_order_are_found_where_there_is_an_order() {
    for delivery in [UnreliableSequenced, ReliableOrdered, ReliableOrderedFragmented] {
        let found = format!("server: {delivery:?}: batch 120 arrived after batch 121");
        check(Act::SwapWithNext(delivery), &found);
    }
    for delivery in [Unreliable, Reliable] {
        let report = judge(Act::SwapWithNext(delivery), VICTIM).unwrap();
        assert_eq!(report.deliveries[delivery as usize].overtaken, 1);
    }
    let found = "server: ReliableOrdered: batch 100 arrived after batch 101";
    check_victim(Act::SwapWithNext(ReliableOrdered), TINY_VICTIM, found);
}

#[test]
fn late_batches_are_found() {
    let found = "server: UnreliableSequenced: batch 120 arrived after batch 130";
    check(Act::Late(UnreliableSequenced), found);
    check(Act::Late(Reliable), "server: Reliable: batch 120 arrived twice");
}

#[test]
fn changed_batches_are_found() {
    for delivery in Delivery::ALL {
        for act in [Act::Flip(delivery), Act::Cut(delivery), Act::Relabel(delivery)] {
            let broken = judge(act, VICTIM).expect_err("the suite should find it");
            println!("{act:?} -> {broken}");
            assert!(matches!(broken.fault, Fault::Changed { .. }), "{act:?}: {broken}");
        }
    }
}

#[test]
fn connections_that_come_twice_or_never_or_end_are_found() {
    check(Act::ConnectTwice, "server: connected twice");
    check(Act::NeverConnect, "server: the ends did not connect");
    let found = "server: the connection ended by itself: the connection failed: as it likes";
    check(Act::DropOut, found);
}

#[test]
fn a_pause_that_is_none_is_found() {
    check(Act::IgnorePause, "server: ReliableOrdered: a batch arrived during a pause");
    let broken = judge(Act::LoseInPause, VICTIM).expect_err("the suite should find it");
    assert!(matches!(broken.fault, Fault::Lost { .. }), "{broken}");
}

#[test]
fn accepted_invalid_batches_are_found() {
    let found = "server: a batch was accepted that should be refused as too large";
    check(Act::AcceptTooLarge, found);
    let found = "server: a batch was accepted that should be refused as not connected";
    check(Act::AcceptAnybody, found);
    let broken = judge(Act::NeverFull, VICTIM).expect_err("the suite should find it");
    println!("{broken}");
    assert!(matches!(broken.fault, Fault::Unbounded { .. }), "{broken}");
}

#[test]
fn missing_and_wrong_close_reasons_are_found() {
    check(Act::LoseClose, "server: the connection was closed, and the other end got no event");
    let found = "server: closed with reason \"the client disconnected\", received \"timed out: nothing was received from the other side\"";
    check(Act::LoseReason, found);
    check(Act::CloseTwice, "server: an event of an unknown connection");
    let found = "server: the end was reported after 0 of 150 batches";
    check(Act::EndBeforeBatches, found);
    check(Act::EventAfterClose, "server: an event after this end closed the connection");
    check(Act::PathAfterClose, "server: path: `Some` for a connection that has ended");
}
