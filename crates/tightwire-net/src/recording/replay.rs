//! A transport that says what another said before.

use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

use crate::message::Delivery;
use tightwire_core::packet::Identity;

use super::RecordingError;
use super::record::{self, Header, MAGIC, PathSeen, Record};
use crate::reason::Reason;
use crate::session::SessionConfig;
use crate::transport::{Connection, Event, NotSentError, Path, Transport};

/// A [`Transport`] that says what a [`Recorder`](crate::recording::Recorder) wrote down. A session of the same
/// program, with the [configuration](Self::config) of the recorded one and called at the times that
/// [`next_step`](Self::next_step) tells, comes to the same state after each step.
///
/// A file that was cut off, as by a crash, is played to its end. [`error`](Self::error) says what else
/// ended it.
pub struct Replay<R> {
    header: Header,
    tape: RefCell<Tape<R>>,
    /// What [`Event::Batch`] shows.
    batch: Vec<u8>,
}

/// When the session was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// It received, at this time.
    pub receive_at: Duration,
    /// It handled messages and transmitted, at this time. `None` if it looked for input
    /// between two frames.
    pub transmit_at: Option<Duration>,
}

/// The file, a step of it at a time.
struct Tape<R> {
    file: R,
    space: Vec<u8>,
    /// How many records were read.
    number: u64,
    /// What is left of this step.
    records: VecDeque<Record>,
    /// When the next begins, if it was seen.
    next: Option<u64>,
    has_ended: bool,
    identity: Option<Box<Identity>>,
    paths: BTreeMap<u64, Option<PathSeen>>,
    error: Option<RecordingError>,
}

impl<R: Read> Replay<R> {
    /// Plays this file.
    ///
    /// # Errors
    ///
    /// [`RecordingError`] if it does not begin as a recording.
    pub fn new(mut file: R) -> Result<Self, RecordingError> {
        let mut space = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut space)?;
        if space != MAGIC {
            return Err(RecordingError::NotARecording);
        }
        record::read(0, &mut space, &mut file)?.ok_or(RecordingError::NotARecording)?;
        let header = Header::check(&space)?;
        let mut tape = Tape {
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
        tape.load();
        Ok(Self { header, tape: RefCell::new(tape), batch: Vec::new() })
    }

    /// A configuration with the game, version, seed and time of the recorded session; the rest must be
    /// as it was there.
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

    /// When the session is called next; nothing at the end.
    pub fn next_step(&mut self) -> Option<Step> {
        let tape = self.tape.get_mut();
        tape.expect_nothing();
        let receive_at = tape.next.take()?;
        tape.records.push_back(Record::Input { nanos: receive_at });
        tape.load();
        let output = tape.records.iter().find_map(|record| match record {
            Record::Output { nanos } => Some(*nanos),
            _ => None,
        });
        // What was never transmitted may have been handled, and have crashed.
        let transmit_at = output.or(tape.has_ended.then_some(receive_at));
        let [receive_at, transmit_at] =
            [Some(receive_at), transmit_at].map(|time| time.map(Duration::from_nanos));
        Some(Step { receive_at: receive_at?, transmit_at })
    }

    /// What the recorded session spoke, if it was [written down](crate::recording::Recorder::describe), and as
    /// soon as its place is reached.
    pub fn identity(&mut self) -> Option<&Identity> {
        self.tape.get_mut().identity.as_deref()
    }

    /// Why nothing more is played, besides the end of the file.
    pub fn error(&mut self) -> Option<&RecordingError> {
        self.tape.get_mut().error.as_ref()
    }
}

impl<R: Read> Tape<R> {
    /// Reads up to where the next step begins.
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

impl<R> Tape<R> {
    /// The next record, if it is one of these. Whoever looked at a path did not change anything.
    fn take(&mut self, did: &'static str, is_it: impl Fn(&Record) -> bool) -> Option<Record> {
        self.see_paths(usize::MAX);
        match self.records.front() {
            Some(record) if is_it(record) => self.records.pop_front(),
            None if self.has_ended => None,
            _ => {
                self.diverge(did);
                None
            }
        }
    }

    /// Notes the paths that come next, and that nobody looked at.
    fn see_paths(&mut self, most: usize) {
        for _ in 0..most {
            let Some(Record::Path { connection, path }) = self.records.front() else { break };
            self.paths.insert(*connection, *path);
            self.records.pop_front();
        }
    }

    fn path(&mut self, connection: u64) -> Option<PathSeen> {
        // It may be that others were looked at before, and are not now.
        let paths = self.records.iter().map_while(|record| match record {
            Record::Path { connection, .. } => Some(*connection),
            _ => None,
        });
        if let Some(place) = paths.into_iter().position(|seen| seen == connection) {
            self.see_paths(place + 1);
        }
        self.paths.get(&connection).copied().flatten()
    }

    /// All of a step was played.
    fn expect_nothing(&mut self) {
        self.see_paths(usize::MAX);
        if !self.records.is_empty() {
            self.diverge("did less");
        }
    }

    fn diverge(&mut self, did: &'static str) {
        let record = self.number - (self.records.len() as u64).min(self.number);
        self.error.get_or_insert(RecordingError::Diverged { record, did });
        self.records.clear();
        self.next = None;
        self.has_ended = true;
    }
}

impl<R: Read> Transport for Replay<R> {
    fn handle_input(&mut self, now: Duration) {
        let nanos = record::nanos(now);
        let is_it = |record: &Record| *record == Record::Input { nanos };
        self.tape.get_mut().take("received at another time", is_it);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let is_it = |record: &Record| {
            !matches!(
                record,
                Record::Input { .. }
                    | Record::Output { .. }
                    | Record::Sent { .. }
                    | Record::Closed { .. }
            )
        };
        match self.tape.get_mut().take("looked for events", is_it)? {
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
        match self.tape.get_mut().take("sent something else", is_it) {
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
        self.tape.get_mut().take("closed a connection", is_it);
    }

    fn handle_output(&mut self, now: Duration) {
        let nanos = record::nanos(now);
        let is_it = |record: &Record| *record == Record::Output { nanos };
        self.tape.get_mut().take("transmitted at another time", is_it);
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        self.tape.borrow_mut().path(connection.0).map(Into::into)
    }

    fn next_time(&self) -> Option<Duration> {
        self.tape.borrow().next.map(Duration::from_nanos)
    }
}

impl<R> fmt::Debug for Replay<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("header", &self.header).finish_non_exhaustive()
    }
}
