//! Traces as text, for people and tools; the expected pictures are in tests/snapshots.

use insta::assert_snapshot;
use tightwire::stream::{Trace, explain_write};
use tightwire::{
    FloatRange, Stream, Target, Wire, at, decode_explained, encode, encode_explained, explain,
};

const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.01);

#[derive(Default, Clone)]
struct Item {
    kind: u8,
    count: u8,
}

impl Wire for Item {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.kind), 0..=31)?;
        stream.int(at!(this.count), 1..=50)
    }
}

#[derive(Default, Clone)]
struct Player {
    health: u8,
    position: [f32; 3],
    target: Option<u16>,
    inventory: Vec<Item>,
    grid: [[u8; 2]; 2],
    name: String,
}

impl Wire for Player {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.health), 0..=100)?;
        stream.compressed_vector(at!(this.position), POSITION)?;
        stream.option(at!(this.target), |id, stream| stream.int(id, 0..=1023))?;
        stream.array(at!(this.inventory), 1000, Wire::serialize)?;
        stream.object(at!(this.grid))?;
        stream.string(at!(this.name), 31)
    }
}

fn player() -> Player {
    let inventory = vec![Item { kind: 3, count: 5 }, Item { kind: 4, count: 50 }];
    let position = [1.5, -2.0, 0.0];
    let (target, grid) = (Some(7), [[1, 2], [3, 4]]);
    Player { health: 77, position, target, inventory, grid, name: "Ada".into() }
}

fn packet_of(player: &mut Player) -> Vec<u8> {
    encode(player, &mut vec![0; 4096]).unwrap().to_vec()
}

/// Returns a packet that is valid except for the count of one of its items.
fn tampered(items: usize, bad: usize) -> Vec<u8> {
    let mut packet =
        packet_of(&mut Player { inventory: vec![Item { kind: 1, count: 1 }; items], ..player() });
    let trace = explain::<Player>(&packet);
    let path = format!("Player.inventory[{bad}].count");
    let count = trace.spans().find(|span| span.path() == path).unwrap();
    for bit in count.bits() {
        packet[bit as usize / 8] |= 1 << (bit % 8);
    }
    packet
}

#[test]
fn a_good_packet() {
    assert_snapshot!(explain::<Player>(&packet_of(&mut player())));
}

#[test]
fn a_written_value_is_drawn_as_it_is_read() {
    let mut player = player();
    let read = explain::<Player>(&packet_of(&mut player)).to_string();
    assert_eq!(explain_write(&player).to_string(), read);
}

#[test]
fn a_refused_range() {
    let mut packet = packet_of(&mut player());
    packet[0] |= 0x7f;
    assert_snapshot!(explain::<Player>(&packet));
}

#[test]
fn a_truncated_packet() {
    let packet = packet_of(&mut player());
    assert_snapshot!(explain::<Player>(&packet[..packet.len() - 2]));
}

#[test]
fn trailing_data() {
    let mut packet = packet_of(&mut player());
    packet.extend([0, 0xab]);
    assert_snapshot!(explain::<Player>(&packet));
}

#[test]
fn a_refused_write() {
    let mut player = player();
    player.inventory[1].count = 0;
    assert_snapshot!(explain_write(&player));
}

#[test]
fn a_full_buffer() {
    let refused = encode_explained(&player(), &mut [0; 12]).unwrap_err();
    assert_snapshot!(refused.trace());
}

#[test]
fn an_array_that_is_longer_than_the_packet() {
    assert_snapshot!(explain::<Vector>(&[0xff; 8]));
}

/// An array whose length alone is more than the packet can have.
#[derive(Default)]
struct Vector(Vec<u8>);

impl Wire for Vector {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.named("numbers").array(at!(this.0), 0xffff_ffff, Wire::serialize)
    }
}

#[test]
fn colours() {
    let colored = explain::<Player>(&tampered(2, 1)).colored().to_string();
    assert_snapshot!(colored.replace('\x1b', "ESC"));
}

#[test]
fn a_long_packet_is_drawn_at_its_ends_and_around_the_refused_field() {
    assert_snapshot!(explain::<Player>(&tampered(500, 300)));
}

