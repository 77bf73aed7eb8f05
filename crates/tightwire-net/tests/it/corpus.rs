//! The fuzz targets of this crate on a stable toolchain, as those of `tightwire`.

use crate::checks;
use crate::common::replay;

#[test]
fn tokens_of_the_corpus_and_their_neighbours() {
    replay::fuzz("token", checks::token, 50_000);
}

#[test]
fn sessions_of_the_corpus_and_their_neighbours() {
    replay::fuzz("session", checks::session, 50_000);
}

#[test]
fn frames_of_a_game_of_the_corpus_and_their_neighbours() {
    replay::fuzz("play", checks::play, 5_000);
}

#[test]
fn recordings_of_the_corpus_and_their_neighbours() {
    replay::fuzz("recording", checks::recording, 50_000);
}

#[test]
fn quic_actions_of_the_corpus_and_their_neighbours() {
    replay::fuzz("quic", checks::quic, 2_000);
}

#[test]
fn frames_of_the_corpus_and_their_neighbours() {
    replay::fuzz("frames", checks::frames, 200_000);
}
