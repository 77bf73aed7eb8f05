//! A transport that replays a recording.

use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use crate::message::Delivery;
use tightwire_core::packet::Identity;

use super::RecordingError;
use super::record::{self, MAGIC, Record, RecordedPath, RecordingHeader};
use crate::reason::Reason;
use crate::session::SessionConfig;
use crate::transport::{Cause, Connection, Event, NotSentError, Path, ReconnectError, Transport};

/// A [`Transport`] that returns the results that a [`Recorder`](crate::recording::Recorder)
/// recorded. A session of the same program, with the [configuration](Self::config) of the recorded
/// session and called at the times of [`next_step`](Self::next_step), has the same state after each
/// step.
///
/// A truncated file, for example after a crash, is played to its end. [`error`](Self::error) returns any
/// other reason why the replay ended.
pub struct Replay<R> {
    header: RecordingHeader,
    reader: RefCell<RecordReader<R>>,
    /// Bytes of the current [`Event::Batch`].
    batch: Vec<u8>,
}

/// Times at which the session was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Time at which the session received.
    pub receive_at: Duration,
    /// Time at which the session handled messages and transmitted. `None` if it received between
    /// two frames.
    pub transmit_at: Option<Duration>,
}

/// The file, read one step at a time.
struct RecordReader<R> {
    file: R,
    space: Vec<u8>,
    /// Number of records read.
    number: u64,
    /// Remaining records of the current step.
    records: VecDeque<Record>,
    /// Time of the next step in nanoseconds; `None` until its first record was read.
    next: Option<u64>,
    has_ended: bool,
    identity: Option<Box<Identity>>,
    paths: BTreeMap<u64, Option<RecordedPath>>,
    error: Option<RecordingError>,
}

impl<R: Read> Replay<R> {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] if the file does not begin as a recording.
    pub fn new(mut file: R) -> Result<Self, RecordingError> {
        let mut space = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut space)?;
        if space != MAGIC {
            return Err(RecordingError::NotARecording);
        }
        record::read(0, &mut space, &mut file)?.ok_or(RecordingError::NotARecording)?;
        let header = RecordingHeader::check(&space)?;
        let mut reader = RecordReader {
            file,
            space,
            number: 0,
            records: VecDeque::new(),
            next: None,
            has_ended: false,
            identity: None,
            paths: BTreeMap::new(),
            error: None,
        };
        reader.load();
        Ok(Self { header, reader: RefCell::new(reader), batch: Vec::new() })
    }

    /// Returns a configuration with the game, version, seed and start time of the recorded session.
    /// All other fields are those of `rest`, which must be as they were when recording.
    #[must_use]
    pub fn config(&self, rest: SessionConfig) -> SessionConfig {
        SessionConfig {
            game: self.header.game.clone(),
            version: self.header.game_version.clone(),
            seed: self.header.seed,
            unix_start: Duration::from_nanos(self.header.unix_start),
            ..rest
        }
    }

    /// Returns the times of the next step; `None` at the end.
    pub fn next_step(&mut self) -> Option<Step> {
        let reader = self.reader.get_mut();
        reader.expect_nothing();
        let receive_at = reader.next.take()?;
        reader.records.push_back(Record::Input { nanos: receive_at });
        reader.load();
        let output = reader.records.iter().find_map(|record| match record {
            Record::Output { nanos } => Some(*nanos),
            _ => None,
        });
        // A step without a transmit may be the one in which the program crashed while it handled
        // messages.
        let transmit_at = output.or(reader.has_ended.then_some(receive_at));
        let [receive_at, transmit_at] =
            [Some(receive_at), transmit_at].map(|time| time.map(Duration::from_nanos));
        Some(Step { receive_at: receive_at?, transmit_at })
    }

    /// Returns the identity of the session's messages, if it was
    /// [recorded](crate::recording::Recorder::describe) and its record was reached.
    pub fn identity(&mut self) -> Option<&Identity> {
        self.reader.get_mut().identity.as_deref()
    }

    /// Returns the error that ended the replay; `None` before the end, and at the regular end of
    /// the file.
    pub fn error(&mut self) -> Option<&RecordingError> {
        self.reader.get_mut().error.as_ref()
    }
}

impl<R: Read> RecordReader<R> {
    /// Reads the records up to the start of the next step.
    fn load(&mut self) {
        while self.next.is_none() && !self.has_ended {
            match self.read() {
                Ok(Some(Record::Input { nanos })) => self.next = Some(nanos),
                Ok(Some(Record::Identity(identity))) => self.identity = Some(identity),
                Ok(Some(record)) => self.records.push_back(record),
                Ok(None) => self.has_ended = true,
                Err(error) => {
                    self.has_ended = true;
                    self.error.get_or_insert(error);
                }
            }
        }
    }

