//! Packets that are refused, one for each reason, and those that only an attacker sends.

use std::collections::BTreeSet;

use tightwire::bytes::Packing;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use super::tshark::{Item, dissected, record, write_dissector};
use super::{agree, datagram};
use crate::common::Folder;

fn schema(json: &str) -> Schema {
    serde_json::from_str(json).unwrap()
}

fn protocol(json: &str) -> Identity {
    Identity::new("Arena Game", "1.0", Protection::Crc32, schema(json))
}

/// Refusal reasons of packets, equal in the dissector and the library.
fn reasons(name: &str, identity: &Identity, packets: &[&[u8]]) -> Vec<String> {
    let folder = Folder::new(name);
    let datagrams: Vec<_> = packets.iter().map(|packet| datagram(identity, packet)).collect();
    let items = agree(&folder, identity, &datagrams);
    let reason = |item: &Item| item.show("arena_game.refused.reason").unwrap_or_default();
    items.iter().map(reason).collect()
}

#[test]
fn each_reason_is_named() {
    let identity = protocol(
        r#"{"enum": {"name": "Packet", "variants": [
            {"name": "Ranged", "fields": [{"name": "health", "int": {"min": -10, "max": 90}}]},
            {"name": "Text", "fields": [{"name": "name", "string": {"max_len": 7}}]},
            {"name": "Wide", "fields": [{"name": "name", "wide_string": {"max_len": 7}}]},
            {"name": "Count", "fields": [{"name": "count", "varint": {"bits": 16, "signed": true}}]},
            {"name": "Turn", "fields": [{"name": "turn", "smallest_three": {"bits": 3}}]},
            {"name": "Checked", "fields": [{"name": "check", "check": {"name": "here"}}]},
            {"name": "Hand", "fields": [{"name": "hand", "opaque": {"name": "Hand", "max_bits": 8}}]}
        ]}}"#,
    )
    .with_checks();
    let packets: [&[u8]; 15] = [
        &[0xf8, 0x03],
        &[0x00],
        &[0x00, 0, 0, 0, 0, 0],
        &[7],
        &[0x41],
        &[0x09, 0xff],
        &[0x09, 0x00],
        &[0x0a, 0x00, 0x00, 0x00, 0x00],
        &[0x0a, 0x00, 0x60, 0x03, 0x00],
        &[0x03, 0x04, 0x00],
        &[0xfb, 0xff, 0xff, 0xff, 0xff],
        &[0xe4, 0x3f],
        &[5, 1, 2, 3, 4, 5],
        &[6, 1, 2, 3],
        &[0xd2, 0xff, 0xff, 0xff, 0xff],
    ];
    let reasons = reasons("reasons", &identity, &packets);
    let named: BTreeSet<_> = reasons.iter().map(|reason| &**reason).collect();
    let expected = [
        "check_failed",
        "interior_nul",
        "malformed_text",
        "not_unit",
        "out_of_range",
        "padding",
        "undescribed",
        "unexpected_end",
    ];
    for reason in expected {
        assert!(named.contains(reason), "{reason} is not in {reasons:?}");
    }
}

#[test]
fn more_groups_than_a_number_needs_and_data_after_the_end() {
    let identity = protocol(
        r#"{"struct": {"name": "Packet", "fields": [
        {"name": "count", "varint": {"bits": 16, "signed": false}},
        {"name": "flags", "bits": {"width": 3}}
    ]}}"#,
    );
    let packets: [&[u8]; 6] =
        [&[0x81, 0x00, 1], &[0x81, 0x01, 1], &[1, 1, 0], &[1, 0x11], &[0xff, 0xff, 0xff], &[5, 1]];
    let reasons = reasons("overlong", &identity, &packets);
    let expected = ["overlong", "", "trailing_data", "trailing_data", "out_of_range", ""];
    assert_eq!(reasons, expected);
}

#[test]
fn a_datagram_of_another_protocol_is_shown_as_bytes() {
    let folder = Folder::new("dissector-gates");
    for protection in [Protection::Id, Protection::Crc32] {
        let identity =
            Identity::new("Arena Game", "1.0", protection, schema(r#"{"bits": {"width": 8}}"#));
        let good = datagram(&identity, &[7]);
        let mut corrupt = good.clone();
        *corrupt.last_mut().unwrap() ^= 1;
        let other = Identity::new("Arena Game", "1.1", protection, identity.schema().clone());
        let datagrams = [good, corrupt, datagram(&other, &[7]), vec![1, 2, 3]];
        let items = agree(&folder, &identity, &datagrams);
        let header = if protection == Protection::Id { "protocol_id" } else { "crc32" };
        let status = |item: &Item| item.show(&format!("arena_game.{header}.status"));
        let statuses: Vec<_> = items.iter().map(status).collect();
        let of = |number: &str| Some(number.to_owned());
        // An id alone does not notice a changed byte.
        let corrupt = if protection == Protection::Id { "1" } else { "0" };
        assert_eq!(statuses, [of("1"), of(corrupt), of("0"), None]);
    }
}

/// Elements that take no bits, lists in lists, as long as they like: there is an end to the work.
#[test]
fn elements_without_bits_take_bounded_work() {
    let empty = r#"{"struct": {"name": "Nothing", "fields": []}}"#;
    let shapes = [
        format!(r#"{{"list": {{"max_len": 4000000000, "element": {empty}}}}}"#),
        format!(r#"{{"array": {{"len": 4000000000, "element": {empty}}}}}"#),
        format!(
            r#"{{"list": {{"max_len": 1000, "element": {{"array": {{"len": 1000, "element": {empty}}}}}}}}}"#
        ),
        r#"{"list": {"max_len": 4000000000, "element": {"bits": {"width": 0}}}}"#.to_owned(),
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let packing = [Packing::Bits, Packing::Bytes][number % 2];
        let identity = protocol(shape).with_packing(packing);
        // 1024 elements are free, and one more is not.
        let packets: [&[u8]; 4] = [&[0xff; 4], &[0, 4, 0, 0], &[1, 4, 0, 0], &[0xff, 0x03]];
        let reasons = reasons("free", &identity, &packets);
        assert!(reasons.iter().any(|reason| !reason.is_empty()));
        if shape.starts_with(r#"{"list": {"max_len": 4000000000"#) {
            assert_eq!(reasons[1..3], ["", "unexpected_end"]);
        }
    }
}

/// More fields than Wireshark would show: the verdict is still there.
#[test]
fn a_packet_of_many_fields_is_read_to_its_end() {
    let folder = Folder::new("dissector-many");
    let json = r#"{"list": {"max_len": 4000000000, "element": {"bool": {}}}}"#;
    let identity = Identity::new("Arena Game", "1.0", Protection::None, schema(json));
    let mut packet = 60_008u32.to_le_bytes().to_vec();
    packet.resize(4 + 60_008 / 8, 0xaa);
    let good = packet.clone();
    packet.push(0);
    let (lua, capture) = (folder.file("game.lua"), folder.file("capture.pcapng"));
    record(&capture, &identity, &[good, packet]);
    write_dissector(&lua, &["--schema", &capture]);
    let items: Vec<_> = dissected(&lua, &capture, "arena_game").into_iter().flatten().collect();
    let reasons: Vec<_> = items.iter().map(|item| item.show("arena_game.refused.reason")).collect();
    assert_eq!(reasons, [None, Some("trailing_data".to_owned())]);
    for item in &items {
        let notes =
            item.all().into_iter().filter(|item| item.filter == "arena_game.expert.not_shown");
        assert_eq!(notes.count(), 1);
    }
}
