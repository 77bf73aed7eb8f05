//! The fuzz target of `inspect` on a stable toolchain, as those of the other crates.

#[path = "../../../../../fuzz/src/tool.rs"]
mod checks;
#[path = "../../../../tightwire/tests/common/replay.rs"]
mod replay;

#[test]
fn inspect() {
    replay::fuzz("inspect", checks::inspect, 50_000);
}
