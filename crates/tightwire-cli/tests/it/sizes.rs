//! `tightwire sizes`, as it is typed.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::common::tightwire;
use crate::support::seed;

fn printed(arguments: &[&str]) -> String {
    let output = tightwire(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && error.is_empty(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = tightwire(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    assert!(!error.contains("panicked"), "{error}");
    error
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).unwrap()
}

/// The bytes of each form.
fn ladder(report: &Value) -> Vec<(&str, u64)> {
    let ladder = report["ladder"].as_array().unwrap();
    ladder
        .iter()
        .map(|rung| (rung["name"].as_str().unwrap(), rung["bytes"].as_u64().unwrap()))
        .collect()
}

/// A folder of its own: tests run beside each other.
fn folder() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sizes").join(number);
    std::fs::create_dir_all(&folder).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn file(bytes: impl AsRef<[u8]>) -> String {
    let path = format!("{}/file", folder());
    std::fs::write(&path, bytes).unwrap();
    path
}

const WORLDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/worlds/");

fn schema() -> String {
    format!("{WORLDS}articles.schema.json")
}

fn world() -> String {
    format!("{WORLDS}articles.json")
}

#[test]
fn the_world_of_the_articles() {
    insta::assert_snapshot!(printed(&["sizes"]));
}

#[test]
fn a_thousand_objects() {
    insta::assert_snapshot!(printed(&["sizes", "--example", "large"]));
}

#[test]
fn every_form_is_smaller_than_the_one_before() {
    for example in ["small", "large"] {
        let report = json(&["sizes", "--example", example]);
        let ladder = ladder(&report);
        let names: Vec<_> = ladder.iter().map(|(name, _)| *name).collect();
        let expected = [
            "XML",
            "JSON",
            "JSON by schema",
            "text by schema",
            "bytes",
            "bits",
            "delta",
            "delta, entropy-coded",
        ];
        assert_eq!(names, expected);
        // A coder that learns has learned nothing of three objects.
        let sorted = if example == "small" { &ladder[..7] } else { &ladder[..] };
        assert!(sorted.is_sorted_by(|(_, wordy), (_, tight)| wordy > tight), "{ladder:?}");
    }
}

#[test]
fn files_are_measured_as_the_example_that_they_are() {
    for example in ["small", "large"] {
        let folder = folder();
        let of_example = json(&["sizes", "--example", example, "--write", &folder]);
        let [world, schema, previous] =
            ["world", "schema", "previous"].map(|name| format!("{folder}/{name}.json"));
        let of_files = json(&["sizes", &world, "--schema", &schema, "--previous", &previous]);
        assert_eq!(of_files["ladder"], of_example["ladder"]);
        assert_eq!(of_files["schema_bytes"], of_example["schema_bytes"]);
    }
}

#[test]
fn without_a_state_before_everything_is_new() {
    let text = printed(&["sizes", &world(), "--schema", &schema()]);
    assert!(text.contains("The deltas are against nothing, so that every object is new"), "{text}");
    let previous = format!("{WORLDS}articles.previous.json");
    let delta = |arguments: &[&str]| {
        let (world, schema) = (world(), schema());
        let report = json(&[&["sizes", &world, "--schema", &schema], arguments].concat());
        ladder(&report)[6].1
    };
    let (new, changed) = (delta(&[]), delta(&["--previous", &previous]));
    let same = delta(&["--previous", &world()]);
    assert!(same < changed && changed < new, "{same} {changed} {new}");
}

#[test]
fn despawned_objects_are_left_out() {
    let previous =
        r#"{"time": 0, "objects": {"7": {"Grunt": {"position": [1, 2, 3], "health": 1}}}}"#;
    let report = json(&["sizes", &world(), "--schema", &schema(), "--previous", &file(previous)]);
    assert_eq!(ladder(&report).len(), 8);
}

#[test]
fn a_world_may_be_xml() {
    let (schema, world) = (schema(), world());
    let read: tightwire::schema::WorldSchema =
        serde_json::from_slice(&std::fs::read(&schema).unwrap()).unwrap();
    let bytes = std::fs::read(&world).unwrap();
    let read_world =
        tightwire::schema::World::read(tightwire::schema::Representation::Json, &bytes, &read)
            .unwrap();
    let xml = file(read_world.write(tightwire::schema::Representation::Xml, &read).unwrap());
    let of_xml = json(&["sizes", &xml, "--schema", &schema]);
    assert_eq!(of_xml["ladder"], json(&["sizes", &world, "--schema", &schema])["ladder"]);
}

#[test]
fn the_plot_has_the_numbers_of_the_table() {
    let svg = format!("{}/plot.svg", folder());
    let report = json(&["sizes", "--svg", &svg]);
    let plot = std::fs::read_to_string(&svg).unwrap();
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"));
    for (name, bytes) in ladder(&report) {
        assert!(plot.contains(&format!(">{name}</text>")), "{name}");
        assert!(plot.contains(&format!(">{bytes} (")), "{name}: {bytes}");
    }
}

#[test]
fn a_class_that_cannot_be_replicated_is_reported_and_the_rest_is_measured() {
    let schema = file(
        r#"{"classes": [{"name": "Book", "properties": [
        {"name": "text", "string": {"max_len": 60000}}]}]}"#,
    );
    let world = file(r#"{"time": 1, "objects": {"1": {"Book": {"text": "Call me Ishmael."}}}}"#);
    let text = printed(&["sizes", &world, "--schema", &schema]);
    let line = text.lines().find(|line| line.starts_with("delta ")).unwrap();
    assert!(line.ends_with(" -"), "{text}");
    assert_eq!(text.matches("There is none: `Book` cannot be replicated: ").count(), 1, "{text}");
    assert!(text.contains("\nbits  ") && text.contains("1 object of one class"), "{text}");
    let report = json(&["sizes", &world, "--schema", &schema]);
    assert_eq!(report["ladder"][6]["bytes"], Value::Null);
}

