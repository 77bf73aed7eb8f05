//! Checks of the fuzz targets. `tests/it/corpus.rs` of `tightwire` and of `tightwire-net` compile
//! the same checks, and replay the corpus with them on a stable toolchain.

mod checks;
#[path = "../../crates/tightwire-cli/src/files.rs"]
mod files;
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../crates/tightwire-cli/src/inspect/mod.rs"]
mod inspect;
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../crates/tightwire-cli/src/source.rs"]
mod source;
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../crates/tightwire-cli/src/terminal.rs"]
mod terminal;
mod tool;
mod transport;

/// Reads any bytes into types that use every stream operation.
pub fn hostile_read(data: &[u8]) {
    checks::hostile_read(data);
}

/// Writes, measures, traces and reads any operations with any values in their ranges.
pub fn round_trip(data: &[u8]) {
    checks::round_trip(data);
}

/// Compares the bit writer and the bit reader with a list of bits.
pub fn bits(data: &[u8]) {
    checks::bits(data);
}

/// Compares byte writers with a list of bytes, and reads any bytes.
pub fn bytes(data: &[u8]) {
    checks::bytes(data);
}

/// Reads any bytes as a schema.
pub fn schema_bytes(data: &[u8]) {
    checks::schema_bytes(data);
}

/// Reads any bytes as a packet of any schema.
pub fn schema_packet(data: &[u8]) {
    checks::schema_packet(data);
}

/// Reads any bytes into derived types with nested collections.
pub fn derived_read(data: &[u8]) {
    checks::derived_read(data);
}

/// Reads any bytes as a world of any schema.
pub fn world(data: &[u8]) {
    checks::world(data);
}

/// Gives a receiver any bytes as snapshots.
pub fn snapshots(data: &[u8]) {
    checks::snapshots(data);
}

/// Gives a receiver changed and made-up snapshots in a session, and its sender made-up acks.
pub fn replication(data: &[u8]) {
    checks::replication(data);
}

/// Reads any bytes as a capture.
#[cfg(feature = "inspect")]
pub fn capture(data: &[u8]) {
    checks::capture(data);
}

/// Reads any bytes as datagrams without protection.
pub fn packet_none(data: &[u8]) {
    checks::packet_none(data);
}

/// Reads any bytes as datagrams with a protocol id, and as packets behind a valid one.
pub fn packet_id(data: &[u8]) {
    checks::packet_id(data);
}

/// Reads any bytes as datagrams with a checksum, and as packets behind a valid one.
pub fn packet_crc32(data: &[u8]) {
    checks::packet_crc32(data);
}

/// Reads any bytes as sealed datagrams, and as packets in valid ones.
pub fn packet_sealed(data: &[u8]) {
    checks::packet_sealed(data);
}

/// Reads any bytes as an identity, and as a packet of it.
pub fn identity(data: &[u8]) {
    checks::identity(data);
}

/// Gives a messenger any bytes as batches of a hostile peer.
pub fn messages(data: &[u8]) {
    checks::messages(data);
}

/// Reads any bytes as a connect token, as the sealed contents of one, and as the text of one.
pub fn token(data: &[u8]) {
    transport::token(data);
}

/// Gives a server any bytes as batches of a hostile client and of an unauthenticated one.
pub fn session(data: &[u8]) {
    transport::session(data);
}

/// Gives a server and a client of a game any frames of inputs and snapshots.
pub fn play(data: &[u8]) {
    transport::play(data);
}

/// Replays any bytes as a recording.
pub fn recording(data: &[u8]) {
    transport::recording(data);
}

/// Inspects any bytes as a capture.
pub fn inspect_capture(data: &[u8]) {
    tool::inspect(data);
}

/// Lets a hostile peer do anything within a connection, to a server and to a client.
pub fn quic(data: &[u8]) {
    transport::quic(data);
}

/// Gives the guard of a connection any frames, in packets that are decrypted.
pub fn frames(data: &[u8]) {
    transport::frames(data);
}
