//! Lists of packets, x-rays and values, printed as they are read.

use std::error::Error;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;

use tightwire::inspect::CaptureError;

use super::reading::{CurrentDatagram, Reading};
use super::survey::{Mark, Survey};
use super::text::Paint;
use super::unknown::unknown;
use super::values::Sample;
use super::{Inspect, fields, view};
use crate::terminal::counted;
use tightwire::inspect::Xray;

impl Inspect {
    /// Prints packets, x-rays or values as they are read.
    pub(super) fn list<R: Read>(
        &self,
        reading: &mut Reading<R>,
        out: &mut impl Write,
        is_at_end: impl Fn() -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let paint = Paint::for_stdout();
        if !self.json && self.packets {
            let heading = match self.field {
                Some(_) => view::value_heading(paint),
                None => view::line_heading(paint),
            };
            writeln!(out, "{}", paint.faint(&heading))?;
        }
        let mut count = 0;
        let ended = reading.each::<Box<dyn Error>>(|seen| {
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
        });
        if let Err(error) = ended {
            out.flush()?;
            self.whether_failed(*error.downcast::<CaptureError>()?)?;
        }
        let (name, tally, snapshots) =
            (self.capture.display(), reading.tally(), reading.snapshots());
        match (self.packet, &self.field) {
            (Some(number), _) if number > count => {
                Err(format!("there is no packet {number}: {name} has {}", counted(count, "packet"))
                    .into())
            }
            (_, Some(asked)) => {
                let found = fields::fields(tally, snapshots, &Survey::default(), true);
                match unknown(asked, &found, tally, snapshots) {
                    Some(sentence) => Err(format!("{name}: {sentence}").into()),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn print(
        &self,
        seen: &CurrentDatagram<'_>,
        out: &mut impl Write,
        paint: Paint,
    ) -> Result<(), Box<dyn Error>> {
        if self.packets && self.field.is_some() {
            for sample in Sample::all_of(seen) {
                match self.json {
                    true => writeln!(out, "{}", serde_json::to_string(&sample)?)?,
                    false => writeln!(out, "{}", view::draw_value(&sample, paint))?,
                }
            }
        } else if self.packets {
            let line = Mark::of(seen).line(seen.tally, seen.identity_of_capture);
            match self.json {
                true => writeln!(out, "{}", serde_json::to_string(&line)?)?,
                false => writeln!(out, "{}", view::draw_line(&line, paint))?,
            }
        } else if self.json {
            writeln!(out, "{}", serde_json::to_string(&XrayLine::of(seen))?)?;
        } else {
            let line = Mark::of(seen).line(seen.tally, seen.identity_of_capture);
            writeln!(out, "{}", paint.strong(&view::draw_line(&line, paint.plain())))?;
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

/// An x-ray as a line of JSON, with the packet's line of the list.
#[derive(serde::Serialize)]
struct XrayLine {
    packet: u64,
    from: SocketAddr,
    to: SocketAddr,
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    xray: Xray,
}

impl XrayLine {
    fn of(seen: &CurrentDatagram<'_>) -> Self {
        Self {
            packet: seen.number,
            from: seen.source,
            to: seen.destination,
            kind: seen.kind_name().into(),
            xray: seen.xray(),
        }
    }
}
