//! The command line: sources of schemas, output, and filters.

use std::fs;

use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use super::datagram;
use super::tshark::{dissected, record, tshark, write_dissector};
use crate::common::{Folder, tightwire};

const PLAYER: &str = r#"{"struct": {"name": "Player", "fields": [
    {"name": "health", "int": {"min": 0, "max": 100}},
    {"name": "alive", "bool": {}},
    {"name": "offset", "int": {"min": -1000, "max": 1000}}
]}}"#;

fn player() -> Identity {
    let schema: Schema = serde_json::from_str(PLAYER).unwrap();
    Identity::new("arena", "1.0", Protection::Crc32, schema)
}

#[test]
fn identity_schema_and_capture_give_the_same_dissector() {
    let folder = Folder::new("dissector-sources");
    let [identity, schema, capture] =
        ["identity.json", "schema.json", "c.pcapng"].map(|f| folder.file(f));
    fs::write(&identity, serde_json::to_string_pretty(&player()).unwrap()).unwrap();
    fs::write(&schema, PLAYER).unwrap();
    // Without --port, it is that of who recorded.
    record(&capture, &player(), &[vec![0; 4]]);
    let lua = folder.file("game.lua");
    let flags =
        ["--port", "7777", "--protection", "crc32", "--game", "arena", "--game-version", "1.0"];
    let mut written = Vec::new();
    for arguments in [
        vec!["--schema", &*identity, "--port", "7777"],
        [&["--schema", &*schema][..], &flags].concat(),
        vec!["--schema", &*capture],
    ] {
        assert_eq!(write_dissector(&lua, &arguments), "");
        written.push(fs::read_to_string(&lua).unwrap());
    }
    assert!(written[0].contains("name = \"arena\","));
    assert_eq!(written[0], written[1]);
    assert_eq!(written[0], written[2]);
}

#[test]
fn filters_find_values_and_refusals() {
    let folder = Folder::new("dissector-filters");
    let [lua, capture] = ["game.lua", "c.pcapng"].map(|f| folder.file(f));
    let identity = player();
    // 77, alive, -5; 3, dead, 1000; 101.
    let good = |health: u32, alive: u32, offset: u32| health | alive << 7 | offset << 8;
    let packets = [good(77, 1, 995), good(3, 0, 2000), good(101, 0, 0)];
    let packet = |bits: u32| datagram(&identity, &bits.to_le_bytes()[..3]);
    record(&capture, &identity, &packets.map(packet));
    write_dissector(&lua, &["--schema", &capture]);
    let frames = |filter: &str| {
        let output = tshark(&lua, &capture, &["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        output.split_whitespace().map(|number| number.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(frames("arena.player.health > 50"), [1]);
    assert_eq!(frames("arena.player.alive == 0"), [2]);
    assert_eq!(frames("arena.player.offset < 0"), [1]);
    assert_eq!(frames("arena.refused"), [3]);
    assert_eq!(frames("arena.refused.reason == \"out_of_range\""), [3]);
    assert_eq!(frames("arena.expert.out_of_range"), [3]);
    assert_eq!(frames("arena.crc32.status == 1"), [1, 2, 3]);
    assert_eq!(frames("arena.refused.field contains \"health\""), [3]);

    let fields = ["-T", "fields", "-e", "arena.player.health", "-e", "arena.player.offset"];
    assert_eq!(tshark(&lua, &capture, &fields), "77\t-5\n3\t1000\n\t\n");
    let lines = tshark(&lua, &capture, &["-o", "gui.column.format:\"P\",\"%p\",\"I\",\"%i\""]);
    let expected = "arena Player\narena Player\n\
        arena Refused: Player.health at bit 0: 101 is not in 0..=100\n";
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&lines), words(expected));
}

#[test]
fn a_game_may_be_called_as_another_protocol() {
    let folder = Folder::new("dissector-taken");
    let [lua, capture] = ["game.lua", "c.pcapng"].map(|f| folder.file(f));
    let schema: Schema = serde_json::from_str(PLAYER).unwrap();
    let identity = Identity::new("QUIC", "1.0", Protection::None, schema);
    record(&capture, &identity, &[vec![77, 0, 0]]);
    write_dissector(&lua, &["--schema", &capture]);
    let item = dissected(&lua, &capture, "tw_quic").remove(0).unwrap();
    assert_eq!(item.show("tw_quic.player.health").as_deref(), Some("77"));

    write_dissector(&lua, &["--schema", &capture, "--name", "Arena 2"]);
    let item = dissected(&lua, &capture, "arena_2").remove(0).unwrap();
    assert_eq!(item.show("arena_2.player.health").as_deref(), Some("77"));
}

/// Names come from a file that somebody else may have made: they are names, and no Lua.
#[test]
fn names_cannot_leave_their_strings() {
    let folder = Folder::new("dissector-names");
    let [lua, capture] = ["game.lua", "c.pcapng"].map(|f| folder.file(f));
    let hostile = r#"{"struct": {"name": "\"}) os.exit(1) --", "fields": [
        {"name": "]] error('a') --[[", "bool": {}},
        {"name": "data", "bool": {}}, {"name": "Data", "float": {}},
        {"name": "größe\\", "enum": {"name": "%s%n", "variants": [{"name": "\\\""}, {"name": "☃"}]}},
        {"name": "len", "list": {"max_len": 3, "element": {"list": {"max_len": 300, "element": {"bool": {}}}}}}
    ]}}"#;
    let schema: Schema = serde_json::from_str(hostile).unwrap();
    let identity = Identity::new("\n\u{2028}print('x')--\"\\", "\u{1}", Protection::None, schema);
    record(&capture, &identity, &[vec![0xff; 12], vec![0; 7]]);
    write_dissector(&lua, &["--schema", &capture]);
    let items = dissected(&lua, &capture, "tw___print__x______");
    for (item, packet) in items.iter().zip([vec![0xff; 12], vec![0; 7]]) {
        let item = item.as_ref().unwrap();
        let refusal = identity.explain(&packet).refusal().map(|refusal| refusal.to_string());
        assert_eq!(item.show("tw___print__x______.refused"), refusal);
    }
}

