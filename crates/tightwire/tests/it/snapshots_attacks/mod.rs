//! Misuse, bad luck and large worlds: what snapshots must survive.

mod budgets;
mod classes;
mod game;
mod misuse;
mod outages;
mod playback;
mod soak;
mod values;
