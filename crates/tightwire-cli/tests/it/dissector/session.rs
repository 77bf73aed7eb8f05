//! A capture of a session: each record is a message with its header, and its schema says by
//! conditions which message it is.

use tightwire::message::{Messenger, MessengerConfig};
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;
use tightwire::{Message, Wire};

use super::library::rng::Rng;
use super::packets::{damaged, packet, value};
use super::tshark::{tshark, write_dissector};
use super::{agree, counts};
use crate::common::Folder;
use crate::support::seed;

fn messages() -> Schema {
    let number = |name: &str| format!(r#"{{"name": "{name}", "int": {{"min": 0, "max": 255}}}}"#);
    let json = format!(
        r#"{{"struct": {{"name": "Message", "fields": [
            {{"name": "number", "int": {{"min": 16, "max": 19}}}}, {}, 
            {{"name": "size", "int": {{"min": 0, "max": 65535}}}}, {},
            {{"name": "Chat", "when": ["==", "number", 16],
              "struct": {{"name": "Chat", "fields": [{{"name": "text", "string": {{"max_len": 100}}}}]}}}},
            {{"name": "Input", "when": ["==", "number", 17], "struct": {{"name": "Input", "fields": [
                {{"name": "stick", "array": {{"len": 2, "element": {{"int": {{"min": -100, "max": 100}}}}}}}},
                {{"name": "jump", "bool": {{}}}}
            ]}}}},
            {{"name": "Snapshot", "when": ["==", "number", 18], "struct": {{"name": "SnapshotPacket",
              "fields": [{{"name": "bytes", "blob": {{"max_len": 1200}}}}]}}}}
        ]}}}}"#,
        number("stage"),
        number("channel"),
    );
    serde_json::from_str(&json).unwrap()
}

#[test]
fn messages_of_a_session_are_read_by_their_number() {
    let folder = Folder::new("dissector-session");
    let identity = Identity::new("Arena Game", "1.0", Protection::None, messages());
    let mut rng = Rng::new(seed(3));
    let mut datagrams = Vec::new();
    for _ in 0..150 {
        let good = packet(&identity, &mut value(&mut rng, identity.schema().root()));
        datagrams.push(damaged(&mut rng, &good));
        datagrams.push(good);
    }
    let items = agree(&folder, &identity, &datagrams);
    let (accepted, refused) = counts(&items);
    assert!(accepted >= 150 && refused > 20, "{accepted} accepted, {refused} refused");

    for message in ["chat", "input", "snapshot", "snapshot.bytes"] {
        let filter = format!("arena_game.message.{message}");
        let count = items.iter().filter(|item| item.show(&filter).is_some()).count();
        assert!(count > 10, "{count} messages have {filter}");
    }
}

/// On the wire, the port of a game has packets of QUIC.
#[test]
fn packets_that_are_no_records_of_a_session_are_left_to_others() {
    #[derive(Wire, Message, Default)]
    struct Chat {
        #[wire(max_len = 100)]
        text: String,
    }
    let folder = Folder::new("dissector-encrypted");
    let [lua, capture] = ["game.lua", "c.pcapng"].map(|file| folder.file(file));
    let builder = Messenger::<()>::builder(MessengerConfig::default()).send_only::<Chat>();
    let schema = builder.capture_schema().unwrap();
    let identity = Identity::new("Arena Game", "1.0", Protection::None, schema);
    let record = [16, 4, 4, 0, 0, 3, b'a', b'b', b'c'];
    // A record whose body is damaged is still one, and refused.
    let damaged = [16, 4, 4, 0, 0, 3, b'a', 0xff, b'c'];
    // The first packet of a connection, and ones in it, of any length.
    let first = [&[0xc3, 0, 0, 0, 1, 8][..], &[7; 1194]].concat();
    let mut rng = Rng::new(seed(5));
    let mut datagrams = vec![record.to_vec(), damaged.to_vec(), first];
    for length in [1, 4, 5, 40, 1200] {
        let mut packet: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
        packet[0] |= 0x40;
        if length > 3 {
            // Not by chance.
            packet[3] = 0xee;
        }
        datagrams.push(packet);
    }
    super::tshark::record(&capture, &identity, &datagrams);
    let stderr = write_dissector(&lua, &["--schema", &capture]);
    assert!(stderr.contains("messages of a session, which are encrypted on their way"), "{stderr}");
    let frames = |filter: &str| {
        let output = tshark(&lua, &capture, &["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        output.split_whitespace().map(|number| number.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(frames("arena_game"), [1, 2]);
    assert_eq!(frames("arena_game.message.chat.text == \"abc\""), [1]);
    assert_eq!(frames("arena_game.refused"), [2]);
    // The rest is the same as without the dissector.
    assert!(frames("quic").contains(&3));
}
