//! The fuzz target of `inspect` on a stable toolchain, as those of the other crates.

#[path = "../../../../../fuzz/src/tool.rs"]
mod checks;
#[path = "../../../../tightwire/tests/common/replay.rs"]
mod replay;

use super::support::volume;

#[test]
fn inspect() {
    replay::fuzz("inspect", checks::inspect, volume(5_000, 50_000));
}
