//! `tightwire inspect`: the contents of a capture.
//!
//! One pass over the file decodes every datagram by its schema. [`reading`] hands the datagrams one
//! at a time to collectors ([`survey`], [`values`], [`chosen`]), or they are printed at once. The
//! views ([`view`], [`summary`], [`page`]) show the collected data.

pub(crate) mod all_views;
mod capture_identity;
mod chosen;
mod cut;
mod fields;
mod input;
mod list;
mod page;
mod reading;
mod refusals;
mod snapshots;
mod summary;
mod survey;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod unknown;
mod values;
mod view;

use std::cell::RefCell;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use tightwire::inspect::{Capture, CaptureError};
use tightwire::packet::Protection;

use crate::source::{Source, is_capture_at};
use capture_identity::CaptureIdentity;
use chosen::Chosen;
use input::CaptureInput;
use reading::{CurrentDatagram, Reading, Skipped};
use summary::Summary;
use survey::Survey;
use text::Paint;
use tightwire::inspect::Xray;
use unknown::unknown;
use values::FieldValues;

/// Shows the contents of a capture: where the bytes go, packets bit by bit, and what was refused
/// and why
#[derive(Args, Clone, Debug)]
pub(crate) struct Inspect {
    /// A pcap or pcapng file; `-` reads standard input
    capture: PathBuf,

    /// Schema of the packets: an identity or a schema as JSON, or another capture with an identity.
    /// Captures that Tightwire recorded have their own
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// Protection of datagrams, if only a schema is given: none, id, crc32 or sealed
    #[arg(long, value_name = "HOW", value_parser = protection, requires = "schema")]
    protection: Option<Protection<()>>,

    /// Only datagrams from or to this UDP port
    #[arg(long)]
    port: Option<u16>,

    /// Shows the x-ray of this packet
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["packets", "xray", "field", "html"])]
    packet: Option<u64>,

    /// Shows the x-ray of every packet
    #[arg(long, conflicts_with_all = ["packets", "field", "html"])]
    xray: bool,

    /// Lists all packets; with --field, all values
    #[arg(long, conflicts_with = "html")]
    packets: bool,

    /// Shows only this field, as Player.health, or all fields in this group: values and share
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// Writes a page with totals, plots, packets and their x-rays
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "follow"])]
    html: Option<PathBuf>,

    /// Maximum number of x-rays on the page: of the first, the largest and the refused packets
    #[arg(long, value_name = "COUNT", default_value_t = 120, requires = "html")]
    xrays: usize,

    /// Prints JSON: one document, or a line for each packet, x-ray or value
    #[arg(long)]
    json: bool,

    /// Maximum number of snapshots to decode, from the first, since decoding them takes longer than
    /// all the rest: by default 4000 for totals, otherwise all; 0 leaves snapshots as bytes
    #[arg(long, value_name = "COUNT")]
    snapshots: Option<u64>,

    /// Goes on when the file grows, until interrupted
    #[arg(long)]
    follow: bool,
}

/// Number of packets at either end of the list in the default view.
const SHOWN: usize = 3;

/// Number of packets at either end of the lists in JSON.
const SHOWN_TO_TOOLS: usize = 20;

/// Number of snapshots that totals decode: enough to know where their bits go, and fast.
const SNAPSHOTS_FOR_TOTALS: u64 = 4000;

/// Time between redraws while a file grows.
const REFRESH: Duration = Duration::from_millis(500);

