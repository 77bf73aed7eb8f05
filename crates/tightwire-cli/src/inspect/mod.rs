//! `inspect`: what is in a capture.
//!
//! One pass over the file, in which every datagram is read by its schema: [`reading`] gives them, one at
//! a time, to what remembers them ([`survey`], [`values`], [`chosen`]) or prints them at once. The views
//! ([`view`], [`summary`], [`page`]) show what is remembered.

mod chosen;
pub(crate) mod every_view;
mod fields;
mod input;
mod meaning;
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
mod values;
mod view;

use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use tightwire::{Capture, CaptureError, Protection};

use crate::source::Source;
use crate::xray::Xray;
use chosen::Chosen;
use input::Input;
use meaning::Meaning;
use reading::{Reading, Seen};
use summary::Summary;
use survey::{Mark, Survey};
use text::Paint;
use values::{Sample, Values};

/// Show what is in a capture: where the bytes go, packets bit by bit, and what was refused and why
#[derive(Args, Clone, Debug)]
pub(crate) struct Inspect {
    /// A pcap or pcapng file; `-` reads standard input
    capture: PathBuf,

    /// What the packets are, as JSON: an identity or a schema. A capture of Tightwire's recorder says it
    /// itself
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// How datagrams are protected, if only a schema is given: none, id, crc32 or sealed
    #[arg(long, value_name = "HOW", value_parser = protection, requires = "schema")]
    protection: Option<Protection<()>>,

    /// Only datagrams from or to this UDP port
    #[arg(long)]
    port: Option<u16>,

    /// The x-ray of this packet
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["packets", "xray", "field", "html"])]
    packet: Option<u64>,

    /// The x-ray of every packet
    #[arg(long, conflicts_with_all = ["packets", "field", "html"])]
    xray: bool,

    /// The list of all packets; with --field, of all values
    #[arg(long, conflicts_with = "html")]
    packets: bool,

    /// Only this field, as Player.health, or all that is in this group: its values and its share
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// Writes a page with totals, plots, packets and their x-rays
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "follow"])]
    html: Option<PathBuf>,

    /// How many x-rays the page has: the first, the largest and the refused packets
    #[arg(long, value_name = "COUNT", default_value_t = 120, requires = "html")]
    xrays: usize,

    /// For tools: one document, or one for each packet, x-ray or value, a line each
    #[arg(long)]
    json: bool,

    /// Leaves snapshots as the bytes that they are: reading them takes longer than all the rest
    #[arg(long)]
    no_snapshots: bool,

    /// Goes on when the file grows, until it is stopped
    #[arg(long)]
    follow: bool,
}

/// Packets at either end of the list in the default view.
const SHOWN: usize = 3;

/// Packets at either end of the lists that tools get.
const SHOWN_TO_TOOLS: usize = 20;

/// How often a file that grows is shown anew, while it does.
const REFRESH: Duration = Duration::from_millis(500);

