//! Views in the terminal.

use insta::assert_snapshot;

use super::super::chosen::Chosen;
use super::super::survey::{Mark, Survey};
use super::super::text::Paint;
use super::super::values::FieldValues;
use super::super::{Reading, Views, view};
use super::game::{Packet, capture, capture_of, encoded, identity};
use super::{CaptureIdentity, inspect};

/// Makes a capture with four invalid packets: a field out of its range, two truncated ones, and one
/// with trailing data.
fn with_mistakes() -> Vec<u8> {
    let mut datagrams: Vec<_> = (0..300).map(|number| encoded(Packet::at(number))).collect();
    datagrams[20][5] |= 0xff;
    datagrams[40].truncate(30);
    datagrams[60].truncate(31);
    datagrams[80].push(7);
    capture_of(&identity(), datagrams)
}

#[test]
fn the_whole_view_fits_a_screen() {
    let inspected = inspect(&with_mistakes(), None, None, 0).unwrap();
    assert!(inspected.text.lines().count() <= 45);
    assert!(inspected.text.lines().all(|line| line.chars().count() <= 110), "{}", inspected.text);
    assert_snapshot!("whole_view", inspected.text);
}

#[test]
fn one_field_is_shown_with_its_values() {
    let inspected = inspect(&capture(100), None, Some("players.health"), 0).unwrap();
    assert_snapshot!("one_field", inspected.text);
    let nothing = inspect(&capture(10), None, Some("wealth"), 0).unwrap();
    assert!(nothing.text.contains("\n0 values\n"), "{}", nothing.text);
}

#[test]
fn packets_are_listed_and_drawn() {
    let file = with_mistakes();
    let capture = tightwire::inspect::Capture::new(&file[..]).unwrap();
    let mut reading = Reading::new(capture, CaptureIdentity::of_identity(identity()), None);
    let mut text = view::line_heading(Paint::PLAIN) + "\n";
    reading
        .each::<tightwire::inspect::CaptureError>(|seen| {
            if [1, 2, 21, 41].contains(&seen.number) {
                let line = Mark::of(&seen).line(seen.tally, seen.identity_of_capture);
                text += &(view::draw_line(&line, Paint::PLAIN) + "\n");
            }
            if seen.number == 2 {
                text += &format!("\n{}\n", seen.trace().unwrap());
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_snapshot!("packets", text);
}

#[test]
fn a_capture_of_nothing_is_no_error() {
    assert_snapshot!("empty", inspect(&capture(0), None, None, 9).unwrap().text);
}

#[test]
fn a_capture_that_was_cut_shows_what_there_is_and_says_so() {
    let file = capture(50);
    let inspected = inspect(&file[..file.len() - 9], None, None, 0).unwrap();
    assert_eq!(inspected.json["packets"], 49);
    assert!(inspected.ended.unwrap().starts_with("the capture ends within the block"));
    assert!(inspected.text.contains("the capture ends within the block"), "{}", inspected.text);
}

#[test]
fn a_narrow_terminal_cuts_no_line_in_two() {
    let file = with_mistakes();
    for width in [40, 60, 80, 100, 160] {
        let paint = Paint { columns: Some(width), ..Paint::PLAIN };
        let capture = tightwire::inspect::Capture::new(&file[..]).unwrap();
        let mut reading = Reading::new(capture, CaptureIdentity::of_identity(identity()), None);
        let mut shown = Views {
            survey: Survey::new(3),
            values: Some(FieldValues::new(3)),
            chosen: Chosen::new(0),
        };
        reading.watch("players.health");
        let mut text = String::new();
        reading
            .each::<tightwire::inspect::CaptureError>(|seen| {
                shown.add(&seen);
                let line = Mark::of(&seen).line(seen.tally, seen.identity_of_capture);
                text += &(view::draw_line(&line, paint) + "\n");
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        let mut summary = shown.whole("arena.pcapng", &reading);
        let values = view::draw(&summary, paint);
        summary.values = None;
        let whole = view::draw(&summary, paint);
        // The numbers of a table and of a packet need at least 60 columns.
        let most = width.max(60);
        for line in [whole, values, text].iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= most, "{width}: {line}");
        }
    }
}
