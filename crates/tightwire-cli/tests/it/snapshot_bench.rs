//! `snapshot-bench` and `snapshot-cost`, as they are typed, on parts of recorded scenes.

use std::io::Read as _;
use std::path::Path;

use crate::common::{Folder, tightwire};

fn scene(name: &str) -> String {
    format!("{}/tests/scenes/{name}_short.bin.zst", env!("CARGO_MANIFEST_DIR"))
}

/// The bytes of a frame, by level and setting.
fn sizes(file: &str, options: &[&str]) -> Vec<(String, f64)> {
    let output = tightwire(&[&["snapshot-bench", file, "--json"], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = report["runs"].as_array().unwrap();
    let size = |run: &serde_json::Value| {
        assert_eq!(run["identical"], true);
        let name =
            format!("{} {}", run["level"].as_str().unwrap(), run["setting"].as_str().unwrap());
        (name, run["bytes_per_frame"].as_f64().unwrap())
    };
    runs.iter().map(size).collect()
}

/// Bytes at level Modeled, in the first setting.
fn modeled(file: &str, options: &[&str]) -> f64 {
    sizes(file, &[&["--level", "modeled"], options].concat())[0].1
}

/// Standard error of a failing command.
fn error(arguments: &[&str]) -> String {
    let output = tightwire(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn assert_sizes(name: &str, most: [f64; 4]) {
    let sizes = sizes(&scene(name), &[]);
    let names: Vec<_> = sizes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["packed chain", "packed history", "modeled chain", "modeled history"]);
    for ((run, bytes), most) in sizes.iter().zip(most) {
        assert!(
            (most * 0.9..=most).contains(bytes),
            "{name}, {run}: {bytes} bytes, not about {most}"
        );
    }
}

#[test]
fn frames_come_out_as_they_were_and_are_small() {
    assert_sizes("cubes", [480.0, 460.0, 365.0, 355.0]);
    assert_sizes("arena", [940.0, 870.0, 580.0, 560.0]);
}

#[test]
fn a_table_and_a_plot_say_the_same() {
    let plot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plot.svg");
    let output = tightwire(&[
        "snapshot-bench",
        &scene("cubes"),
        "--frames",
        "20",
        "--plot",
        plot.to_str().unwrap(),
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("Every frame came out as it was.\n"), "{text}");
    let line = text.lines().find(|line| line.starts_with("Modeled, chain")).unwrap();
    let bytes: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
    assert!(
        std::fs::read_to_string(plot).unwrap().contains(&format!(">{bytes:.0}</text>")),
        "{line}"
    );
}

#[test]
fn invalid_scenes_are_refused_with_a_reason() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let arena = [0x314e_5241, 1, 1, 60, 20, 9, 200, 512, 1, 0];
    let cases: [(&str, Vec<i32>, &str); 5] = [
        ("empty", vec![], "neither an arena nor frames"),
        ("cubes", vec![7; 901 * 8], "cube 0 of frame 0 has a word out of its range"),
        ("cut", arena.to_vec(), "a frame is cut short"),
        ("other", [&arena[..4], &[21], &arena[5..]].concat(), "word 4 of the header is 21, not 20"),
        ("huge", [&arena[..8], &[i32::MAX, i32::MAX]].concat(), "a frame is cut short"),
    ];
    for (name, words, reason) in cases {
        let file = folder.join(format!("{name}.bin"));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes).unwrap();
        let error = error(&["snapshot-bench", file.to_str().unwrap()]);
        assert!(error.contains(reason), "{name}: {error}");
    }
}

#[test]
fn a_scene_without_hints_is_larger() {
    let cubes = |options| modeled(&scene("cubes"), options);
    let (whole, alone) = (cubes(&[]), cubes(&["--without", "reference"]));
    let scattered = cubes(&["--without", "reference,spatial"]);
    assert!(whole < alone && alone < scattered, "{whole}, {alone}, {scattered}");
    assert_eq!(cubes(&["--without", "reference", "--without", "spatial"]), scattered);
    let unturned = cubes(&["--without", "rotation"]);
    assert!(whole < unturned, "{whole}, {unturned}");

    let arena = |options| sizes(&scene("arena"), options);
    let [whole, steady, straight] =
        [arena(&[]), arena(&["--without", "derivative_of"]), arena(&["--without", "wraps"])];
    for (run, (name, bytes)) in whole.iter().enumerate() {
        let (steady, straight) = (steady[run].1, straight[run].1);
        assert!(steady > bytes * 1.15, "{name}: {steady} of {bytes}");
        assert!(straight > *bytes, "{name}: {straight} of {bytes}");
    }
}

#[test]
fn a_scene_takes_as_many_bytes_if_another_axis_points_up() {
    for name in ["cubes", "arena"] {
        let z = modeled(&scene(name), &[]);
        for axis in ["x", "y"] {
            let turned = modeled(&scene(name), &["--up", axis]);
            assert!(turned <= z * 1.002, "{name}, {axis} up: {turned} of {z}");
        }
    }
}

#[test]
fn a_report_says_which_hints_were_left_out() {
    let options = ["--without", "reference,spatial", "--frames", "10"];
    let output = tightwire(&[&["snapshot-bench", &scene("cubes")], &options[..]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("cubes_short without reference, spatial: 10 frames"), "{text}");
    let output =
        tightwire(&[&["snapshot-bench", &scene("cubes"), "--json"], &options[..]].concat());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["without"], serde_json::json!(["reference", "spatial"]));
}

#[test]
fn hints_that_cannot_be_left_out_are_refused_with_those_that_can() {
    for (name, hint, reason) in [
        ("cubes", "wraps", "this scene has no hint wraps: it has reference, spatial, rotation"),
        (
            "arena",
            "reference",
            "this scene has no hint reference: it has spatial, derivative_of, wraps",
        ),
        ("cubes", "spatial", "PlayerCube.position: `reference` is for a field that is `spatial`"),
        ("cubes", "hints", "[possible values: reference, spatial, derivative_of, wraps, rotation]"),
    ] {
        let error = error(&["snapshot-bench", &scene(name), "--without", hint]);
        assert!(error.contains(reason), "{name}, {hint}: {error}");
    }
}

#[test]
fn a_compressed_scene_is_the_scene_and_a_damaged_one_is_refused() {
    let folder = Folder::new("compressed");
    let packed = std::fs::read(scene("cubes")).unwrap();
    let mut unpacked = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(&packed[..])
        .unwrap()
        .read_to_end(&mut unpacked)
        .unwrap();
    let plain = folder.file("plain.bin");
    std::fs::write(&plain, &unpacked).unwrap();
    let options = ["--level", "packed", "--frames", "20"];
    assert_eq!(sizes(&plain, &options), sizes(&scene("cubes"), &options));

    let damaged = folder.file("damaged.bin.zst");
    let checksum_is = |last: u8| {
        let end = packed.len() - 1;
        std::fs::write(&damaged, [&packed[..end], &[last]].concat()).unwrap();
    };
    checksum_is(!packed[packed.len() - 1]);
    let reason = error(&["snapshot-bench", &damaged]);
    assert!(reason.contains("the checksum is wrong"), "{reason}");
    for bytes in [&packed[..packed.len() / 2], b"no zstd", b""] {
        std::fs::write(&damaged, bytes).unwrap();
        let reason = error(&["snapshot-bench", &damaged]);
        assert!(reason.contains("damaged.bin.zst: ") && !reason.contains("panicked"), "{reason}");
    }
}

#[test]
fn the_cost_of_a_tick_is_printed() {
    let output = tightwire(&["snapshot-cost", "--ticks", "8"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("receivers  ")).count(), 8, "{text}");
    assert_eq!(text.matches("times as fast").count(), 4, "{text}");
    assert_eq!(text.matches(" guarded, ").count(), 8, "{text}");
    assert_eq!(text.matches("setting an object").count(), 1, "{text}");
    assert_eq!(text.matches("for play with ").count(), 4, "{text}");
    assert_eq!(text.matches("if it acknowledges ").count(), 12, "{text}");
    assert_eq!(
        text.lines().filter(|line| line.contains("for each that moves")).count(),
        12,
        "{text}"
    );
}
