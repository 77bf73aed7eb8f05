//! Misuse, outages and large worlds, which snapshots must survive.

mod budgets;
mod classes;
mod game;
mod misuse;
mod outages;
mod playback;
mod soak;
mod values;
