//! One function per fuzz target: it takes the fuzzer's bytes, and panics on a defect.

mod bits;
mod bytes;
pub(crate) mod bytes_model;
#[cfg(feature = "inspect")]
pub(crate) mod capture;
mod derived;
mod hostile_read;
mod identity;
mod item;
pub(crate) mod messages;
mod number;
mod packet;
mod quantised;
pub(crate) mod replication;
mod round_trip;
pub(crate) mod schema;
pub(crate) mod snapshots;
mod types;
pub(crate) mod world;

pub(crate) use bits::bits;
pub(crate) use bytes::bytes;
#[cfg(feature = "inspect")]
pub(crate) use capture::capture;
pub(crate) use derived::derived_read;
pub(crate) use hostile_read::hostile_read;
pub(crate) use identity::identity;
pub(crate) use messages::messages;
pub(crate) use packet::{packet_crc32, packet_id, packet_none, packet_sealed};
pub(crate) use replication::replication;
pub(crate) use round_trip::round_trip;
pub(crate) use schema::{schema_bytes, schema_packet};
pub(crate) use snapshots::snapshots;
pub(crate) use world::world;
