//! Snapshots: the state of many objects, as what changed since a state that the receiver has.
//!
//! From the bottom: a [layout](layout) makes an object a row of cells; the [history](history) keeps
//! rows of the past; [mentions](mention) are what a packet says of objects, and a [body](body) is
//! their bytes, by one of the levels. Above, the sender's [store](store) of the world, a
//! [view](view) of it for each receiver, and the [selection](select) of what that one needs; and the
//! receiver's [world](world). Both [know](knowledge) the same of what a packet is relative to. A [trace](trace) says what each bit of a packet was for.

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
mod slots;
mod store;
#[cfg(test)]
mod tests;
mod trace;
mod view;
mod world;

pub use ack::SnapshotAck;
pub use config::{Leaving, Level, SnapshotConfig};
pub use description::SnapshotDescription;
pub use error::{SetError, SnapshotError, SnapshotProtocolError};
pub use packet::SnapshotPacket;
pub use playback::{Playback, PlaybackConfig};
pub use protocol::{SnapshotProtocol, SnapshotProtocolBuilder};
pub use receiver::{ChangeKind, Received, SnapshotChange, SnapshotReceiver};
pub use sender::{ObjectView, ReceiverId, SnapshotSender};
pub use trace::{SnapshotPart, SnapshotSpan, SnapshotTotal, SnapshotTrace};
