//! Servers and clients in processes of their own, over UDP on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
#[path = "../common/by_hand/mod.rs"]
mod by_hand;
mod clients;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
#[path = "../common/process.rs"]
mod process;
#[cfg(target_os = "linux")]
#[path = "../../../tightwire/tests/common/seed.rs"]
mod seed;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
#[path = "../../../tightwire/tests/common/volume.rs"]
mod volume;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lets one test run at a time: each starts more processes than a machine has processors.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