    fn read(&mut self) -> Result<Option<Record>, RecordingError> {
        self.number += 1;
        let Some(()) = record::read(self.number, &mut self.space, &mut self.file)? else {
            return Ok(None);
        };
        let corrupt = |_| RecordingError::Corrupt { record: self.number };
        tightwire_core::stream::decode(&self.space).map(Some).map_err(corrupt)
    }
}

impl<R> RecordReader<R> {
    /// Takes the next record if it matches. Paths are skipped: a call of `path` changes no state.
    fn take(&mut self, action: &'static str, is_it: impl Fn(&Record) -> bool) -> Option<Record> {
        self.read_paths(usize::MAX);
        match self.records.front() {
            Some(record) if is_it(record) => self.records.pop_front(),
            None if self.has_ended => None,
            _ => {
                self.diverge(action);
                None
            }
        }
    }

    /// Notes up to `most` of the next paths, which the session did not request.
    fn read_paths(&mut self, most: usize) {
        for _ in 0..most {
            let Some(Record::Path { connection, path }) = self.records.front() else { break };
            self.paths.insert(*connection, *path);
            self.records.pop_front();
        }
    }

    fn path(&mut self, connection: u64) -> Option<RecordedPath> {
        // The recorded session may have asked for other paths before, which this one does not.
        let paths = self.records.iter().map_while(|record| match record {
            Record::Path { connection, .. } => Some(*connection),
            _ => None,
        });
        if let Some(place) = paths.into_iter().position(|seen| seen == connection) {
            self.read_paths(place + 1);
        }
        self.paths.get(&connection).copied().flatten()
    }

    /// Checks that all records of the step were replayed.
    fn expect_nothing(&mut self) {
        self.read_paths(usize::MAX);
        if !self.records.is_empty() {
            self.diverge("did less");
        }
    }

    fn diverge(&mut self, action: &'static str) {
        let record = self.number - (self.records.len() as u64).min(self.number);
        self.error.get_or_insert(RecordingError::Diverged { record, action });
        self.records.clear();
        self.next = None;
        self.has_ended = true;
    }
}

impl<R: Read> Transport for Replay<R> {
    fn handle_input(&mut self, now: Duration) {
        let nanos = record::nanos(now);
        let is_it = |record: &Record| *record == Record::Input { nanos };
        self.reader.get_mut().take("received at another time", is_it);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let is_it = |record: &Record| {
            !matches!(
                record,
                Record::Input { .. }
                    | Record::Output { .. }
                    | Record::Sent { .. }
                    | Record::Closed { .. }
                    | Record::Reconnected { .. }
            )
        };
        match self.reader.get_mut().take("looked for events", is_it)? {
            Record::Connected { connection, address } => Some(Event::Connected {
                connection: Connection(connection),
                address: address.map(Into::into),
            }),
            Record::Batch { from, delivery, batch } => {
                self.batch = batch;
                Some(Event::Batch { from: Connection(from), delivery, batch: &self.batch })
            }
            Record::Disconnected { connection, reason } => {
                Some(Event::Disconnected { connection: Connection(connection), reason })
            }
            Record::Refused { address, reason } => {
                Some(Event::Refused { address: address.map(Into::into), reason })
            }
            _ => None,
        }
    }

    fn send(&mut self, to: Connection, _: Delivery, batch: &[u8]) -> Result<(), NotSentError> {
        let checksum = crc32fast::hash(batch);
        let is_it = |record: &Record| {
            matches!(record, Record::Sent { to: seen, checksum: same, .. }
                if (*seen, *same) == (to.0, checksum))
        };
        match self.reader.get_mut().take("sent something else", is_it) {
            Some(Record::Sent { result, .. }) => result.result(to),
            _ => Ok(()),
        }
    }

    fn pause(&mut self, _: Connection) {}

    fn close(&mut self, connection: Connection, reason: &Reason) {
        let is_it = |record: &Record| {
            matches!(record, Record::Closed { connection: seen, reason: same }
                if (*seen, same) == (connection.0, reason))
        };
        self.reader.get_mut().take("closed a connection", is_it);
    }

    fn handle_output(&mut self, now: Duration) {
        let nanos = record::nanos(now);
        let is_it = |record: &Record| *record == Record::Output { nanos };
        self.reader.get_mut().take("transmitted at another time", is_it);
    }

    fn reconnect(&mut self, _: Duration) -> Result<(), ReconnectError> {
        let is_it = |record: &Record| matches!(record, Record::Reconnected { .. });
        match self.reader.get_mut().take("connected again", is_it) {
            Some(Record::Reconnected { is_begun: true }) => Ok(()),
            _ => Err(ReconnectError::Failed(Cause::text("it could not when this was recorded"))),
        }
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        self.reader.borrow_mut().path(connection.0).map(Into::into)
    }

    fn next_time(&self) -> Option<Duration> {
        self.reader.borrow().next.map(Duration::from_nanos)
    }
}

impl<R> fmt::Debug for Replay<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("header", &self.header).finish_non_exhaustive()
    }
}
