//! The tool, as it is typed: one binary, since each takes its time to link.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;
mod dissector;
mod schema;
mod shell;
mod sizes;
mod snapshot_bench;
mod support;
mod token;
