//! Snapshots: the states of many objects, as deltas against a baseline that the receiver has acked.
//!
//! This is a part of [Tightwire](https://docs.rs/tightwire), the crate to add, which has it as the
//! module `snapshot`.
//!
//! # The life of a state
//!
//! A state of an object lives as follows, for each receiver on its own:
//!
//! ```text
//! set       Store, History      store.rs, history.rs   Sender::set adds a version of this tick
//!  |
//!  v
//! dirty     View::dirty         view.rs                Selection (select.rs) takes them by priority
//!  |   ^
//!  v   | lost: the object stayed dirty, and is sent again in its then current state
//! sent      SentPacket,         view.rs                sender/make.rs writes it: in flight
//!  |        SentObject
//!  v   Ack, of ack.rs, comes from the receiver
//! acked     ObjectStatus,       view.rs                View::handle_ack keeps the newest ones
//!  |        AckedVersion
//!  v
//! baseline  SenderBaseline,     baseline.rs            later packets are deltas against this state
//!  |        ReceiverBaseline
//!  v
//! expired   History             history.rs             Config::history ticks after it was replaced
//! ```
//!
//! An object is dirty until the receiver acks its current state; sending it only resets its
//! priority. An object whose acked states have expired is sent without a baseline. After 96 packets
//! in flight without an ack the sender resyncs: it drops the whole baseline of the receiver, and
//! the next packet is a keyframe.
//!
//! On the receiving side, `World` (`world/mod.rs`) keeps the states of received packets. The header
//! of each packet (`header.rs`) says which packets are acked, so that both sides have the same
//! baseline. A state expires there when no later packet can have it as its baseline.
//!
//! # The files
//!
//! From the bottom: `layout` makes an object a row of cells; `history` has the versions of rows;
//! `update` is one object in a packet, and `body` the bytes of all updates, by one of the levels
//! `packed` and `modeled`. Above, on the sending side, the `store` of the world, a `view` for each
//! receiver, `select`, and the `bodies` that receivers share; on the receiving side, the `world`. A [`Trace`] tells which field each
//! bit of a packet belongs to. `clock`, `interpolate`, `between` and `playback` show the world
//! between snapshots; with `between` and `tombstones`, a sender reads the world as a receiver saw
//! it.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
// Derived code says `::tightwire`, also where this crate derives.
extern crate tightwire_core as tightwire;

mod ack;
mod auto_level;
mod baseline;
mod between;
mod bodies;
mod body;
mod check;
mod clock;
mod config;
mod description;
mod error;
mod given;
mod header;
mod history;
mod ids;
mod interpolate;
mod iter;
mod layout;
#[cfg(test)]
mod level_tests;
#[cfg(test)]
mod masked_tests;
mod model;
mod modeled;
mod object_view;
mod ownership;
mod packed;
mod packet;
mod playback;
mod protocol;
#[cfg(test)]
mod random_worlds;
mod receiver;
mod relevancy;
mod rows;
mod scratch;
mod select;
mod sender;
#[cfg(test)]
mod sharing_tests;
mod slot_set;
mod slots;
mod spawn_ids;
mod store;
#[cfg(test)]
mod tests;
mod tombstones;
mod trace;
mod update;
mod view;
mod world;

pub use ack::Ack;
pub use bodies::CodedUpdates;
use config::PacketLevel;
pub use config::{Config, Leaving, Level};
pub use description::Description;
pub use error::{LayoutError, ProtocolError, ReceiveError, SetError};
pub use iter::{PlaybackIter, ReceiverIter};
pub use object_view::ObjectView;
pub use packet::SnapshotPacket;
pub use playback::{Playback, PlaybackConfig};
pub use protocol::{Protocol, ProtocolBuilder};
pub use receiver::{ChangeKind, ObjectChange, Received, Receiver};
pub use relevancy::{RelevancyConfig, RoomId, Scope, TeamId};
pub use rows::{ColumnGroup, OffsetSize, Row, RowBuffer, RowOffset};
pub use sender::{ReceiverId, RowEdit, Sender, Snapshot, SnapshotRequest};
pub use trace::{Trace, TracePart, TraceSpan, TraceTotal};
