//! Attacks, bad clocks and hasty applications. Each test is named by the promise that holds.

mod ends;
mod new_connections;
mod settings;
mod world;
