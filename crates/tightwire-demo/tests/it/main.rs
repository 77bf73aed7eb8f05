//! The demo, as it is typed and as a browser shows it: one binary, since each takes its time to link.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod common;
mod demo;
mod page;
mod scene;
