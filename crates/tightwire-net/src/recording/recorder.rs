//! A transport that records the session above it.

use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::message::Delivery;
use tightwire_core::packet::Identity;
use tightwire_core::stream::Wire;

use super::error::VERSION;
use super::record::{self, MAGIC, Record, RecordedPath, RecordingHeader, SendResult, nanos};
use crate::reason::Reason;
use crate::session::SessionConfig;
use crate::transport::{
    Connection, Event, NotSentError, Path, ReconnectError, Transport, TransportWrapper,
};

/// A [`Transport`] that wraps another and records all of its results in a file: enough for a
/// [`Replay`](crate::recording::Replay) to repeat the session.
///
/// Received batches are in the file before they are handled, so the message that crashes the
/// program is in it, too. A write error ends the recording but not the session: see
/// [`error`](Self::error).
///
/// ```
/// use std::time::Duration;
/// use tightwire::{Context, Message, Wire};
/// use tightwire::{Server, SessionConfig};
/// use tightwire::recording::{Recorder, Replay};
/// # use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};
/// # struct Nowhere;
/// # impl Transport for Nowhere {
/// #     fn handle_input(&mut self, _: Duration) {}
/// #     fn poll_event(&mut self) -> Option<Event<'_>> { None }
/// #     fn send(&mut self, to: Connection, _: tightwire::Delivery, _: &[u8]) -> Result<(), NotSentError> {
/// #         Err(NotSentError::NotConnected(to))
/// #     }
/// #     fn pause(&mut self, _: Connection) {}
/// #     fn close(&mut self, _: Connection, _: &Reason) {}
/// #     fn handle_output(&mut self, _: Duration) {}
/// #     fn path(&self, _: Connection) -> Option<Path> { None }
/// #     fn next_time(&self) -> Option<Duration> { None }
/// # }
///
/// #[derive(Wire, Message, Default)]
/// struct Jump;
///
/// fn server<T: Transport>(config: SessionConfig, transport: T) -> Server<u32, T> {
///     let builder = Server::builder(config).open_to_anyone();
///     builder.handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1).build(transport).unwrap()
/// }
///
/// let config = SessionConfig::new("arena", "1.0");
/// let recorder = Recorder::new(Nowhere, Vec::new(), &config)?;
/// let mut live = server(config, recorder);
/// live.receive(Duration::from_millis(16), &mut 0);
/// live.transmit(Duration::from_millis(16));
/// let file = live.transport().file(Vec::clone);
///
/// let replay = Replay::new(&file[..])?;
/// let mut again = server(replay.config(SessionConfig::default()), replay);
/// let mut ticks = 0;
/// while let Some(step) = again.transport_mut().next_step() {
///     again.receive(step.receive_at, &mut 0);
///     step.transmit_at.into_iter().for_each(|now| again.transmit(now));
///     ticks += 1;
/// }
/// assert_eq!((ticks, again.seed()), (1, live.seed()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recorder<T, W> {
    transport: T,
    log: RefCell<Log<W>>,
}

/// The file, with the state that its records need.
struct Log<W> {
    file: W,
    space: Vec<u8>,
    error: Option<io::Error>,
    /// Last recorded path of each connection: paths that did not change would be most of the file.
    paths: BTreeMap<u64, Option<RecordedPath>>,
}

impl<T: Transport, W: Write> Recorder<T, W> {
    /// Records the results of `transport` in `file`, for a session with this configuration.
    ///
    /// # Errors
    ///
    /// Errors of `file` when the header is written.
    pub fn new(transport: T, mut file: W, config: &SessionConfig) -> io::Result<Self> {
        let mut header = RecordingHeader {
            version: VERSION,
            seed: config.seed,
            unix_start: nanos(config.unix_start),
            game: config.game.clone(),
            game_version: config.version.clone(),
        };
        let mut space = Vec::new();
        file.write_all(&MAGIC)?;
        record::write(&mut header, &mut space, &mut file)?;
        let log = Log { file, space, error: None, paths: BTreeMap::new() };
        Ok(Self { transport, log: RefCell::new(log) })
    }

    /// Records the identity of the session's messages, for tools that decode them without the
    /// program.
    pub fn describe(&mut self, identity: &Identity) {
        self.log.get_mut().write(&mut Record::Identity(Box::new(identity.clone())));
    }

    /// Returns the kind of the write error that ended the recording; `None` while it goes on.
    #[must_use]
    pub fn error(&self) -> Option<io::ErrorKind> {
        self.log.borrow().error.as_ref().map(io::Error::kind)
    }

    /// Calls `look` with the file.
    pub fn file<A>(&self, look: impl FnOnce(&W) -> A) -> A {
        look(&self.log.borrow().file)
    }
}

impl<W: Write> Log<W> {
    fn write(&mut self, record: &mut impl Wire) {
        if self.error.is_none() {
            self.error = record::write(record, &mut self.space, &mut self.file).err();
        }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.file.flush().err();
        }
    }
}

impl<T: Transport, W: Write> TransportWrapper for Recorder<T, W> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.transport
    }

    fn inner_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    fn handle_input(&mut self, now: Duration) {
        self.log.get_mut().write(&mut Record::Input { nanos: nanos(now) });
        self.transport.handle_input(now);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let event = self.transport.poll_event();
        let log = self.log.get_mut();
        log.write(&mut Record::of(event.as_ref()));
        if let Some(Event::Disconnected { connection, .. }) = &event {
            log.paths.remove(&connection.0);
        }
        if event.is_none() {
            // Received batches are in the file before they are handled.
            log.flush();
        }
        event
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let result = self.transport.send(to, delivery, batch);
        let checksum = crc32fast::hash(batch);
        let mut record = Record::Sent { to: to.0, checksum, result: SendResult::of(result) };
        self.log.get_mut().write(&mut record);
        result
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.transport.close(connection, reason);
        let log = self.log.get_mut();
        log.write(&mut Record::Closed { connection: connection.0, reason: reason.clone() });
        log.paths.remove(&connection.0);
    }

    fn handle_output(&mut self, now: Duration) {
        self.transport.handle_output(now);
        let log = self.log.get_mut();
        log.write(&mut Record::Output { nanos: nanos(now) });
        log.flush();
    }

    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        let result = self.transport.reconnect(now);
        self.log.get_mut().write(&mut Record::Reconnected { is_begun: result.is_ok() });
        result
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        let path = self.transport.path(connection);
        let seen = path.map(RecordedPath::from);
        let mut log = self.log.borrow_mut();
        // A loss of NaN differs from itself, so it is always recorded.
        if log.paths.insert(connection.0, seen) != Some(seen) {
            log.write(&mut Record::Path { connection: connection.0, path: seen });
        }
        path
    }
}

impl<T, W> fmt::Debug for Recorder<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