impl Inspect {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let pending = Rc::new(RefCell::new(None));
        let mut input = CaptureInput::open(&self.capture)?;
        input = if self.follow { input.following(pending.clone()) } else { input.with_bar() };
        let progress = input.progress();
        let name = self.capture.display().to_string();
        let capture = Capture::new(input).map_err(|error| match progress.is_nothing() {
            true => format!("{name}: the file is empty"),
            false => format!("{name}: {error}"),
        })?;
        let identity_of_capture = self.identity_of_capture(&capture)?;
        let mut reading = Reading::new(capture, identity_of_capture, self.port);
        if let Some(file) = self.schema.as_deref().filter(|file| is_capture_at(file)) {
            let given = Capture::new(File::open(file)?);
            reading
                .take_snapshots_of(&given.map_err(|error| format!("{}: {error}", file.display()))?);
        }
        let is_single = self.packet.is_some() || self.xray || self.field.is_some();
        match self.snapshots {
            // A list of packets shows no contents of snapshots.
            Some(0) => reading = reading.without_snapshots(),
            None if self.packets && !is_single => reading = reading.without_snapshots(),
            None if is_single => {}
            most => reading.take_apart(most.unwrap_or(SNAPSHOTS_FOR_TOTALS)),
        }
        if let Some(field) = &self.field {
            reading.watch(field);
        }
        if self.packet.is_some() || self.xray || self.packets {
            let mut out = BufWriter::new(io::stdout().lock());
            let listed = self.list(&mut reading, &mut out, || progress.is_at_end());
            return match listed.and_then(|()| Ok(out.flush()?)) {
                Err(error) if is_broken_pipe(&*error) => Ok(String::new()),
                listed => listed.map(|()| String::new()),
            };
        }

        let mut shown = Views::new(&self);
        let mut drawn = Instant::now();
        let paint = Paint::for_stdout();
        let is_terminal = io::stdout().is_terminal();
        let ended = reading.each::<CaptureError>(|seen| {
            shown.add(&seen);
            if self.follow && (progress.is_at_end() || drawn.elapsed() > REFRESH) {
                drawn = Instant::now();
                let summary = shown.summary(&name, &seen, Skipped::default());
                *pending.borrow_mut() = Some(match is_terminal {
                    true => "\x1b[H\x1b[2J".to_owned() + &self.drawn(&summary, paint),
                    false if self.json => self.drawn(&summary, paint),
                    false => view::draw_facts(&summary, paint) + "\n",
                });
            }
            Ok(ControlFlow::Continue(()))
        });
        let mut summary = shown.whole(&name, &reading);
        summary.speed = (!self.follow).then(|| progress.speed());
        let failure = ended.err().and_then(|error| {
            summary.notes.push(error.to_string());
            self.whether_failed(error).err()
        });
        if let Some(asked) = &self.field {
            let found = summary.fields();
            if let Some(sentence) = unknown(asked, &found, reading.tally(), reading.snapshots()) {
                return Err(format!("{name}: {sentence}").into());
            }
        }
        if let Some(file) = &self.html {
            let page = page::draw(&summary, &shown.chosen);
            fs::write(file, page).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        if !self.json {
            // The notes are on standard error already.
            summary.notes.clear();
        }
        let text = self.drawn(&summary, paint);
        match failure {
            None => Ok(text),
            Some(error) => {
                io::stdout().write_all(text.as_bytes())?;
                Err(error)
            }
        }
    }

    /// Reports a capture that ends within a block, as a stopped recorder leaves it: the records
    /// before are valid. Any other error is returned.
    fn whether_failed(&self, error: CaptureError) -> Result<(), Box<dyn Error>> {
        let name = self.capture.display();
        match error {
            CaptureError::Truncated { .. } => {
                eprintln!("tightwire: {name}: {error}");
                Ok(())
            }
            _ => Err(format!("{name} is read up to where it is damaged: {error}").into()),
        }
    }

    fn drawn(&self, summary: &Summary<'_>, paint: Paint) -> String {
        if !self.json {
            return view::draw(summary, paint);
        }
        let json = if self.follow {
            serde_json::to_string(&summary.document())
        } else {
            serde_json::to_string_pretty(&summary.document())
        };
        json.map_or_else(|error| error.to_string(), |json| json + "\n")
    }