impl Inspect {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let pending = Rc::new(RefCell::new(None));
        let mut input = Input::open(&self.capture)?;
        input = if self.follow { input.following(pending.clone()) } else { input.with_bar() };
        let progress = input.progress();
        let name = self.capture.display().to_string();
        let capture = Capture::new(input).map_err(|error| format!("{name}: {error}"))?;
        let meaning = self.meaning(&capture)?;
        let mut reading = Reading::new(capture, meaning, self.port);
        // A list of packets shows nothing of them.
        if self.no_snapshots || (self.packets && self.field.is_none()) {
            reading = reading.without_snapshots();
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

        let mut shown = Shown::new(&self);
        let mut drawn = Instant::now();
        let paint = Paint::for_stdout();
        let ended = reading.each::<CaptureError>(|seen| {
            shown.add(&seen);
            if self.follow && (progress.is_at_end() || drawn.elapsed() > REFRESH) {
                drawn = Instant::now();
                let summary = shown.summary(&name, &seen, (0, 0));
                let clear = if paint.colored { "\x1b[H\x1b[2J" } else { "" };
                *pending.borrow_mut() = Some(clear.to_owned() + &self.drawn(&summary, paint));
            }
            Ok(ControlFlow::Continue(()))
        });
        let mut summary = shown.whole(&name, &reading);
        summary.speed = (!self.follow).then(|| progress.speed());
        let failure = match ended {
            Ok(()) => None,
            Err(error) => {
                summary.notes.push(error.to_string());
                // A recorder that was stopped leaves such files.
                (!matches!(error, CaptureError::Truncated { .. })).then_some(error)
            }
        };
        if let Some(file) = &self.html {
            let page = page::draw(&summary, &shown.chosen);
            fs::write(file, page).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let text = self.drawn(&summary, paint);
        match failure {
            None => Ok(text),
            Some(error) => {
                io::stdout().write_all(text.as_bytes())?;
                Err(format!("{name} is read up to where it is damaged: {error}").into())
            }
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

    /// What the packets are.
    fn meaning<R: Read>(&self, capture: &Capture<R>) -> Result<Meaning, Box<dyn Error>> {
        if let Some(file) = &self.schema {
            let meaning = Meaning::of_source(Source::read(file)?, self.protection);
            return meaning.map_err(|error| format!("{}: {error}", file.display()).into());
        }
        let name = self.capture.display();
        match (capture.identity(), capture.identity_error()) {
            (Some(identity), _) => Ok(Meaning::of_identity(identity.clone())),
            (None, Some(error)) => Err(format!(
                "{name}: what this capture says about its packets is damaged ({error}): give it with \
                 --schema FILE"
            )
            .into()),
            (None, None) => Err(format!(
                "{name}: this capture does not say what its packets are, as those of Tightwire's \
                 recorder do: give it with --schema FILE, an identity or a schema as JSON"
            )
            .into()),
        }
    }

    /// Prints packets as they come.
    fn list<R: Read>(
        &self,
        reading: &mut Reading<R>,
        out: &mut impl Write,
        is_at_end: impl Fn() -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let paint = Paint::for_stdout();
        if !self.json && self.packets {
            let heading = match self.field {
                Some(_) => view::value_heading(),
                None => view::line_heading(),
            };
            writeln!(out, "{}", paint.faint(&heading))?;
        }
        let mut count = 0;
        reading.each::<Box<dyn Error>>(|seen| {
            count = seen.number;
            if self.packet.is_none_or(|number| number == seen.number) {
                self.print(&seen, out, paint)?;
            }
            if self.follow && is_at_end() {
                out.flush()?;
            }
            Ok(match self.packet {
                Some(number) if number <= seen.number => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        })?;
        match self.packet {
            Some(number) if number == 0 || number > count => Err(format!(
                "there is no packet {number}: {} has {}",
                self.capture.display(),
                text::counted(count, "packet", "packets")
            )
            .into()),
            _ => Ok(()),
        }
    }

    fn print(
        &self,
        seen: &Seen<'_>,
        out: &mut impl Write,
        paint: Paint,
    ) -> Result<(), Box<dyn Error>> {
        if self.packets && self.field.is_some() {
            for sample in Sample::all_of(seen) {
                match self.json {
                    true => writeln!(out, "{}", serde_json::to_string(&sample)?)?,
                    false => writeln!(out, "{}", view::draw_value(&sample))?,
                }
            }
        } else if self.packets {
            let line = Mark::of(seen).line(seen.tally);
            match self.json {
                true => writeln!(out, "{}", serde_json::to_string(&line)?)?,
                false => writeln!(out, "{}", view::draw_line(&line, paint))?,
            }
        } else if self.json {
            writeln!(out, "{}", serde_json::to_string(&seen.xray())?)?;
        } else {
            let line = Mark::of(seen).line(seen.tally);
            writeln!(out, "{}", paint.strong(&view::draw_line(&line, Paint::PLAIN)))?;
            match seen.trace() {
                Some(trace) if paint.colored => writeln!(out, "\n{}", trace.colored())?,
                Some(trace) => writeln!(out, "\n{trace}")?,
                None => writeln!(out)?,
            }
            if let Some(snapshot) = seen.snapshots.last() {
                writeln!(out, "{}", view::draw_snapshot(&snapshot, paint))?;
            }
        }
        Ok(())
    }
}

/// What the views show.
struct Shown {
    survey: Survey,
    values: Option<Values>,
    chosen: Chosen,
}

impl Shown {
    fn new(arguments: &Inspect) -> Self {
        let shown = if arguments.json { SHOWN_TO_TOOLS } else { SHOWN };
        Self {
            survey: Survey::new(shown),
            values: arguments.field.as_ref().map(|_| Values::new(2 * shown)),
            chosen: Chosen::new(if arguments.html.is_some() { arguments.xrays } else { 0 }),
        }
    }

    fn add(&mut self, seen: &Seen<'_>) {
        self.survey.add(seen);
        if let Some(values) = &mut self.values {
            values.add(seen);
        }
        self.chosen.add(seen);
    }

    fn summary<'a>(
        &'a self,
        name: &'a str,
        seen: &Seen<'a>,
        passed_over: (u64, u64),
    ) -> Summary<'a> {
        Summary {
            name,
            meaning: seen.meaning,
            tally: seen.tally,
            snapshots: seen.snapshots,
            survey: &self.survey,
            passed_over,
            speed: None,
            notes: Vec::new(),
            values: self.values.as_ref(),
        }
    }

    fn whole<'a, R: Read>(&'a self, name: &'a str, reading: &'a Reading<R>) -> Summary<'a> {
        Summary {
            name,
            meaning: reading.meaning(),
            tally: reading.tally(),
            snapshots: reading.snapshots(),
            survey: &self.survey,
            passed_over: reading.passed_over(),
            speed: None,
            notes: Vec::new(),
            values: self.values.as_ref(),
        }
    }
}

impl Seen<'_> {
    /// What every bit of it is for.
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

/// Whether the reader of what is printed has seen enough, as `head`.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
