//! The fuzz targets of this crate on a stable toolchain, as those of `tightwire`.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../../fuzz/src/transport/mod.rs"]
mod checks;
#[path = "../../tightwire/tests/common/replay.rs"]
mod replay;

#[test]
fn tokens_of_the_corpus_and_their_neighbours() {
    replay::fuzz("token", checks::token, 50_000);
}