    /// Returns the identity of the packets, from `--schema` or the capture.
    fn identity_of_capture<R: Read>(
        &self,
        capture: &Capture<R>,
    ) -> Result<CaptureIdentity, Box<dyn Error>> {
        if let Some(file) = &self.schema {
            let identity_of_capture =
                CaptureIdentity::of_source(Source::read(file)?, self.protection);
            return identity_of_capture
                .map_err(|error| format!("{}: {error}", file.display()).into());
        }
        let name = self.capture.display();
        match (capture.identity(), capture.identity_error()) {
            (Some(identity), _) => Ok(CaptureIdentity::of_identity(identity.clone())),
            (None, Some(error)) => Err(format!(
                "{name}: what this capture says about its packets is damaged ({error}): give it with \
                 --schema FILE"
            )
            .into()),
            (None, None) => Err(format!(
                "{name}: this capture does not say what its packets are, as those of Tightwire's \
                 recorder do: give it with --schema FILE, an identity or a schema as JSON, or another \
                 capture"
            )
            .into()),
        }
    }
}

/// Collectors of the views.
struct Views {
    survey: Survey,
    values: Option<FieldValues>,
    chosen: Chosen,
}

impl Views {
    fn new(arguments: &Inspect) -> Self {
        let shown = if arguments.json { SHOWN_TO_TOOLS } else { SHOWN };
        Self {
            survey: Survey::new(shown),
            values: arguments.field.as_ref().map(|_| FieldValues::new(2 * shown)),
            chosen: Chosen::new(if arguments.html.is_some() { arguments.xrays } else { 0 }),
        }
    }

    fn add(&mut self, seen: &CurrentDatagram<'_>) {
        self.survey.add(seen);
        if let Some(values) = &mut self.values {
            values.add(seen);
        }
        self.chosen.add(seen);
    }

    fn summary<'a>(
        &'a self,
        name: &'a str,
        seen: &CurrentDatagram<'a>,
        skipped: Skipped,
    ) -> Summary<'a> {
        Summary {
            name,
            identity_of_capture: seen.identity_of_capture,
            tally: seen.tally,
            snapshots: seen.snapshots,
            survey: &self.survey,
            skipped,
            speed: None,
            notes: Vec::new(),
            values: self.values.as_ref(),
        }
    }

    fn whole<'a, R: Read>(&'a self, name: &'a str, reading: &'a Reading<R>) -> Summary<'a> {
        Summary {
            name,
            identity_of_capture: reading.identity_of_capture(),
            tally: reading.tally(),
            snapshots: reading.snapshots(),
            survey: &self.survey,
            skipped: reading.skipped(),
            speed: None,
            notes: Vec::new(),
            values: self.values.as_ref(),
        }
    }
}

impl CurrentDatagram<'_> {
    /// Makes the x-ray of the packet.
    pub(crate) fn xray(&self) -> Xray {
        let title = format!("{} from {} to {}", self.kind_name(), self.source, self.destination);
        match self.trace() {
            Some(trace) => {
                let mut xray = Xray::of_trace(title, self.time, self.datagram, &trace);
                if let Some(snapshot) = self.snapshots.last() {
                    let path = format!("{}.{}", trace.root().name(), snapshot.path);
                    xray.open_snapshot(&path, snapshot.length, snapshot.trace);
                }
                xray
            }
            None => {
                let reason = self.reason().unwrap_or_default();
                Xray::of_bytes(title, self.time, self.datagram, reason)
            }
        }
    }
}

fn protection(text: &str) -> Result<Protection<()>, String> {
    match text.to_ascii_lowercase().as_str() {
        "none" => Ok(Protection::None),
        "id" => Ok(Protection::Id),
        "crc32" => Ok(Protection::Crc32),
        "sealed" => Ok(Protection::Sealed(())),
        _ => Err("one of none, id, crc32 and sealed is needed".into()),
    }
}

/// Returns whether the reader of standard output closed it, as `head` does.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
