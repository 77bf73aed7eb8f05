//! Conditions of every kind, on values of every size.

use tightwire::bytes::Packing;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use super::library::rng::Rng;
use super::packets::{damaged, packet, value};
use super::{agree, counts};
use crate::common::Folder;
use crate::support::seed;

/// A type with conditions; `maybe` and `inner` are sometimes not sent.
const VALUES: &str = r#"
    {"name": "flag", "bool": {}},
    {"name": "huge", "int": {"min": "-1180591620717411303424",
                             "max": "1329227995784915872903807060280344576"}},
    {"name": "most", "varint": {"bits": 128, "signed": false}},
    {"name": "signed", "varint": {"bits": 64, "signed": true}},
    {"name": "bits", "bits": {"width": 64}},
    {"name": "small", "int": {"min": -9, "max": 9}},
    {"name": "fixed", "fixed": {"fraction_bits": 4, "min": -8, "max": 7}},
    {"name": "float", "float": {}},
    {"name": "double", "double": {}},
    {"name": "step", "compressed_float": {"min": -1.0, "max": 1.0, "resolution": 0.25}},
    {"name": "text", "string": {"max_len": 12}},
    {"name": "wide", "wide_string": {"max_len": 12}},
    {"name": "blob", "blob": {"max_len": 5}},
    {"name": "list", "list": {"max_len": 4, "element": {"int": {"min": 0, "max": 9}}}},
    {"name": "option", "option": {"bool": {}}},
    {"name": "ordinal", "enumerate": {"count": 3}},
    {"name": "kind", "enum": {"name": "Kind", "variants": [
        {"name": "One"}, {"name": "Two", "fields": [{"name": "x", "bool": {}}]}, {"name": "Three"}]}},
    {"name": "place", "struct": {"name": "Place", "fields": [
        {"name": "known", "bool": {}},
        {"name": "x", "when": "known", "int": {"min": -100, "max": 100}}]}},
    {"name": "other_kind", "enum": {"name": "Kind", "variants": [
        {"name": "One"}, {"name": "Two", "fields": [{"name": "x", "bool": {}}]}, {"name": "Three"}]}},
    {"name": "other_option", "option": {"bool": {}}},
    {"name": "flags", "list": {"max_len": 1, "element": {"struct": {"name": "Flag", "fields": [
        {"name": "is_known", "bool": {}}, {"name": "is_set", "when": "is_known", "bool": {}}]}}}},
    {"name": "other_flags", "list": {"max_len": 1, "element": {"struct": {"name": "Flag", "fields": [
        {"name": "is_known", "bool": {}}, {"name": "is_set", "when": "is_known", "bool": {}}]}}}},
    {"name": "mark", "string": {"max_len": 1}},
    {"name": "other_mark", "string": {"max_len": 1}},
    {"name": "byte", "blob": {"max_len": 1}},
    {"name": "vector", "compressed_vector": {"dimensions": 1, "min": 0.0, "max": 1.0, "resolution": 1.0}},
    {"name": "other_vector",
        "compressed_vector": {"dimensions": 1, "min": 0.0, "max": 1.0, "resolution": 1.0}},
    {"name": "maybe", "when": "flag", "int": {"min": -5, "max": 5}},
    {"name": "inner", "when": ["!", "flag"], "struct": {"name": "Inner", "fields": [
        {"name": "list", "list": {"max_len": 3, "element": {"bool": {}}}},
        {"name": "option", "option": {"bool": {}}}]}}
"#;

