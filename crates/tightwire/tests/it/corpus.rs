//! The fuzz targets on a stable toolchain: every entry of their corpus unchanged, and then many
//! times with a few mutations, the same ones in every run.

use crate::checks;
use crate::common::replay::fuzz;
use crate::common::volume::volume;

#[test]
fn bits_of_the_corpus_and_its_neighbours() {
    fuzz("bits", checks::bits, 740_000);
}

#[cfg(feature = "inspect")]
#[test]
fn captures_of_the_corpus_and_their_neighbours() {
    fuzz("capture", checks::capture, 50_000);
}

#[test]
fn bytes_of_the_corpus_and_their_neighbours() {
    let executions = volume(300_000, 1_000_000);
    fuzz("bytes", checks::bytes, executions);
}

#[test]
fn derived_reads_of_the_corpus_and_its_neighbours() {
    let executions = volume(100_000, 1_000_000);
    fuzz("derived_read", checks::derived_read, executions);
}

#[test]
fn hostile_reads_of_the_corpus_and_its_neighbours() {
    fuzz("hostile_read", checks::hostile_read, 250_000);
}

#[test]
fn messages_of_the_corpus_and_their_neighbours() {
    fuzz("messages", checks::messages, 50_000);
}

#[test]
fn round_trips_of_the_corpus_and_its_neighbours() {
    fuzz("round_trip", checks::round_trip, 15_000);
}

#[test]
fn schemas_of_the_corpus_and_their_neighbours() {
    fuzz("schema_bytes", checks::schema_bytes, 50_000);
}

#[test]
fn packets_with_schemas_of_the_corpus_and_their_neighbours() {
    fuzz("schema_packet", checks::schema_packet, 50_000);
}

#[test]
fn datagrams_of_the_corpus_and_their_neighbours() {
    fuzz("packet_none", checks::packet_none, 20_000);
    fuzz("packet_id", checks::packet_id, 20_000);
    fuzz("packet_crc32", checks::packet_crc32, 20_000);
    fuzz("packet_sealed", checks::packet_sealed, 20_000);
}

#[test]
fn identities_of_the_corpus_and_their_neighbours() {
    // Few: a schema may have many values without bits, and their trace is slow.
    fuzz("identity", checks::identity, 2_000);
}

#[test]
fn snapshots_of_the_corpus_and_their_neighbours() {
    fuzz("snapshots", checks::snapshots, volume(30_000, 1_000_000));
}

#[test]
fn replications_of_the_corpus_and_their_neighbours() {
    fuzz("replication", checks::replication, volume(30_000, 1_000_000));
}

#[test]
fn worlds_of_the_corpus_and_their_neighbours() {
    fuzz("world", checks::world, 30_000);
}
