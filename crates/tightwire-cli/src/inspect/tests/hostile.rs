//! Truncated, random and mutated captures end with a message.

use super::super::capture_identity::CaptureIdentity;
use super::AllViews;
use super::game::{Packet, capture, capture_of, encoded, identity};
use super::snapshots::session;
use super::support::{seed, volume};

/// A seeded generator of small numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Returns whether the file is a readable capture.
fn check(file: &[u8], by_schema: bool) -> bool {
    let identity_of_capture = by_schema.then(|| CaptureIdentity::of_identity(identity()));
    let field = file.len().is_multiple_of(5).then_some("players.health");
    match AllViews::of(file, identity_of_capture, field, 3) {
        Ok(view) => {
            assert!(view.is_sound(), "{:?}", view.text);
            true
        }
        Err(message) => {
            assert!(!message.is_empty());
            false
        }
    }
}

#[test]
fn any_part_of_a_capture_is_read_or_refused() {
    let file = capture(6);
    for length in 0..file.len() {
        check(&file[..length], false);
    }
}

#[test]
fn changed_captures_are_read_or_refused() {
    let runs = volume(10_000, 1_000_000);
    let small = [Packet::at(1), Packet::Say("hi".into()), Packet::Bye, Packet::at(3)];
    let files = [capture_of(&identity(), small.map(encoded)), capture(3), session(4)];
    let mut random = Random(seed(0x9e37_79b9_7f4a_7c15));
    let mut accepted = 0;
    for run in 0..runs {
        // Mostly the smallest file: its blocks suffice to find defects, and it is the fastest.
        let mut file = files[if run % 16 == 0 { 1 + run / 16 % 2 } else { 0 }].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(file.len());
            match random.below(5) {
                0 => file.truncate(at),
                1 => file[at] ^= 1 << random.below(8),
                2 => file[at] = random.below(256) as u8,
                3 => {
                    let from = random.below(file.len());
                    let part = file[from.min(at)..from.max(at)].to_vec();
                    file.splice(at..at, part.into_iter().take(64));
                }
                _ => drop(file.drain(at..(at + random.below(8)).min(file.len()))),
            }
            if file.is_empty() {
                break;
            }
        }
        accepted += usize::from(check(&file, run % 2 == 0));
    }
    assert!((runs / 10..runs).contains(&accepted), "{accepted} of {runs}");
}

#[test]
fn random_bytes_are_refused() {
    let mut random = Random(seed(7));
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        assert!(!check(&bytes, true));
    }
}
