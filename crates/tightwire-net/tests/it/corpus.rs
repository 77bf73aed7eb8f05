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
fn recordings_of_the_corpus_and_their_neighbours() {
    replay::fuzz("recording", checks::recording, 50_000);
}

#[test]
fn what_peers_do_within_quic_of_the_corpus_and_its_neighbours() {
    replay::fuzz("quic", checks::quic, 2_000);
}
