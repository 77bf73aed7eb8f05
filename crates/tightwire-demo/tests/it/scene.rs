//! `record-scene`, as it is typed.

use crate::common::{file, run};

#[test]
fn a_recorded_scene_is_decided_by_its_options() {
    let record = |name: &str, options: &[&str]| {
        let path = file(name);
        let output = run(&[&["record-scene", &path, "--seconds", "1"], options].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with(": 61 frames of 901 cubes\n"), "{text}");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        bytes
    };
    let one = record("one.bin", &["--seed", "7"]);
    assert_eq!(one.len(), 61 * 901 * 32);
    let awake = one[..901 * 32].chunks(32).map(|cube| cube[28]);
    assert_eq!(awake.sum::<u8>(), 1, "at first, all but the player's are at rest");
    assert!(one == record("same.bin", &["--seed", "7"]));
    assert!(one != record("other.bin", &["--seed", "8"]));
    assert!(one != record("other.bin", &["--seed", "7", "--gravity", "2"]));
}

/// Standard error of a failing command.
fn error(arguments: &[&str]) -> String {
    let output = run(&[&["record-scene"], arguments].concat());
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn invalid_scene_options_are_refused_with_a_reason() {
    for (option, value, reason) in [
        ("--gravity", "0", "a number from 1 to 50 is needed"),
        ("--bounce", "nan", "a number from 0 to 1 is needed"),
        ("--friction", "rough", "a number from 0 to 2 is needed"),
        ("--size", "0.4", "a number from 0.05 to 0.3 is needed"),
        ("--seconds", "601", "601 is not in 1..=600"),
        ("--habit", "sleeps", "[possible values: mixed, gathers, rests]"),
    ] {
        let error = error(&["never-written.bin", option, value]);
        assert!(error.contains(reason), "{option} {value}: {error}");
    }
    let folder = error(&["no/such/folder/scene.bin"]);
    assert!(folder.contains("no/such/folder/scene.bin"), "{folder}");
    let compressed = error(&["scene.bin.zst"]);
    assert!(compressed.contains("run `zstd` on it"), "{compressed}");
}
