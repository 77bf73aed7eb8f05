//! The command with its arguments: its errors and notes.

use std::fs;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};

use super::super::Inspect;
use super::game::{capture, capture_of, identity};

/// A temporary file, removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    fn of(name: &str, bytes: &[u8]) -> Self {
        let file = format!("tightwire-inspect-{}-{name}.pcapng", std::process::id());
        let path = std::env::temp_dir().join(file);
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let path = self.0.to_str().unwrap();
        let given = ["inspect", path].into_iter().chain(arguments.iter().copied());
        let command = Inspect::augment_args(clap::Command::new("inspect"));
        let matches = command.try_get_matches_from(given).map_err(|error| error.to_string())?;
        let inspect = Inspect::from_arg_matches(&matches).unwrap();
        let outcome = inspect.run().map_err(|error| error.to_string());
        outcome.map_err(|error| error.replace(path, "FILE"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_field_that_no_packet_has_is_refused_and_others_are_named() {
    let file = Temporary::of("field", &capture(20));
    for arguments in [&["--field", "helth"][..], &["--field", "helth", "--packets"]] {
        let error = file.run(arguments).unwrap_err();
        let expected = "FILE: no field `helth` in any packet: there are \
                        Packet.State.0.players[].health, ";
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(file.run(&["--field", "Packet.State.0.players[].health"]).is_ok());
    let nothing = Temporary::of("no-packets", &capture_of(&identity(), []));
    assert_eq!(
        nothing.run(&["--field", "health"]).unwrap_err(),
        "FILE: no field `health`: the capture has no packet that could be read"
    );
}

#[test]
fn a_packet_that_is_not_there_is_refused() {
    let whole = capture(20);
    let file = Temporary::of("packet", &whole);
    assert!(file.run(&["--packet", "0"]).unwrap_err().contains("0 is not in 1.."));
    let error = file.run(&["--packet", "21"]).unwrap_err();
    assert_eq!(error, "there is no packet 21: FILE has 20 packets");
    let cut = Temporary::of("cut-packet", &whole[..whole.len() - 5]);
    let error = cut.run(&["--packet", "20"]).unwrap_err();
    assert_eq!(error, "there is no packet 20: FILE has 19 packets");
}

#[test]
fn a_file_that_was_cut_is_no_error_in_any_view() {
    let whole = capture(20);
    let cut = Temporary::of("cut", &whole[..whole.len() - 5]);
    for arguments in [
        &[][..],
        &["--json"],
        &["--packets"],
        &["--xray"],
        &["--field", "health"],
        &["--packets", "--field", "health"],
    ] {
        assert!(cut.run(arguments).is_ok(), "{arguments:?}");
    }
    let mut damaged = whole.clone();
    let length = whole.len();
    damaged[length - 4..].fill(0xff);
    let damaged = Temporary::of("damaged", &damaged);
    for arguments in [&[][..], &["--packets"], &["--xray"]] {
        let error = damaged.run(arguments).unwrap_err();
        assert!(error.starts_with("FILE is read up to where it is damaged: "), "{error}");
    }
    let empty = Temporary::of("empty", b"");
    assert_eq!(empty.run(&[]).unwrap_err(), "FILE: the file is empty");
}
