//! Names in traces, and the fields that they blame.

use tightwire::stream::{ErrorKind, Node, ReadStream, TraceStream, WriteStream, explain_write};
use tightwire::{Stream, Target, Wire, at, explain};

#[derive(Default)]
struct Item {
    kind: u8,
    count: u8,
}

impl Wire for Item {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.kind).target(), 0..=31)?;
        stream.int(at!(this.count).target(), 1..=64)
    }
}

#[derive(Default)]
struct Player {
    target: Option<u16>,
    items: Vec<Item>,
    lucky: u8,
}

impl Wire for Player {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.option(at!(this.target), |id, stream| stream.int(id, 0..=1023))?;
        stream.array(at!(this.items), 7, Wire::serialize)?;
        stream.int(at!(this.lucky), 0..=15)?;
        if this.lucky == 13 {
            return stream.refuse();
        }
        Ok(())
    }
}

fn player() -> Player {
    Player { target: Some(7), items: vec![Item { kind: 3, count: 5 }], lucky: 1 }
}

#[test]
fn the_only_operation_of_an_option_has_its_path_and_several_of_an_element_give_their_lines() {
    let trace = explain_write(&player());
    let paths: Vec<_> = trace.spans().map(Node::path).collect();
    assert_eq!(
        paths,
        [
            "Player.target.is_some",
            "Player.target",
            "Player.items.len",
            "Player.items[0].int@trace.rs:17",
            "Player.items[0].int@trace.rs:18",
            "Player.lucky",
        ],
    );
}

#[test]
fn custom_refusals_name_the_last_operation() {
    let trace = explain_write(&Player { lucky: 13, ..player() });
    assert_eq!(trace.refused().unwrap().path(), "Player.lucky");

    let mut buffer = [0; 16];
    let packet = tightwire::encode(&player(), &mut buffer).unwrap();
    let mut tampered = packet.to_vec();
    tampered[3] |= 0b1101 << 1;
    let trace = explain::<Player>(&tampered);
    assert_eq!(trace.failure(), Some((ErrorKind::Custom, 29)));
    assert_eq!(trace.refused().unwrap().path(), "Player.lucky");
    let sentence = "Player.lucky at bit 29: the application refused the value (int 0..=15)";
    assert_eq!(trace.refusal().unwrap().to_string(), sentence);
}

#[test]
fn a_full_buffer_is_blamed_on_the_field_that_did_not_fit_not_on_a_later_value() {
    let mut buffer = [0; 1];
    let mut stream = TraceStream::new(WriteStream::new(&mut buffer));
    let Ok(()) = stream.named("first").bytes(&mut [1, 2]);
    let Ok(()) = stream.named("second").int(&mut 200u8, 0..=100);
    let (_, trace) = stream.into_parts();
    assert_eq!(trace.failure(), Some((ErrorKind::Full, 8)));
    assert_eq!(trace.refused().unwrap().path(), "first");
}

#[test]
fn descriptions_that_come_from_the_packet_do_not_panic_a_reader() {
    let mut stream = ReadStream::new(&[9, 3, 0]);
    let (mut low, mut high) = (0u8, 0u8);
    stream.object(&mut low).unwrap();
    stream.object(&mut high).unwrap();
    assert_eq!(stream.int(&mut 0, low..=high).unwrap_err().kind, ErrorKind::Misuse);

    let mut stream = ReadStream::new(&[0xff; 8]);
    let mut previous = 0u32;
    stream.object(&mut previous).unwrap();
    let refused = stream.int_relative(previous, &mut 0).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::OutOfRange);

    let mut stream = ReadStream::new(&[200; 40]);
    let mut width = 0u8;
    stream.object(&mut width).unwrap();
    assert_eq!(stream.bits(&mut 0, width.into()).unwrap_err().kind, ErrorKind::Misuse);
}
