//! A transport that hands copies of the play layer's frames to the demo, which shows their
//! contents.

use std::sync::mpsc::Sender;

use tightwire::Delivery;
use tightwire::message::frame_in;
use tightwire::transport::{Connection, Event, NotSentError, Transport, TransportWrapper};

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

impl<T: Transport> TransportWrapper for Tap<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.transport
    }

    fn inner_mut(&mut self) -> &mut T {
        &mut self.transport
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
}