const CONDITIONS: [&str; 41] = [
    r#"["<", "huge", 0]"#,
    r#"[">", "huge", "most"]"#,
    r#"["<=", "huge", "signed"]"#,
    r#"[">=", "most", ["unsigned", "18446744073709551616"]]"#,
    r#"["<", "most", ["float", "1e20"]]"#,
    r#"[">", "huge", ["double", "-1e18"]]"#,
    r#"["==", "most", "most"]"#,
    r#"["<", ["&", "signed", ["signed", -4]], 0]"#,
    r#"["<", ["&", "signed", "huge"], 0]"#,
    r#"[">", ["&", "signed", "most"], 7]"#,
    r#"["==", ["&", "small", ["unsigned", 3]], 1]"#,
    r#"["<", ["&", "small", -2], 0]"#,
    r#"["!=", ["&", "bits", ["unsigned", "9223372036854775808"]], 0]"#,
    r#"["<", "bits", ["double", "9.2e18"]]"#,
    r#"["<", "fixed", 16]"#,
    r#"["<=", "float", ["float", "0.5"]]"#,
    r#"["!=", "float", "float"]"#,
    r#"[">", "double", "float"]"#,
    r#"[">=", "double", 0]"#,
    r#"["==", "step", ["float", "0.25"]]"#,
    r#"[">", ["len", "text"], 3]"#,
    r#"[">", ["len", "wide"], ["len", "text"]]"#,
    r#"["==", ["len", "blob"], 2]"#,
    r#"["<", ["len", "list"], 3]"#,
    r#"["is_some", "option"]"#,
    r#"["==", "ordinal", 1]"#,
    r#"["==", "kind", ["variant", "Two"]]"#,
    r#"["!", ["!=", "kind", ["variant", "Three"]]]"#,
    r#"[">", "place.x", -1]"#,
    r#"["==", "maybe", 0]"#,
    r#"["==", ["len", "inner.list"], 0]"#,
    r#"["is_some", "inner.option"]"#,
    r#"["&", "flag", "place.known"]"#,
    r#"["&&", ["||", "flag", ["<", "small", 0]], ["==", "flag", "place.known"]]"#,
    r#"["==", "kind", "other_kind"]"#,
    r#"["!=", "option", "other_option"]"#,
    r#"["==", "flags", "other_flags"]"#,
    r#"["==", "mark", "other_mark"]"#,
    r#"["==", "byte", "blob"]"#,
    r#"["==", "vector", "other_vector"]"#,
    r#"["==", "inner.option", "option"]"#,
];

fn schema(conditions: &[&str]) -> Schema {
    let sent = conditions.iter().enumerate().map(|(number, condition)| {
        format!(r#", {{"name": "when{number}", "when": {condition}, "bits": {{"width": 2}}}}"#)
    });
    let sent: String = sent.collect();
    let json = format!(r#"{{"struct": {{"name": "Packet", "fields": [{VALUES}{sent}]}}}}"#);
    serde_json::from_str(&json).unwrap()
}

fn datagrams(rng: &mut Rng, identity: &Identity, count: usize) -> Vec<Vec<u8>> {
    let packet = |_| packet(identity, &mut value(rng, identity.schema().root()));
    (0..count).map(packet).collect()
}

#[test]
fn fields_are_sent_when_the_library_says_so() {
    let folder = Folder::new("dissector-conditions");
    let mut rng = Rng::new(seed(5));
    for packing in [Packing::Bits, Packing::Bytes] {
        let identity = Identity::new("Arena Game", "1.0", Protection::None, schema(&CONDITIONS));
        let identity = identity.with_packing(packing);
        let mut datagrams = datagrams(&mut rng, &identity, 60);
        datagrams.extend(datagrams.clone().iter().map(|packet| damaged(&mut rng, packet)));
        let items = agree(&folder, &identity, &datagrams);
        assert!(counts(&items).0 >= 60);
        // Most of them hold for some packets, and not for others.
        let varies = |number: &usize| {
            let filter = format!("arena_game.packet.when{number}");
            let holds = items[..60].iter().filter(|item| item.show(&filter).is_some()).count();
            (1..60).contains(&holds)
        };
        let constant = (0..CONDITIONS.len()).filter(|number| !varies(number));
        let constant: Vec<_> = constant.map(|number| CONDITIONS[number]).collect();
        assert!(constant.len() < 8, "these hold for all packets, or for none: {constant:#?}");
    }
}

/// Invalid conditions, some only for some values: the rest of such a packet is shown as bytes.
#[test]
fn invalid_conditions_end_the_dissection() {
    let folder = Folder::new("dissector-nonsense");
    let nonsense = [
        r#"["&&", "flag", ["==", "text", 3]]"#,
        r#"["||", "flag", "small"]"#,
        r#"["<", "flag", "flag"]"#,
        r#"["len", "small"]"#,
        r#"["is_some", "list"]"#,
        r#"["==", ["&", "float", 1], 0]"#,
        r#"["==", "kind", 1]"#,
        r#"["!", "small"]"#,
        r#"["==", "option", "list"]"#,
        r#"["==", "text", "blob"]"#,
        r#"["<", "kind", "other_kind"]"#,
        r#"["source", "self.small > 3"]"#,
    ];
    let plain = Identity::new("Arena Game", "1.0", Protection::None, schema(&[]));
    for condition in nonsense {
        let identity = Identity::new("Arena Game", "1.0", Protection::None, schema(&[condition]));
        let mut datagrams = datagrams(&mut Rng::new(seed(9)), &plain, 8);
        datagrams.iter_mut().for_each(|packet| packet.extend([1, 2]));
        let items = agree(&folder, &identity, &datagrams);
        let is_it = |item: &&super::tshark::Item| item.show("arena_game.undescribed").is_some();
        assert!(items.iter().filter(is_it).count() > 0, "{condition}");
    }
}