#[test]
fn undescribed_fields_are_reported() {
    let folder = Folder::new("dissector-undescribed");
    let [lua, file] = ["game.lua", "schema.json"].map(|f| folder.file(f));
    let json = r#"{"struct": {"name": "Packet", "fields": [
        {"name": "first", "bool": {}},
        {"name": "parts", "list": {"max_len": 3, "element": {"opaque": {"name": "Hand", "max_bits": 9}}}},
        {"name": "second", "when": ["source", "self.first > f()"], "bool": {}},
        {"name": "third", "selection": {"len": 8, "coding": "best"}}
    ]}}"#;
    fs::write(&file, json).unwrap();
    let stderr = write_dissector(&lua, &["--schema", &file, "--port", "7", "--protection", "none"]);
    let rest = "a packet that has it is shown as bytes from there on";
    let expected = format!(
        "tightwire: Packet.parts[]: `Hand` is serialized by hand: {rest}\n\
         tightwire: Packet.second: its condition `self.first > f()` is not data: {rest}\n\
         tightwire: Packet.third: `selection of 8, Best` depends on what only the program knows: {rest}\n"
    );
    assert_eq!(stderr, expected);
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("dissector-mistakes");
    let [schema, identity, text, pcap, foreign] =
        ["schema.json", "identity.json", "text", "old.pcap", "foreign.pcapng"]
            .map(|f| folder.file(f));
    fs::write(&schema, PLAYER).unwrap();
    fs::write(&identity, serde_json::to_string(&player()).unwrap()).unwrap();
    fs::write(&text, "hello").unwrap();
    let header = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0";
    fs::write(&pcap, header).unwrap();
    let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let section: Vec<u8> = section.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    fs::write(&foreign, section).unwrap();
    let stderr = |arguments: &[&str]| {
        let output = tightwire(&[&["dissector", "--port", "7"], arguments].concat());
        assert!(!output.status.success());
        assert_eq!(output.stdout, b"", "a failure prints nothing");
        String::from_utf8(output.stderr).unwrap()
    };
    let expect = |arguments: &[&str], words: &str| {
        let stderr = stderr(arguments);
        assert!(stderr.contains(words), "{stderr:?} does not say {words:?}");
    };
    expect(&["--schema", &schema], "give --protection none, id or crc32");
    expect(&["--schema", &schema, "--protection", "crc32"], "give --game and --game-version");
    expect(&["--schema", &identity, "--protection", "id"], "is an identity, which says itself");
    expect(&["--schema", &text], "neither JSON nor a capture");
    expect(&["--schema", &pcap], "this capture has no schema in it");
    expect(&["--schema", &foreign], "this capture has no schema in it");
    expect(&["--schema", &folder.file("none")], "No such file");
    fs::write(&schema, r#"{"int": {"min": 5, "max": 1}}"#).unwrap();
    expect(&["--schema", &schema], "the range 5..=1 is reversed");
    let stderr = |arguments: &[&str]| tightwire(&[&["dissector"], arguments].concat()).stderr;
    let stderr = |arguments: &[&str]| String::from_utf8(stderr(arguments)).unwrap();
    assert!(stderr(&["--schema", &text, "--port", "0"]).contains("0 is not in 1..=65535"));
    assert!(
        stderr(&["--schema", &identity]).contains("give the UDP port of the server with --port")
    );
}
