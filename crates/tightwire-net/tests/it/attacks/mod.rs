//! What an attacker, a bad clock or a hasty application can do. Each test is named by what holds.

mod ends;
mod newcomers;
mod settings;
mod world;
