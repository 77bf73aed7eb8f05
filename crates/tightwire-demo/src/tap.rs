//! A transport that hands copies of the play layer's frames to the demo, which shows their
//! contents.

use std::sync::mpsc::Sender;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::message::frame_in;
use tightwire::transport::{
    Connection, Event, NotSentError, Path, Reason, ReconnectError, Transport, TransportLimits,
};

/// A frame that passed a [`Tap`].
#[derive(Debug)]
pub(super) enum Tapped {
    /// A snapshot that arrived: all bytes of its frame.
    Snapshot(Vec<u8>),
    /// Number of bytes of inputs that were sent.
    Inputs(usize),
}

/// A client's transport whose frames are tapped.
#[derive(Debug)]
pub(super) struct Tap<T> {
    transport: T,
    tapped: Sender<Tapped>,
}

impl<T> Tap<T> {
    pub(super) fn new(transport: T, tapped: Sender<Tapped>) -> Self {
        Self { transport, tapped }
    }
}

impl<T: Transport> Transport for Tap<T> {
    fn handle_input(&mut self, now: Duration) {
        self.transport.handle_input(now);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let event = self.transport.poll_event();
        if let Some(Event::Batch { delivery, batch, .. }) = &event
            && frame_in(batch, *delivery).is_some()
        {
            // Nobody listens any more when the demo ends.
            let _ = self.tapped.send(Tapped::Snapshot(batch.to_vec()));
        }
        event
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        if frame_in(batch, delivery).is_some() {
            let _ = self.tapped.send(Tapped::Inputs(batch.len()));
        }
        self.transport.send(to, delivery, batch)
    }

    fn pause(&mut self, connection: Connection) {
        self.transport.pause(connection);
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.transport.close(connection, reason);
    }

    fn handle_output(&mut self, now: Duration) {
        self.transport.handle_output(now);
    }

    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        self.transport.reconnect(now)
    }

    fn limits(&self) -> TransportLimits {
        self.transport.limits()
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        self.transport.path(connection)
    }

    fn next_time(&self) -> Option<Duration> {
        self.transport.next_time()
    }
}
