//! Tests of the crate's behaviours, in one binary: each further one would be linked, and compile
//! every generic operation again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::duplicate_mod, reason = "other crates include some of the helpers alone")]

#[path = "../../../../fuzz/src/checks/mod.rs"]
mod checks;
#[path = "../common/mod.rs"]
mod common;

mod attacks;
#[cfg(feature = "bevy_ecs-019")]
mod bevy_entity;
mod bytes;
mod bytes_model;
mod bytes_space;
mod bytes_stream;
mod capture;
mod capture_foreign;
mod capture_hostile;
mod capture_identity;
mod capture_pcap;
mod capture_tools;
mod corpus;
mod differential;
mod error_texts;
mod golden;
mod hostile;
mod link;
mod messages;
mod messages_drained;
mod messages_hostile;
mod messages_limits;
mod messages_model;
mod messages_no_allocation;
mod messages_panics;
mod messages_received;
mod messages_registered;
mod messages_runs;
mod misuse;
mod no_allocation;
mod packet;
mod packet_hostile;
mod packet_identity;
mod packet_sealed;
mod picture;
mod quantised;
mod round_trip;
mod schema_derived;
mod schema_dynamic;
mod schema_hints;
mod schema_hostile;
mod schema_identity;
mod schema_wire;
mod snapshots_attacks;
mod snapshots_description;
mod snapshots_dynamic;
mod snapshots_golden;
mod snapshots_hostile;
mod snapshots_interest;
mod snapshots_newtypes;
mod snapshots_no_allocation;
mod snapshots_playback;
mod snapshots_resync;
mod snapshots_trace;
mod subset;
mod tally;
mod trace;
mod vectors;
mod world;
mod world_hostile;
