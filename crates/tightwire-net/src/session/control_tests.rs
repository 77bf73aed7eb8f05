//! The examples of docs/WIRE.md.

use crate::message::InternalBatch;
use tightwire_core::Wire;
use tightwire_core::packet::{Identity, Protection};
use tightwire_core::schema::Schema;
use tightwire_snapshot::{Config, Protocol};

use super::{ControlMessage, Description, Hello, Welcome};

const DOCUMENT: &str = include_str!("../../../../docs/WIRE.md");

#[derive(Wire, Default)]
struct Door {
    open: bool,
}

fn example(name: &str) -> ControlMessage {
    match name {
        "hello" => {
            let token = vec![1, 2, 3];
            ControlMessage::Hello(Hello {
                format: super::FORMAT,
                protocol: 0x0123_4567_89ab_cdef,
                token,
            })
        }
        "welcome" => ControlMessage::Welcome(Welcome { client: 7 }),
        "ready" => ControlMessage::Ready,
        "ask" => ControlMessage::SchemaRequest,
        "described" => {
            let identity = Identity::new("arena", "1.0", Protection::Crc32, Schema::of::<bool>());
            ControlMessage::ClientDescription(Box::new(Description::of(
                identity,
                [16, 1 << 20, 256],
                None,
            )))
        }
        "described with snapshots" => {
            let identity = Identity::new("arena", "1.0", Protection::Crc32, Schema::of::<bool>());
            let protocol = Protocol::builder(Config::default()).class::<Door>().build().unwrap();
            let snapshots = Some(protocol.description());
            ControlMessage::ClientDescription(Box::new(Description::of(
                identity,
                [16, 1 << 20, 256],
                snapshots,
            )))
        }
        other => {
            panic!("docs/WIRE.md has a session example {other:?} that this test does not know")
        }
    }
}

#[test]
fn control_messages_match_the_bytes_in_wire_md() {
    let (mut wrong, mut count) = (String::new(), 0);
    for line in DOCUMENT.lines() {
        let Some(rest) = line.strip_prefix("Session example `") else { continue };
        let (name, rest) = rest.split_once('`').unwrap();
        let documented = rest.rsplit('`').nth(1).unwrap();
        let mut said = example(name);
        let mut batch = Vec::new();
        said.write(&mut batch);
        let hex: Vec<_> = batch.iter().map(|byte| format!("{byte:02x}")).collect();
        if hex.join(" ") != documented {
            wrong += &format!("{name}: `{}`\n", hex.join(" "));
        }
        let (number, body) = InternalBatch::read(&batch).unwrap();
        assert_eq!(ControlMessage::read(number, body), Ok(said));
        count += 1;
    }
    assert_eq!(wrong, "", "written, but not what docs/WIRE.md says");
    assert_eq!(count, 6);
}
