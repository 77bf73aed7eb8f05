//! A capture of a session: each record is a message with its header, and its schema says by
//! conditions which message it is.

use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use super::library::rng::Rng;
use super::packets::{damaged, packet, value};
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
