//! Tests of the command line, in one binary to save link time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;
mod dissector;
mod schema;
mod shell;
mod sizes;
mod snapshot_bench;
mod support;
mod token;
