//! Two transports side by side, frame by frame.

use core::time::Duration;

use crate::message::Delivery;

use super::batch::{self, mix};
use super::{End, EndFault, Fault, Options, Pair};
use crate::reason::Reason;
use crate::transport::{Connection, Event, NotSentError, Path, Transport};

/// The two ends of a connected pair.
pub(super) struct Harness<A, B> {
    pair: Pair<A, B>,
    pub(super) options: Options,
    /// Connections at the client and at the server.
    connections: [Connection; 2],
    frames: u64,
    digest: u64,
    /// Last written batch for each end and delivery: a refused batch is kept, not written again.
    written: [[Written; Delivery::ALL.len()]; 2],
}

/// A batch with its number.
#[derive(Default)]
struct Written {
    number: u32,
    bytes: Vec<u8>,
}

/// An event of a connection.
pub(super) enum EndEvent<'a> {
    Connected(Connection),
    Batch(Delivery, &'a [u8]),
    Ended(Reason),
}

impl<A: Transport, B: Transport> Harness<A, B> {
    /// Waits until each end has connected.
    pub(super) fn connect(pair: Pair<A, B>, options: &Options) -> Result<Self, EndFault> {
        // A placeholder until the end has connected.
        let connections = [Connection(u64::MAX); 2];
        let written = Default::default();
        let mut harness =
            Self { pair, options: *options, connections, frames: 0, digest: 0, written };
        let mut are_connected = [false; 2];
        while are_connected != [true; 2] {
            harness.begin_frame();
            for end in End::BOTH {
                let mut connected = None;
                harness.poll_all(end, |event| match event {
                    EndEvent::Connected(_) if connected.is_some() => Err(Fault::ConnectedTwice),
                    EndEvent::Connected(connection) => {
                        connected = Some(connection);
                        Ok(())
                    }
                    EndEvent::Batch(..) => Err(Fault::NoSuchConnection("a batch")),
                    EndEvent::Ended(reason) => Err(Fault::Ended(reason)),
                })?;
                if let Some(connection) = connected {
                    if are_connected[end as usize] {
                        return Err(EndFault { end, fault: Fault::ConnectedTwice });
                    }
                    are_connected[end as usize] = true;
                    harness.connections[end as usize] = connection;
                }
                if !are_connected[end as usize] && harness.now() > options.timeout {
                    return Err(EndFault { end, fault: Fault::NotConnected });
                }
            }
            harness.end_frame(options.frame);
        }
        Ok(harness)
    }

    pub(super) fn now(&self) -> Duration {
        self.pair.clock.now()
    }

    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) fn connection(&self, end: End) -> Connection {
        self.connections[end as usize]
    }

    pub(super) fn transport(&mut self, end: End) -> &mut (dyn Transport + '_) {
        match end {
            End::Client => &mut self.pair.client,
            End::Server => &mut self.pair.server,
        }
    }

    /// Returns the path of an end's connection.
    pub(super) fn path(&mut self, end: End) -> Result<Path, EndFault> {
        let connection = self.connection(end);
        let fault = Fault::Path("`None` for an open connection");
        self.transport(end).path(connection).ok_or(EndFault { end, fault })
    }

    /// Passes input to both ends.
    pub(super) fn begin_frame(&mut self) {
        let now = self.now();
        self.pair.client.handle_input(now);
        self.pair.server.handle_input(now);
    }

    /// Passes output of both ends, and advances the clock.
    pub(super) fn end_frame(&mut self, most: Duration) {
        let Pair { client, server, clock } = &mut self.pair;
        let now = clock.now();
        client.handle_output(now);
        server.handle_output(now);
        let next = client.next_time().into_iter().chain(server.next_time()).min();
        clock.advance(next, most);
        self.frames += 1;
    }

    /// Returns the next event at an end; `None` if there is none.
    pub(super) fn poll(&mut self, end: End) -> Result<Option<EndEvent<'_>>, EndFault> {
        let Self { pair, connections, digest, .. } = self;
        let now = pair.clock.now();
        let transport: &mut dyn Transport = match end {
            End::Client => &mut pair.client,
            End::Server => &mut pair.server,
        };
        let Some(event) = transport.poll_event() else { return Ok(None) };
        let known = connections[end as usize];
        let none = |event| Err(EndFault { end, fault: Fault::NoSuchConnection(event) });
        let mut note = |what: u64| {
            *digest = mix(*digest ^ mix(now.as_nanos() as u64) ^ (what << 1 | end as u64));
        };
        Ok(Some(match event {
            Event::Connected { connection, .. } => {
                note(1);
                EndEvent::Connected(connection)
            }
            Event::Batch { from, .. } if from != known => return none("a batch"),
            Event::Batch { delivery, batch, .. } => {
                let content = u64::from(crc32fast::hash(batch));
                note(content << 8 | (delivery as u64) << 2 | 2);
                EndEvent::Batch(delivery, batch)
            }
            // A failed attempt to connect has a connection without an [`Event::Connected`].
            Event::Disconnected { connection, .. }
                if connection != known && known != Connection(u64::MAX) =>
            {
                return none("the end");
            }
            Event::Disconnected { reason, .. } => {
                note(3);
                EndEvent::Ended(reason)
            }
            // A refused connection attempt. The events after it are polled in the next frame.
            Event::Refused { .. } => return Ok(None),
        }))
    }

    /// Handles all events at an end.
    pub(super) fn poll_all(
        &mut self,
        end: End,
        mut handle: impl FnMut(EndEvent<'_>) -> Result<(), Fault>,
    ) -> Result<(), EndFault> {
        while let Some(event) = self.poll(end)? {
            handle(event).map_err(|fault| EndFault { end, fault })?;
        }
        Ok(())
    }

    /// Handles all batches at an end where no other event is expected.
    pub(super) fn poll_batches(
        &mut self,
        end: End,
        mut handle: impl FnMut(Delivery, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), EndFault> {
        self.poll_all(end, |event| match event {
            EndEvent::Connected(_) => Err(Fault::ConnectedTwice),
            EndEvent::Ended(reason) => Err(Fault::Ended(reason)),
            EndEvent::Batch(delivery, batch) => handle(delivery, batch),
        })
    }

    /// Sends a batch of `length` bytes in all.
    pub(super) fn send(
        &mut self,
        end: End,
        delivery: Delivery,
        number: u32,
        length: usize,
    ) -> Result<(), NotSentError> {
        let Self { pair, connections, written, .. } = self;
        let written = &mut written[end as usize][delivery as usize];
        if written.number != number || written.bytes.len() != length {
            written.number = number;
            batch::write(&mut written.bytes, end, delivery, number, length);
        }
        let (connection, batch) = (connections[end as usize], &written.bytes);
        match end {
            End::Client => pair.client.send(connection, delivery, batch),
            End::Server => pair.server.send(connection, delivery, batch),
        }
    }
}
