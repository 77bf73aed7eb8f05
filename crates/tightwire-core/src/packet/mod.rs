//! Packets: the contents of a datagram, and its protection.

mod counters;
mod form;
mod gate;
mod identity;
mod mismatch;
mod protocol;
mod refused;
#[cfg(feature = "sealing")]
mod replay;
#[cfg_attr(not(feature = "sealing"), path = "no_seal.rs")]
mod seal;
mod tally;

pub use counters::Counters;
pub use gate::{Protection, RecordedPackets};
pub use identity::Identity;
pub use mismatch::MismatchError;
pub use protocol::Protocol;
pub use refused::{ExplainedPacketError, ExplainedPacketWriteError, PacketError, PacketWriteError};
pub use seal::Keys;
pub use tally::{Place, Tally};