#[test]
fn the_alternate_form_draws_everything() {
    let trace = explain::<Player>(&packet_of(&mut Player {
        inventory: vec![Item { kind: 1, count: 1 }; 500],
        ..player()
    }));
    let (short, long) = (trace.to_string(), format!("{trace:#}"));
    assert!(short.lines().count() < 100, "{short}");
    assert!(short.contains("… 495 more"));
    assert!(long.lines().count() > 1500);
    assert!(!long.contains('…'));
}

#[test]
fn pictures_fit_a_terminal() {
    for trace in [explain::<Player>(&tampered(500, 300)), explain_write(&player())] {
        for line in trace.to_string().lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn an_explained_error_is_the_sentence() {
    let packet = tampered(40, 33);
    let refused = decode_explained::<Player>(&packet).err().unwrap();
    let plain = tightwire::decode::<Player>(&packet).err().unwrap();
    assert_eq!((refused.kind(), refused.bit()), (plain.kind, plain.bit));
    let path = "Player.inventory[33].count";
    assert_eq!(refused.path().as_deref(), Some(path));
    let bit = refused.bit();
    let sentence = format!("{path} at bit {bit}: 64 is not in 1..=50");
    assert_eq!(refused.to_string(), sentence);
    assert_eq!(refused.trace(), &explain::<Player>(&packet));
}

#[test]
fn an_error_of_another_packet_blames_nobody() {
    let error = tightwire::decode::<Player>(&tampered(40, 33)).err().unwrap();
    let explained = error.explain::<Player>(&packet_of(&mut player()));
    assert_eq!((explained.kind(), explained.bit()), (error.kind, error.bit));
    assert_eq!(explained.path(), None);
    assert!(explained.to_string().starts_with("at bit "));
}

#[test]
fn the_bits_of_every_group_are_those_of_its_parts() {
    let trace = explain::<Player>(&tampered(40, 33));
    for group in trace.root().descendants().filter(|node| node.scope().is_some()) {
        let parts: u64 = group.children().map(|child| child.bit_count()).sum();
        assert_eq!(parts, group.bit_count(), "{}", group.path());
        assert!(group.children().all(|child| child.parent() == Some(group)));
    }
    assert_eq!(trace.root().parent(), None);
    let health = trace.root().children().next().unwrap();
    assert_eq!((health.path().as_str(), health.raw()), ("Player.health", Some(77)));
    assert_eq!(trace.root().raw(), None, "more than 128 bits");
}

/// A type that is read by the word: only field by field can the missing field be named.
#[derive(Wire, Default)]
struct Derived {
    alive: bool,
    #[wire(range = 0..=1000)]
    score: u16,
    target: Option<u16>,
    friends: [Option<bool>; 2],
}

#[test]
fn a_field_of_a_derived_type_is_found_wherever_its_packet_ends() {
    let friends = [Some(true), None];
    let derived = Derived { alive: true, score: 77, target: Some(7), friends };
    let mut buffer = [0; 8];
    let packet = encode(&derived, &mut buffer).unwrap();
    let paths = (0..packet.len()).map(|length| {
        let refused = decode_explained::<Derived>(&packet[..length]).err().unwrap();
        assert!(refused.bit() <= length as u64 * 8);
        refused.path().unwrap()
    });
    let paths: Vec<_> = paths.collect();
    assert_eq!(paths, ["Derived.alive", "Derived.score", "Derived.target", "Derived.target"]);
    let friend = explain_write(&derived).spans().nth(5).unwrap().path();
    assert_eq!(friend, "Derived.friends[0]");
}

/// The type of the README.
#[derive(Default)]
struct RigidBody {
    position: [f32; 3],
    orientation: [f32; 4],
}

impl Wire for RigidBody {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
        stream.compressed_vector(at!(this.position), POSITION)?;
        stream.smallest_three(at!(this.orientation), 10)
    }
}

#[test]
fn the_readme_shows_the_picture_of_its_example() {
    let (position, orientation) = ([12.5, -200.0, 3.25], [0.0, 0.0, 0.0, 1.0]);
    let mut buffer = [0; 16];
    let packet = encode(&RigidBody { position, orientation }, &mut buffer).unwrap();
    let picture = explain::<RigidBody>(&packet[..8]).to_string();
    assert!(include_str!("../../../../README.md").contains(&picture), "{picture}");
}

/// A type whose field name comes from the network; the shown name must be harmless.
#[derive(Default)]
struct Hostile(String);

const ATTACK: &str = "\x1b[2J\x07\u{9b}31m\u{202e}\u{2066}\u{200f}\u{61c}\u{85}\u{2028}\r\n\x7f\\";

impl Wire for Hostile {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.named(ATTACK).string(at!(this.0), 255)?;
        stream.named("kind").variant(&mut 0, 1, |_| ATTACK)?;
        stream.named(ATTACK).int(&mut 300, 0..=100u16)
    }
}

