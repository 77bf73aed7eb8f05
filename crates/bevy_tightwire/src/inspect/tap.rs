//! A transport whose snapshots are decoded a second time.

use core::time::Duration;

use tightwire::message::{Delivery, frame_in};
use tightwire::transport::{Connection, Event, NotSentError, Reason, TransportWrapper};

use super::Decoder;
use crate::face::AnyTransport;

/// A transport that gives the snapshots of one connection to a [`Decoder`].
pub(super) struct Tap {
    transport: AnyTransport,
    decoder: Decoder,
    /// The connection whose snapshots are decoded; `None` before the first one.
    watched: Option<Connection>,
    now: Duration,
}

impl Tap {
    pub(super) fn new(transport: AnyTransport, decoder: Decoder) -> Self {
        Self { transport, decoder, watched: None, now: Duration::ZERO }
    }
}

/// Returns the snapshot in a batch; `None` if it has none.
fn snapshot_in(batch: &[u8], delivery: Delivery) -> Option<&[u8]> {
    let (number, body) = frame_in(batch, delivery)?;
    if number == SNAPSHOT_FRAME { body.get(PLAY_HEADER..) } else { None }
}

/// Number of frames that are snapshots, and bytes of the play layer before the snapshot: see
/// docs/WIRE.md.
const SNAPSHOT_FRAME: u8 = 8;
const PLAY_HEADER: usize = 2;

impl TransportWrapper for Tap {
    type Inner = AnyTransport;

    fn inner(&self) -> &AnyTransport {
        &self.transport
    }

    fn inner_mut(&mut self) -> &mut AnyTransport {
        &mut self.transport
    }

    fn handle_input(&mut self, now: Duration) {
        self.now = now;
        self.transport.handle_input(now);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let event = self.transport.poll_event();
        match &event {
            // A client has one connection at a time.
            Some(Event::Batch { from, delivery, batch }) => {
                if let Some(packet) = snapshot_in(batch, *delivery) {
                    if self.watched != Some(*from) {
                        self.watched = Some(*from);
                        self.decoder.start_over();
                    }
                    self.decoder.handle_snapshot(self.now, packet);
                }
            }
            Some(Event::Disconnected { connection, .. }) if self.watched == Some(*connection) => {
                self.watched = None;
            }
            _ => {}
        }
        event
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        if let Some(packet) = snapshot_in(batch, delivery) {
            if self.watched.is_none() {
                self.watched = Some(to);
                self.decoder.start_over();
            }
            if self.watched == Some(to) {
                self.decoder.handle_snapshot(self.now, packet);
            }
        }
        self.transport.send(to, delivery, batch)
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        if self.watched == Some(connection) {
            self.watched = None;
        }
        self.transport.close(connection, reason);
    }
}
