//! `snapshot-bench` and `snapshot-cost`, as they are typed, on parts of recorded scenes.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::tightwire;

fn scene(name: &str) -> String {
    format!("{}/tests/scenes/{name}_short.bin.zst", env!("CARGO_MANIFEST_DIR"))
}

/// The bytes of a frame, by level and setting.
fn sizes(name: &str) -> Vec<(String, f64)> {
    let output = tightwire(&["snapshot-bench", &scene(name), "--json"]);
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

fn assert_sizes(name: &str, most: [f64; 4]) {
    let sizes = sizes(name);
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
fn what_is_no_scene_is_refused_with_a_reason() {
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
        let output = tightwire(&["snapshot-bench", file.to_str().unwrap()]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(reason), "{name}: {error}");
    }
}

#[test]
fn the_cost_of_a_tick_is_printed() {
    let output = tightwire(&["snapshot-cost", "--ticks", "8"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("receivers  ")).count(), 6, "{text}");
    assert_eq!(
        text.lines().filter(|line| line.contains("for each that moves")).count(),
        12,
        "{text}"
    );
}