#[test]
fn a_world_of_nothing_has_a_size() {
    let world = file(r#"{"time": 0, "objects": {}}"#);
    let report = json(&["sizes", &world, "--schema", &schema()]);
    assert_eq!(report["objects"], 0);
    assert_eq!(ladder(&report)[5], ("bits", 6));
}

#[test]
fn invalid_worlds_are_refused_with_line_and_column() {
    let schema = schema();
    let deep = "[".repeat(100_000);
    for (text, reason) in [
        ("", "the file is empty"),
        ("hello", "line 1, column 1: "),
        (&deep, "line 1, column "),
        ("{\"time\": 0}", "missing field `objects`"),
        (r#"{"time": 0, "objects": {"7": {"Dragon": {}}}}"#, "`Class` has no variant \"Dragon\""),
        (
            r#"{"time": 0, "objects": {"7": {"Grunt": {"position": [0, 0, 0], "health": 101}}}}"#,
            "line 1, column 76: 101 is no value of `int 0..=100`",
        ),
        (
            r#"{"time": 0, "objects": {"7": {"Grunt": {"position": [0, 0, 999], "health": 1}}}}"#,
            "is not in -256..=256",
        ),
        (r#"{"time": 0, "objects": {"7": {"\u001b[31m": {}}}}"#, "`Class` has no variant "),
        ("<world", "line 1, column "),
        ("<!DOCTYPE w [<!ENTITY a \"aaaa\">]><w>&a;</w>", "line 1, column "),
    ] {
        let error = refused(&["sizes", &file(text), "--schema", &schema]);
        assert!(error.contains(reason), "{text:.60}: {error}");
        assert!(error.starts_with("tightwire: ") && !error.contains('\x1b'), "{error}");
    }
    let error = refused(&["sizes", &world(), "--schema", &file(r#"{"bool": {}}"#)]);
    assert!(error.contains("the schema of packets, not of a world"), "{error}");
    let error = refused(&["sizes", &world(), "--schema", &file("{\"classes\": 7}")]);
    assert!(error.contains("not a schema: invalid type: integer `7`"), "{error}");
    let error = refused(&["sizes", "/nothing.json", "--schema", &schema]);
    assert!(error.contains("/nothing.json: "), "{error}");
    assert!(refused(&["sizes", &world()]).contains("--schema"));
    assert!(refused(&["sizes", "--schema", &schema]).contains("required arguments"));
}

#[test]
fn changed_worlds_are_refused_or_measured() {
    let (bytes, schema) = (std::fs::read(world()).unwrap(), schema());
    let mut state = seed(11);
    let mut random = move |end: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % end
    };
    let mut measured = 0;
    for round in 0..60 {
        let mut bytes = bytes.clone();
        // Half of them stay worlds: another digit is another number.
        let digits = |byte: &u8| (b'1'..=b'9').contains(byte);
        if round % 2 == 0 {
            let places: Vec<_> = (0..bytes.len()).filter(|&place| digits(&bytes[place])).collect();
            bytes[places[random(places.len())]] = b'1' + random(9) as u8;
        } else {
            for _ in 0..=random(2) {
                let place = random(bytes.len());
                bytes[place] = b"0123456789{}[],:\"-. e\xff"[random(22)];
            }
        }
        let output = tightwire(&["sizes", &file(bytes), "--schema", &schema]);
        let error = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => measured += 1,
            Some(1) => assert!(error.starts_with("tightwire: "), "{error}"),
            status => panic!("{status:?}: {error}"),
        }
    }
    assert!((1..60).contains(&measured), "{measured}");
}
