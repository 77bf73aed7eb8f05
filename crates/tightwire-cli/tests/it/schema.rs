//! `tightwire schema`, as it is typed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tightwire::bytes::Packing;
use tightwire::inspect::{CaptureWriter, Direction};
use tightwire::message::{Messenger, MessengerConfig};
use tightwire::packet::{Identity, Protection, Protocol};
use tightwire::schema::Schema;
use tightwire::snapshot::SnapshotPacket;
use tightwire::{Message, Wire, snapshot};

use crate::common::tightwire;
use crate::support::seed;

/// Standard output, after checking the exit status.
fn printed(arguments: &[&str], status: i32) -> String {
    let output = tightwire(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    assert_eq!(status == 2, !error.is_empty(), "{error}");
    String::from_utf8(output.stdout).unwrap() + &error
}

/// A file in a folder of its own: tests run beside each other.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema").join(number);
    std::fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[derive(Wire, Default, Clone)]
enum Weapon {
    #[default]
    Fist,
    Gun {
        #[wire(range = 0..=8)]
        rounds: u8,
    },
}

#[derive(Wire, Default, Clone)]
enum Team {
    #[default]
    Red,
    Blue,
}

#[derive(Wire, Default, Clone)]
struct Item {
    #[wire(range = 0..=1000)]
    kind: u16,
    #[wire(range = 1..=64)]
    count: u8,
}

/// A type with advice on most fields.
#[derive(Wire, Default, Clone)]
struct Player {
    #[wire(range = 0..=128)]
    health: u8,
    #[wire(spatial, min = -256.0, max = 256.0, resolution = 0.5)]
    position: [f32; 3],
    #[wire(min = 100000.0, max = 100100.0, resolution = 0.001)]
    altitude: f32,
    speed: f32,
    orientation: [f32; 4],
    score: u32,
    #[wire(range = 7..=7)]
    level: u8,
    #[wire(varint)]
    lives: u8,
    team: Team,
    weapon: Weapon,
    #[wire(when = self.health > 0, max_len = 32)]
    name: String,
    #[wire(max_len = 65535)]
    chat: String,
    #[wire(max_len = 16)]
    items: Vec<Item>,
    nearest: Option<[u16; 4]>,
    jumps: bool,
    ducks: bool,
    runs: bool,
    fires: bool,
    reloads: bool,
    aims: bool,
    talks: bool,
    idles: bool,
}

fn player() -> String {
    file("player.json", serde_json::to_string(&Schema::of::<Player>()).unwrap())
}

/// A second of packets in which most things are always the same.
fn capture() -> String {
    let mut protocol = Protocol::<Player>::new("arena", "1.0", Protection::Crc32);
    let identity = protocol.identity().clone();
    let mut recorder = CaptureWriter::new(Vec::new(), &identity).unwrap();
    let [server, client] = ["10.0.0.1:7777", "10.0.0.2:4242"].map(|at| at.parse().unwrap());
    let mut buffer = vec![0; 1 << 17];
    for tick in 0..60u32 {
        let player = Player {
            health: 100 - tick as u8,
            position: [tick as f32, 0.0, 7.0],
            speed: tick as f32 / 10.0,
            score: 3 * tick,
            altitude: 100_000.0 + tick as f32,
            level: 7,
            name: "Ada".into(),
            fires: tick % 10 == 0,
            ..Player::default()
        };
        let datagram = protocol.write(&player, &mut buffer).unwrap();
        let time = Duration::from_millis(1000 + 16 * u64::from(tick));
        recorder.record(time, Direction::Sent, server, client, datagram).unwrap();
    }
    recorder.record(Duration::from_secs(3), Direction::Sent, server, client, b"hello").unwrap();
    file("player.pcapng", recorder.finish().unwrap())
}

#[test]
fn a_schema_is_shown_as_a_tree() {
    insta::assert_snapshot!(printed(&["schema", "show", &player()], 0));
}

#[test]
fn a_capture_and_its_identity_are_shown_alike() {
    let of_capture = printed(&["schema", "show", &capture()], 0);
    assert!(of_capture.starts_with("Game \"arena\", version \"1.0\", protection Crc32, "));
    let exported = printed(&["schema", "export", "--identity", &capture()], 0);
    let identity = file("identity.json", exported);
    assert_eq!(printed(&["schema", "show", &identity], 0), of_capture);
    let exported = printed(&["schema", "export", &capture()], 0);
    let exported = file("exported.json", exported);
    let alone = printed(&["schema", "show", &exported], 0);
    assert_eq!(alone, printed(&["schema", "show", &player()], 0));
    assert!(of_capture.ends_with(&alone));
}

#[test]
fn a_difference_of_bytes_is_status_1_and_of_names_0() {
    let here = r#"{"struct": {"name": "Player", "fields": [
        {"name": "health", "int": {"min": 0, "max": 100}}, {"name": "armed", "bool": {}}]}}"#;
    let there = here.replace("100", "200").replace("Player", "Fighter");
    let renamed = here.replace("health", "life");
    let [here, there, renamed] =
        [("here.json", here), ("there.json", &there), ("renamed.json", &renamed)]
            .map(|(name, json)| file(name, json));
    let text = printed(&["schema", "diff", &here, &there], 1);
    insta::assert_snapshot!(text.replace(&here, "here.json").replace(&there, "there.json"));
    let text = printed(&["schema", "diff", &here, &renamed], 0);
    assert!(text.contains("Player.health: called `life` there"), "{text}");
    assert!(text.ends_with("\nOnly names differ: the bytes are the same.\n"), "{text}");
    let text = printed(&["schema", "diff", &here, &here], 0);
    assert!(text.ends_with("\nThe same, names and all.\n"), "{text}");
    let text = printed(&["schema", "diff", "--json", &here, &there], 1);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["changes_bytes"], &json["differences"][1]["path"]),
        (&true.into(), &"Player.health".into())
    );
    printed(&["schema", "diff", &here, "nothing.json"], 2);
}

