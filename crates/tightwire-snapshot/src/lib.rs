//! Snapshots: the state of many objects, as what changed since a state that the receiver has.
//!
//! This is a part of [Tightwire](https://docs.rs/tightwire), the crate to add, which has it as the module
//! `snapshot`.
//!
//! From the bottom: `layout` makes an object a row of cells; `history` keeps rows of the past; `mention` is
//! the delta of one object in a packet, and `body` the bytes of all of them, by one of the levels. Above, the
//! sender's `store` of the world, a `view` of it for each receiver, and `select`, which collects the dirty
//! objects of a receiver; and the receiver's `world`. `knowledge` is the baseline, the same on both sides.
//! A [`Trace`] says what each bit of a packet is for.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
// Derived code says `::tightwire`, also where this crate derives.
extern crate tightwire_core as tightwire;

mod ack;
mod body;
mod check;
mod clock;
mod config;
mod description;
mod error;
mod header;
mod history;
mod ids;
mod interpolate;
mod knowledge;
mod layout;
mod mention;
mod model;
mod modeled;
mod object_view;
mod packed;
mod packet;
mod playback;
mod protocol;
#[cfg(test)]
mod random_worlds;
mod receiver;
mod scratch;
mod select;
mod sender;
#[cfg(test)]
mod sharing_tests;
mod slots;
mod store;
#[cfg(test)]
mod tests;
mod trace;
mod view;
mod world;

pub use ack::Ack;
pub use config::{Config, Leaving, Level};
pub use description::Description;
pub use error::{ProtocolError, ReceiveError, SetError};
pub use object_view::ObjectView;
pub use packet::SnapshotPacket;
pub use playback::{Playback, PlaybackConfig};
pub use protocol::{Protocol, ProtocolBuilder};
pub use receiver::{ChangeKind, ObjectChange, Received, Receiver};
pub use sender::{ReceiverId, Sender};
pub use trace::{Trace, TracePart, TraceSpan, TraceTotal};
