//! A transport and a socket that measure the time in them.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tightwire::Delivery;
use tightwire::quic::{Filter, Packet, Packets, Socket};
use tightwire::transport::{Connection, Event, NotSentError, Path, Transport, TransportWrapper};

/// Time that was spent, and bytes that were sent. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    time: Rc<Cell<Duration>>,
    bytes: Rc<Cell<u64>>,
}

impl Spent {
    pub fn time(&self) -> Duration {
        self.time.get()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    fn measure<R>(&self, start: Instant, result: R) -> R {
        self.time.set(self.time.get() + start.elapsed());
        result
    }
}

/// A transport whose calls are measured.
pub struct Timed<T> {
    pub transport: T,
    pub spent: Spent,
}

impl<T: Transport> TransportWrapper for Timed<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.transport
    }

    fn inner_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    fn handle_input(&mut self, now: Duration) {
        let start = Instant::now();
        self.transport.handle_input(now);
        self.spent.measure(start, ());
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let start = Instant::now();
        let event = self.transport.poll_event();
        self.spent.measure(start, event)
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let start = Instant::now();
        let sent = self.transport.send(to, delivery, batch);
        self.spent.measure(start, sent)
    }

    fn handle_output(&mut self, now: Duration) {
        let start = Instant::now();
        self.transport.handle_output(now);
        self.spent.measure(start, ());
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        let start = Instant::now();
        let path = self.transport.path(connection);
        self.spent.measure(start, path)
    }
}

/// A socket whose calls are measured. The time in which received packets are handled is QUIC's.
#[derive(Debug)]
pub struct TimedSocket<S> {
    pub socket: S,
    pub spent: Spent,
}

impl<S: Socket> Socket for TimedSocket<S> {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        let start = Instant::now();
        let mut handled = Duration::ZERO;
        self.socket.receive(now, &mut |packet| {
            let start = Instant::now();
            let more = take(packet);
            handled += start.elapsed();
            more
        });
        let time = start.elapsed().saturating_sub(handled);
        self.spent.time.set(self.spent.time.get() + time);
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        let start = Instant::now();
        let sent = self.socket.send(now, packets);
        self.spent.bytes.set(self.spent.bytes.get() + packets.bytes.len() as u64);
        self.spent.measure(start, sent)
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn max_packets(&self) -> usize {
        self.socket.max_packets()
    }

    fn finds_mtu(&self) -> bool {
        self.socket.finds_mtu()
    }

    fn set_filter(&mut self, filter: &Filter) -> bool {
        self.socket.set_filter(filter)
    }

    fn next_time(&self) -> Option<Duration> {
        self.socket.next_time()
    }
}