#[test]
fn identities_differ_in_more_than_their_packets() {
    let identity = |version| Identity::new("arena", version, Protection::Crc32, Schema::of::<u8>());
    let [here, there, bytes] = [
        ("v1.json", identity("1.0")),
        ("v2.json", identity("1.1")),
        ("bytes.json", identity("1.0").with_packing(Packing::Bytes)),
    ]
    .map(|(name, identity)| file(name, serde_json::to_string(&identity).unwrap()));
    let text = printed(&["schema", "diff", &here, &there], 1);
    assert!(text.contains("version: \"1.0\" here, \"1.1\" there"), "{text}");
    let text = printed(&["schema", "diff", &here, &bytes], 1);
    assert!(text.contains("packing: bits here, whole bytes there"), "{text}");
    assert_eq!(printed(&["schema", "diff", &here, &here], 0).lines().count(), 4);
}

#[test]
fn advice_is_given_with_the_bits_that_it_saves() {
    insta::assert_snapshot!(printed(&["schema", "lint", &player()], 0));
    printed(&["schema", "lint", "--strict", &player()], 1);
}

#[test]
fn a_capture_says_what_never_varies() {
    let capture = capture();
    let text = printed(&["schema", "lint", &player(), "--capture", &capture], 0);
    assert_eq!(printed(&["schema", "lint", &capture], 0), text);
    insta::assert_snapshot!(text);
}

#[test]
fn following_the_advice_leaves_nothing_to_advise_on() {
    let good = r#"{"struct": {"name": "Good", "fields": [
        {"name": "health", "int": {"min": 0, "max": 127}},
        {"name": "position", "compressed_vector":
            {"dimensions": 3, "min": -256, "max": 256, "resolution": 0.5005}},
        {"name": "name", "string": {"max_len": 31}},
        {"name": "items", "list": {"max_len": 15, "element": {"bool": {}}}}]}}"#;
    let good = file("good.json", good);
    assert_eq!(printed(&["schema", "lint", "--strict", &good], 0), "Nothing to advise on.\n");
    let text = printed(&["schema", "lint", "--json", &good], 0);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["advice"],
        serde_json::json!([])
    );
}