fn assert_harmless(text: &str) {
    let bad = |char: char| char.is_control() && char != '\n';
    let bidi = |char| "\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}".contains(char);
    assert_eq!(text.find(|char| bad(char) || bidi(char)), None, "{text:?}");
}

fn hostile() -> [Trace; 2] {
    let mut packet = vec![ATTACK.len() as u8];
    packet.extend(ATTACK.as_bytes());
    packet.push(0x7f);
    [explain::<Hostile>(&packet), explain_write(&Hostile(ATTACK.into()))]
}

#[test]
fn nothing_that_came_from_the_network_reaches_a_terminal_unescaped() {
    for trace in hostile() {
        assert!(trace.failure().is_some());
        assert!(trace.spans().any(|span| span.value().unwrap().to_string().contains("\\u{1b}[2J")));
        assert_harmless(&trace.to_string());
        assert_harmless(&trace.refusal().unwrap().to_string());
        for span in trace.spans() {
            assert_harmless(&span.path());
            assert_harmless(&span.value().unwrap().to_string());
        }
        let colored = trace.colored().to_string();
        let ours = ["1", "2", "36", "33", "32", "35", "94", "1;31", "0"];
        let uncolored =
            ours.iter().fold(colored, |text, code| text.replace(&format!("\x1b[{code}m"), ""));
        assert_eq!(uncolored, trace.to_string());
    }
}

/// A type that is as deep as its packet says.
#[derive(Default)]
struct Deep(Option<Box<Deep>>);

impl Wire for Deep {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.named("inner").option(at!(this.0), Wire::serialize)
    }
}

#[test]
fn a_packet_that_nests_without_end_is_drawn_to_a_depth() {
    let trace = explain::<Deep>(&[0xff; 250]);
    assert_eq!(trace.failure().unwrap().1, 2000);
    for picture in [trace.to_string(), format!("{trace:#}"), trace.colored().to_string()] {
        assert!(picture.len() < 100_000, "{}", picture.len());
        assert!(picture.contains(" deeper"));
    }
    assert!(trace.refusal().unwrap().to_string().len() < 1000);
    assert!(trace.refused().unwrap().path().contains("inner.….inner"));
}

#[cfg(feature = "serde")]
mod json {
    use super::*;

    fn of(trace: &Trace) -> String {
        serde_json::to_string_pretty(trace).unwrap()
    }

    #[test]
    fn a_refused_packet_as_json() {
        assert_snapshot!(of(&explain::<Player>(&tampered(2, 1))));
    }

    #[test]
    fn numbers_beyond_64_bits_and_floats_that_json_has_not_are_strings() {
        let value = [Some(u128::MAX), None];
        let json = serde_json::to_value(explain_write(&value)).unwrap();
        let first = "/root/children/0/children/0/children/0";
        let number = json.pointer(&format!("{first}/children/1/value")).unwrap();
        assert_eq!(number, &u128::MAX.to_string());
        let json = serde_json::to_value(explain_write(&[f32::NAN])).unwrap();
        assert_eq!(json.pointer(&format!("{first}/value")).unwrap(), "NaN");
    }

    #[test]
    fn hostile_text_is_harmless_and_hostile_depth_can_be_read_again() {
        for trace in hostile() {
            assert_harmless(&of(&trace));
        }
        let json = serde_json::to_string(&explain::<Deep>(&[0xff; 250])).unwrap();
        assert!(json.len() < 100_000);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["failure"]["bit"], 2000);
    }
}
