//! Totals agree with the traces of all packets.

use std::collections::BTreeMap;

use tightwire::packet::{Identity, Protection, Protocol};

use super::super::capture_identity::CaptureIdentity;
use super::game::{Packet, capture, capture_of, encoded, identity};
use super::inspect;
use crate::source::Source;

#[test]
fn fields_add_up_to_all_bits_and_agree_with_traces() {
    let inspected = inspect(&capture(200), None, None, 0).unwrap();
    let fields = inspected.json["fields"].as_array().unwrap();
    let bits: f64 = fields.iter().map(|field| field["bits"].as_f64().unwrap()).sum();
    assert_eq!(bits, inspected.json["bytes"].as_f64().unwrap() * 8.0);

    let mut by_trace = BTreeMap::<String, (u64, u64)>::new();
    for number in 0..200 {
        let packet = encoded(Packet::at(number));
        let trace = identity().explain(&packet);
        assert!(trace.failure().is_none());
        for span in trace.spans() {
            let mut path = span.path();
            for digit in '0'..='9' {
                path = path.replace(&format!("[{digit}]"), "[]");
            }
            let (count, bits) = by_trace.entry(path).or_default();
            *count += 1;
            *bits += span.bit_count();
        }
    }
    let by_tally: BTreeMap<String, (u64, u64)> = fields
        .iter()
        .filter(|field| !field["path"].as_str().unwrap().starts_with('('))
        .map(|field| {
            let bits = field["bits"].as_f64().unwrap() as u64;
            (field["path"].as_str().unwrap().into(), (field["count"].as_u64().unwrap(), bits))
        })
        .collect();
    assert_eq!(by_tally, by_trace);
}

#[test]
fn kinds_are_the_variants() {
    let inspected = inspect(&capture(100), None, None, 0).unwrap();
    let kinds: BTreeMap<_, _> = inspected.json["types"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| (kind["name"].as_str().unwrap(), kind["packets"].as_u64().unwrap()))
        .collect();
    assert_eq!(kinds, BTreeMap::from([("Input", 48), ("Say", 2), ("State", 50)]));
}

#[test]
fn protection_is_checked_or_at_least_taken_off() {
    let mut protocol = Protocol::<Packet>::new("arena", "1.3", Protection::Crc32);
    let mut buffer = [0; 2000];
    let mut datagrams: Vec<_> = (0..20)
        .map(|number| protocol.write(&Packet::at(number), &mut buffer).unwrap().to_vec())
        .collect();
    datagrams[6][9] ^= 1;
    datagrams.push(vec![1, 2]);
    let file = capture_of(protocol.identity(), datagrams);

    let checked = inspect(&file, None, None, 100).unwrap();
    assert_eq!(checked.json["refused"], 2);
    let reasons: Vec<_> = checked.json["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| (reason["packets"][0].as_u64().unwrap(), reason["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(reasons[0].0, 7);
    assert!(reasons[0].1.starts_with("wrong protocol id, or corrupt"), "{reasons:?}");
    assert!(reasons[1].1.starts_with("too short: 2 bytes"), "{reasons:?}");
    let first = &checked.xrays[0]["spans"][0];
    assert_eq!((first["kind"].as_str(), first["bits"].as_f64()), (Some("header"), Some(32.0)));

    let schema = protocol.identity().schema().clone();
    let unchecked = CaptureIdentity::of_schema(schema, Protection::Crc32);
    let unchecked = inspect(&file, Some(unchecked), None, 0).unwrap();
    assert!(unchecked.json["refused"].as_u64().unwrap() <= 2);
    assert_eq!(unchecked.json["types"][0]["name"], "State");
}

#[test]
fn a_schema_or_an_identity_as_json_says_what_packets_are() {
    let of = |json: &str, protection| {
        CaptureIdentity::of_source(Source::of_json(json.as_bytes())?, protection)
    };
    let identity_json = serde_json::to_string(&identity()).unwrap();
    assert_eq!(of(&identity_json, None).unwrap().identity(), &identity());
    let schema_json = serde_json::to_string(identity().schema()).unwrap();
    assert_eq!(of(&schema_json, None).unwrap().identity().schema(), identity().schema());

    let contradiction = of(&identity_json, Some(Protection::Crc32)).unwrap_err();
    assert_eq!(
        contradiction,
        "this identity has the protection None: leave out --protection Crc32"
    );
    assert!(of("hello", None).unwrap_err().starts_with("not JSON"));
    assert!(of("{}", None).unwrap_err().starts_with("not a schema"));
    assert!(of("{\"schema\": 7}", None).unwrap_err().starts_with("not a schema"));
}

#[test]
fn with_the_wrong_schema_packets_are_refused_and_reasons_are_few() {
    let other = Identity::new(
        "arena",
        "1.3",
        Protection::None,
        tightwire::schema::Schema::of::<[u16; 3]>(),
    );
    let inspected =
        inspect(&capture(500), Some(CaptureIdentity::of_identity(other)), None, 10).unwrap();
    assert_eq!(inspected.json["refused"], 500);
    assert!(inspected.json["refusals"].as_array().unwrap().len() <= 3);
    assert!(inspected.text.lines().count() < 50);
}