/// Following the advice saves the stated bits.
#[test]
fn the_saved_bits_are_those_of_the_schema_that_is_advised() {
    let bits =
        |json: &str| serde_json::from_str::<tightwire::schema::Schema>(json).unwrap().max_bits();
    for (wasteful, better) in [
        (r#"{"int": {"min": 0, "max": 128}}"#, r#"{"int": {"min": 0, "max": 127}}"#),
        (r#"{"int": {"min": -4, "max": 4}}"#, r#"{"int": {"min": -4, "max": 3}}"#),
        (
            r#"{"compressed_vector": {"dimensions": 3, "min": -256, "max": 256, "resolution": 0.5}}"#,
            r#"{"compressed_vector": {"dimensions": 3, "min": -256, "max": 256, "resolution": 0.5005}}"#,
        ),
        (
            r#"{"compressed_float": {"min": -1000, "max": 1000, "resolution": 0.000001}}"#,
            r#"{"compressed_float": {"min": -1000, "max": 1000, "resolution": 0.000061035156}}"#,
        ),
        (
            r#"{"list": {"max_len": 16, "element": {"struct": {"name": "E", "fields": []}}}}"#,
            r#"{"list": {"max_len": 15, "element": {"struct": {"name": "E", "fields": []}}}}"#,
        ),
    ] {
        let text = printed(&["schema", "lint", "--json", &file("wasteful.json", wasteful)], 0);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let saved = bits(wasteful) - bits(better);
        assert_eq!(
            json["advice"][0]["saves_bits"].as_f64(),
            Some(saved as f64),
            "{wasteful}: {text}"
        );
    }
}

/// The total has only bits that every packet saves, and there is no advice on Tightwire's own
/// types.
#[test]
fn lints_of_a_session_skip_fields_of_the_library() {
    #[derive(Wire, Message, Default)]
    struct Move {
        #[wire(range = 0..=8)]
        x: u8,
        fixed: [(); 3],
        ack: Option<snapshot::Ack>,
    }
    #[derive(Wire, Message, Default)]
    struct Snapshot {
        #[wire(range = 0..=16)]
        part: u8,
        packet: SnapshotPacket,
    }
    let builder = Messenger::<()>::builder(MessengerConfig::default());
    let builder = builder.send_only::<Move>().send_only::<Snapshot>();
    let schema = serde_json::to_string(&builder.capture_schema().unwrap()).unwrap();
    let path = file("session.json", schema);
    let text = printed(&["schema", "lint", "--json", &path], 0);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let advice = json["advice"].as_array().unwrap().iter();
    let advised: Vec<_> =
        advice.map(|of| (of["path"].as_str().unwrap(), of["in_every_packet"].clone())).collect();
    let never = serde_json::Value::Bool(false);
    assert_eq!(
        advised,
        [("Message.Move.x", never.clone()), ("Message.Snapshot.part", never)],
        "{text}"
    );
    // A packet has one of the messages.
    let text = printed(&["schema", "lint", &path], 0);
    assert!(text.ends_with("\n2 pieces of advice.\n"), "{text}");
}

/// A game has messages and frames of the library beside its own.
#[test]
fn lints_of_a_game_skip_messages_of_the_library() {
    use tightwire::play::{Game, Input};

    #[derive(Wire, Default, Clone)]
    struct Tank {
        turret: u8,
    }
    #[derive(Wire, Default, Clone)]
    struct Drive {
        turn: bool,
    }
    impl Input for Drive {}
    #[derive(Wire, Message, Default)]
    struct Shout {
        #[wire(range = 0..=8)]
        loudness: u8,
    }
    let game = Game::new("arena", "1.0").object::<Tank>().input::<Drive>().message::<Shout>();
    let described = game.describe(&snapshot::Config::default()).unwrap();
    let path = file("game.json", serde_json::to_string(&described.identity).unwrap());
    assert!(printed(&["schema", "show", &path], 0).contains("tightwire.AssetChunk"));
    let text = printed(&["schema", "lint", "--json", &path], 0);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let advice = json["advice"].as_array().unwrap().iter();
    let paths: Vec<_> = advice.map(|of| of["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["Message.Shout.loudness"], "{text}");
}

#[test]
fn bools_in_whole_bytes_are_flags() {
    let identity = Identity::new("arena", "1", Protection::None, Schema::of::<Player>());
    let identity = serde_json::to_string(&identity.with_packing(Packing::Bytes)).unwrap();
    let text = printed(&["schema", "lint", "--json", &file("whole.json", identity)], 0);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let flags: Vec<_> = json["advice"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|piece| piece["rule"] == "flags")
        .collect();
    assert_eq!(flags.len(), 1, "{text}");
    assert_eq!(
        (&flags[0]["path"], &flags[0]["saves_bits"]),
        (&"Player.jumps".into(), &56.0.into())
    );
}

#[test]
fn invalid_schema_files_are_refused_with_a_reason() {
    let deep = format!("{}{{\"bool\":{{}}}}{}", r#"{"option":"#.repeat(200), "}".repeat(200));
    let nested = format!("{}{{\"bool\":{{}}}}{}", r#"{"option":"#.repeat(40), "}".repeat(40));
    let cases: [(&str, Vec<u8>, &str); 12] = [
        ("empty", vec![], "the file is empty"),
        ("spaces", b" \n ".to_vec(), "the file is empty"),
        ("text", b"hello".to_vec(), "neither JSON nor a capture"),
        ("cut", br#"{"struct": {"name": "#.to_vec(), "the JSON is cut short: "),
        ("syntax", b"{struct}".to_vec(), "not JSON: key must be a string at line 1 column 2"),
        ("unknown", br#"{"long": {}}"#.to_vec(), "not a schema: unknown variant `long`"),
        ("reversed", br#"{"int": {"min": 9, "max": 0}}"#.to_vec(), "the range 9..=0 is reversed"),
        ("deep", deep.into_bytes(), "recursion limit exceeded"),
        ("nested", nested.into_bytes(), "it is more than 32 levels deep"),
        (
            "control",
            br#"{"struct": {"name": "\u001b[31m", "fields": []}}"#.to_vec(),
            "has a control character in it",
        ),
        ("old", vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0], "/old: "),
        (
            "capture",
            vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c],
            "the capture ends within the block at byte 0",
        ),
    ];
    for (name, bytes, reason) in cases {
        let path = file(name, bytes);
        for command in ["show", "lint", "export"] {
            let error = printed(&["schema", command, &path], 2);
            assert!(error.starts_with("tightwire: ") && error.contains(reason), "{name}: {error}");
            assert!(!error.contains('\x1b'), "{name}: {error}");
        }
    }
    let huge = file("huge.json", vec![b'{'; (8 << 20) + 1]);
    let error = printed(&["schema", "show", &huge], 2);
    assert!(error.contains("longer than 8 MiB"), "{error}");
    let error = printed(&["schema", "lint", &player(), "--capture", &player()], 2);
    assert!(error.contains("/player.json: the block at byte 0: "), "{error}");
}

/// A damaged schema or capture is read or refused with an error message, and never makes the
/// program panic.
#[test]
fn changed_files_are_refused_or_read() {
    let json = serde_json::to_vec(&Schema::of::<Player>()).unwrap();
    let pcapng = std::fs::read(capture()).unwrap();
    let mut state = seed(7);
    let mut random = move |end: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % end
    };
    for round in 0..60 {
        let is_capture = round % 2 == 0;
        let mut bytes = if is_capture { pcapng.clone() } else { json.clone() };
        // The schema stands in the first bytes of a capture.
        let end = bytes.len().min(2000);
        for _ in 0..=random(3) {
            bytes[random(end)] = b"0123456789{}[],:\"\x00\xff\x7f"[random(20)];
        }
        let path = file("changed", bytes);
        for command in [&["schema", "show"][..], &["schema", "lint"]] {
            let output = tightwire(&[command, &[&path]].concat());
            let error = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => assert!(error.is_empty(), "{error}"),
                Some(2) => assert!(error.starts_with("tightwire: "), "{error}"),
                status => panic!("{status:?}: {error}"),
            }
        }
        if is_capture {
            let output = tightwire(&["schema", "lint", &player(), "--capture", &path]);
            assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
        }
    }
}
