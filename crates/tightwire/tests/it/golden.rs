//! The worked examples of docs/WIRE.md: each is written, compared with the bytes in the document,
//! and read back.

use tightwire::bytes::{ByteError, ByteReader, ByteWriter, Packing};
use tightwire::message::{InternalBatch, Messenger, MessengerConfig, Route};
use tightwire::packet::{Identity, Keys, Protection, Protocol};
use tightwire::schema::{Class, Dynamic, Object, Representation, Schema, World, WorldSchema};
use tightwire::stream::{
    ByteStream, Condition, Field, Hints, Node, Number, Op, ReadStream, Selection, Shape,
    SubsetCoding, TraceStream, WriteStream,
};
use tightwire::{Delivery, FloatRange, Message, Stage, Stream, Target, Wire};

const DOCUMENT: &str = include_str!("../../../../docs/WIRE.md");

const VOLUME: FloatRange = FloatRange::new(0.0, 10.0, 0.01);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Weapon {
    Fist,
    Bow,
    Staff,
}

#[derive(Wire, Default)]
struct Player {
    #[wire(range = 0..=100)]
    health: u8,
    alive: bool,
    #[wire(range = 0..=63)]
    target: Option<u8>,
    #[wire(when = self.alive)]
    speed: u8,
}

#[derive(Wire, Default)]
enum Gun {
    #[default]
    None,
    Pistol {
        #[wire(range = 0..=12)]
        ammo: u8,
        safe: bool,
    },
    Rifle(u8),
}

/// Serializes the example with this `name`. Readers start from other values.
fn example<S: Stream>(name: &str, s: &mut S) -> Result<(), S::Error> {
    let fresh = S::READING;
    let number = |value: u64| if fresh { 0 } else { value };
    let text = |text: &str| if fresh { String::new() } else { text.into() };
    match name {
        "bits" => {
            s.bits(&mut number(5), 3)?;
            s.bits(&mut number(1000), 10)
        }
        "bool" => {
            s.bool(&mut !fresh)?;
            s.bool(&mut fresh.clone())?;
            s.bool(&mut !fresh)
        }
        "int" => s.int(&mut (number(87) as i32 - 10), -10..=90),
        "int 128" => s.int(&mut (u128::from(number(1)) << 64), 0..=1 << 64),
        "fixed" => s.fixed(&mut (number(384) as i32), 8, -100..=100),
        "varint" => s.varint(&mut number(300)),
        "varint signed" => s.varint(&mut if fresh { 0 } else { -100i32 }),
        "float" => s.float(&mut if fresh { 0.0 } else { 1.5 }),
        "double" => s.double(&mut if fresh { 0.0 } else { 1.5 }),
        "compressed_float" => s.compressed_float(&mut if fresh { 0.0 } else { 7.5 }, VOLUME),
        "enumerate" => {
            let mut weapon = if fresh { Weapon::Fist } else { Weapon::Staff };
            s.enumerate(&mut weapon, &[Weapon::Fist, Weapon::Bow, Weapon::Staff])
        }
        "declared struct" if fresh => s.object(&mut Player::default()),
        "declared struct" => s.object(&mut declared()),
        "declared enum" if fresh => s.object(&mut Gun::Rifle(1)),
        "declared enum" => s.object(&mut Gun::Pistol { ammo: 7, safe: true }),
        "option" => {
            let mut target = (!fresh).then_some(17u16);
            s.option(&mut target, |id, s| s.int(id, 0..=1023))
        }
        "vector" => s.vector(&mut if fresh { [0.0; 2] } else { [1.5, -2.0] }),
        "compressed_vector" => {
            s.compressed_vector(&mut if fresh { [0.0; 3] } else { [7.5, 0.0, 10.0] }, VOLUME)
        }
        "quaternion" => s.quaternion(&mut if fresh { [0.0; 4] } else { [0.0, 0.6, 0.0, 0.8] }),
        "smallest_three" => {
            s.smallest_three(&mut if fresh { [0.0; 4] } else { [0.0, 0.6, 0.0, 0.8] }, 10)
        }
        "unit_vector" => s.unit_vector(&mut if fresh { [0.0; 3] } else { [0.0, 0.6, -0.8] }, 12),
        "align" => {
            s.bits(&mut number(5), 3)?;
            s.align()?;
            s.bits(&mut number(7), 3)
        }
        "bytes" => {
            s.bits(&mut number(5), 3)?;
            s.bytes(&mut if fresh { [0; 2] } else { [0xab, 0xcd] })
        }
        "blob" => s.blob(&mut if fresh { vec![] } else { vec![0xab, 0xcd] }, 100),
        "string" => s.string(&mut text("héé"), 31),
        "wide_string" => s.wide_string(&mut text("é"), 31),
        "pod" => s.pod(&mut if fresh { [0u16; 2] } else { [0x1234, 0xabcd] }),
        "array" => {
            let mut items = if fresh { vec![] } else { vec![3u8, 1, 4] };
            s.array(&mut items, 15, |item, s| s.int(item, 0..=9))
        }
        "fixed_array" => {
            let mut items = if fresh { [0u8; 3] } else { [3, 1, 4] };
            s.fixed_array(&mut items, |item, s| s.int(item, 0..=9))
        }
        "index" => {
            s.index(None, &mut (number(4) as u32), 4096)?;
            s.index(Some(4), &mut (number(5) as u32), 4096)?;
            s.index(Some(5), &mut (number(300) as u32), 4096)
        }
        "int_relative" => {
            s.int_relative(1000, &mut (number(1001) as u32))?;
            s.int_relative(1001, &mut (number(1010) as u32))
        }
        "bit per object" => selection(s, SubsetCoding::BitPerObject),
        "count and index" => selection(s, SubsetCoding::CountAndIndex),
        "sentinel index" => selection(s, SubsetCoding::SentinelIndex),
        "relative index" => selection(s, SubsetCoding::RelativeIndex),
        "best" => selection(s, SubsetCoding::Best),
        "best rice" => {
            let mut spread = Selection::new(4096);
            if !fresh {
                assert!([100, 1500, 4000].map(|index| spread.insert(index)) == [true; 3]);
            }
            s.selection(&mut spread, SubsetCoding::Best)
        }
        "check" => s.check("after the players"),
        "schema" => s.object(&mut if fresh { Schema::default() } else { player() }),
        "hinted schema" => s.object(&mut if fresh { Schema::default() } else { turn() }),
        "world schema" => {
            let mut schema = if fresh { WorldSchema::default() } else { lamps().0 };
            s.object(&mut schema)
        }
        "world bits" => {
            let (schema, world) = lamps();
            let bits = world.write(Representation::Bits, &schema).unwrap();
            let schema = schema.schema();
            let mut tree = if fresh { Dynamic::default() } else { schema.decode(&bits).unwrap() };
            schema.serialize(&mut tree, s)
        }
        "world bytes" => {
            let (schema, world) = lamps();
            let mut bytes = world.write(Representation::Bytes, &schema).unwrap();
            assert_eq!(World::read(Representation::Bytes, &bytes, &schema).as_ref(), Ok(&world));
            if fresh {
                bytes.fill(0);
            }
            s.bytes(&mut bytes)
        }
        "batch" => {
            let route = Route::from(Delivery::Reliable).on_channel(2).at(Stage::PreUpdate);
            batch(s, Some(Delivery::Reliable), &[route])
        }
        "batch fragmenting" => batch(s, Some(Delivery::ReliableOrderedFragmented), &[]),
        "batch bound" => {
            let route = Route::from(Delivery::Reliable);
            batch(s, None, &[route.at_tick(70_000), route.with_object(7.into())])
        }
        "batch internal" => {
            let mut bytes = Vec::new();
            InternalBatch::write(3, &300_u16, &mut bytes).unwrap();
            if fresh {
                bytes.fill(0);
            }
            s.bytes(&mut bytes)
        }
        "datagram id" => datagram(s, Protection::Id),
        "datagram crc32" => datagram(s, Protection::Crc32),
        "datagram sealed" => datagram(s, Protection::Sealed(keys(Keys::client))),
        "identity" if fresh => s.object(&mut Identity::default()),
        "identity" => {
            let schema = tightwire::schema::Schema::of::<bool>();
            s.object(&mut Identity::new("arena", "1.0", Protection::Crc32, schema))
        }
        other => panic!("docs/WIRE.md has an example {other:?} that this test does not know"),
    }
}

#[derive(Wire, Message, Default)]
struct Chat {
    #[wire(max_len = 100)]
    text: String,
}

#[derive(Wire, Message, Default)]
struct Score {
    #[wire(range = 0..=1000)]
    points: u16,
}

/// A batch of a chat with this delivery, and of a score with each route.
fn batch<S: Stream>(s: &mut S, chat: Option<Delivery>, scores: &[Route]) -> Result<(), S::Error> {
    let builder = Messenger::<()>::builder(MessengerConfig::default());
    let mut messenger = builder.send_only::<Score>().send_only::<Chat>().build().unwrap();
    let peer = messenger.add_peer(1200);
    if let Some(delivery) = chat {
        messenger.send(peer, &Chat { text: "hi".into() }, delivery).unwrap();
    }
    for route in scores {
        messenger.send(peer, &Score { points: 300 }, *route).unwrap();
    }
    let mut bytes = Vec::new();
    messenger.end_frame(|_, _, batch| {
        bytes.extend_from_slice(batch);
        Ok(())
    });
    if S::READING {
        bytes.fill(0);
    }
    s.bytes(&mut bytes)
}

fn keys(side: fn([u8; 32], [u8; 32]) -> Keys) -> Keys {
    side(std::array::from_fn(|i| i as u8), std::array::from_fn(|i| 32 + i as u8))
}

fn protocol(protection: Protection) -> Protocol<Gun> {
    Protocol::new("arena", "1.0", protection)
}

/// Serializes a datagram as its bytes.
fn datagram<S: Stream>(s: &mut S, protection: Protection) -> Result<(), S::Error> {
    let mut buffer = [0; 64];
    let gun = Gun::Pistol { ammo: 7, safe: true };
    let length = protocol(protection).write(&gun, &mut buffer).unwrap().len();
    if S::READING {
        buffer.fill(0);
    }
    s.bytes(&mut buffer[..length])
}

fn player() -> Schema {
    let health = Op::Int { min: Number::Unsigned(0), max: Number::Unsigned(100) };
    let fields = vec![
        Field::new("alive", Shape::Op(Op::Bool)),
        Field {
            when: Some(Condition::Field(vec!["alive".into()])),
            ..Field::new("health", Shape::Op(health))
        },
    ];
    Schema::new(Shape::Struct { name: "Player".into(), fields }).unwrap()
}

fn turn() -> Schema {
    let wraps = Hints { wraps: true, ..Hints::default() };
    let rate = Hints { derivative_of: Some("angle".into()), ..Hints::default() };
    let fields = vec![
        Field { hints: wraps, ..Field::new("angle", Shape::Op(Op::Bits { width: 8 })) },
        Field { hints: rate, ..Field::new("speed", Shape::Op(Op::Bits { width: 4 })) },
    ];
    Schema::new(Shape::Struct { name: "Turn".into(), fields }).unwrap()
}

fn lamps() -> (WorldSchema, World) {
    let level = Op::Int { min: Number::Unsigned(0), max: Number::Unsigned(9) };
    let properties =
        vec![Field::new("lit", Shape::Op(Op::Bool)), Field::new("level", Shape::Op(level))];
    let schema = WorldSchema::new(vec![Class::new("lamp", properties)]).unwrap();
    let schema = schema.with_time(Op::Float).unwrap().with_max_objects(15).unwrap();
    let mut world = World::new(1.5);
    world.insert(Object::new(3, "lamp").with("lit", true).with("level", 7u64));
    world.insert(Object::new(4, "lamp").with("lit", false).with("level", 0u64));
    (schema, world)
}

fn selection<S: Stream>(s: &mut S, coding: SubsetCoding) -> Result<(), S::Error> {
    let mut selected = Selection::new(12);
    if !S::READING {
        assert!([1, 2, 9].map(|index| selected.insert(index)) == [true; 3]);
    }
    s.selection(&mut selected, coding)
}

/// Returns the contents of a byte buffer in the example with this `name`.
fn buffer(name: &str) -> Result<Vec<u8>, ByteError> {
    let mut writer = ByteWriter::new([0xff; 64]);
    match name {
        "primitives" => {
            writer.write(0x1234u16)?;
            writer.write(-2i8)?;
            writer.write(1.5f32)?;
            writer.write(true)?;
        }
        "varint" => {
            writer.write_varint(127u8)?;
            writer.write_varint(128u64)?;
            writer.write_varint(-64i8)?;
            writer.write_varint(64i64)?;
        }
        "text" => writer.write_str("héé", 31)?,
        "slice" => writer.write_slice(&[1u16, 2, 3], 100)?,
        "section" => {
            let size = writer.set_aside(2)?;
            writer.write_bits(|stream| {
                stream.bool(&mut true)?;
                stream.bits(&mut 1000, 10)
            })?;
            writer.write_wire(&declared(), Packing::Bytes)?;
            let length = writer.len() as u16 - 2;
            writer.fill(size, &length.to_le_bytes())?;
        }
        other => panic!("docs/WIRE.md has an example {other:?} that this test does not know"),
    }
    Ok(writer.finish()?.to_vec())
}

fn check_buffer(name: &str, documented: &[u8]) -> Result<(), ByteError> {
    let mut reader = ByteReader::new(documented);
    match name {
        "primitives" => {
            let read = reader.require(8, |block| (block.read(), block.read(), block.read()))?;
            assert_eq!((read, reader.read()?), ((0x1234u16, -2i8, 1.5f32), true));
        }
        "varint" => {
            assert_eq!((reader.read_varint()?, reader.read_varint()?), (127u8, 128u64));
            assert_eq!((reader.read_varint()?, reader.read_varint()?), (-64i8, 64i64));
        }
        "text" => assert_eq!(reader.read_str(31)?, "héé"),
        "slice" => {
            let mut items: Vec<u16> = vec![];
            reader.read_slice(&mut items, 100)?;
            assert_eq!(items, [1, 2, 3]);
        }
        _ => {
            assert_eq!(reader.read::<u16>()?, reader.remaining() as u16);
            let mut number = 0;
            reader.read_bits(|stream| {
                stream.bool(&mut true)?;
                stream.bits(&mut number, 10)
            })?;
            let mut player = Player::default();
            reader.read_wire(&mut player, Packing::Bytes)?;
            assert_eq!((number, player.health, player.speed), (1000, 77, 200));
        }
    }
    reader.finish()
}

fn declared() -> Player {
    Player { health: 77, alive: true, target: Some(5), speed: 200 }
}

struct Example(String);

impl Wire for Example {
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        example(&this.0, stream)
    }
}

/// Parses the examples of the document: `Example \`name\`: … → \`bytes\``.
fn examples() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    DOCUMENT.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("Example `")?.split_once('`').unwrap();
        let hex = rest.rsplit('`').nth(1).unwrap();
        let bytes = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        Some((name, bytes))
    })
}

#[test]
fn the_document_has_the_bytes_that_are_written() {
    let mut wrong = String::new();
    for (name, documented) in examples() {
        let mut memory = [0xff; 64];
        let stream = WriteStream::new(&mut memory);
        let in_buffer;
        let written = match name.split_once(' ') {
            Some(("buffer", name)) => {
                in_buffer = buffer(name).unwrap();
                &in_buffer
            }
            Some(("plain", name)) => {
                let mut stream = ByteStream::new(stream);
                let Ok(()) = example(name, &mut stream);
                stream.into_inner().finish().unwrap()
            }
            _ => {
                let mut stream = stream;
                let Ok(()) = example(name, &mut stream);
                stream.finish().unwrap()
            }
        };
        if written != documented {
            let hex: Vec<_> = written.iter().map(|byte| format!("{byte:02x}")).collect();
            wrong += &format!("{name}: `{}`\n", hex.join(" "));
        }
    }
    assert_eq!(wrong, "", "written, but not what docs/WIRE.md says");
}

#[test]
fn the_bytes_of_the_document_read_back_to_the_example() {
    for (name, documented) in examples() {
        let stream = ReadStream::new(&documented);
        let (name, read) = match name.split_once(' ') {
            Some(("buffer", name)) => {
                assert_eq!(check_buffer(name, &documented), Ok(()), "{name}");
                continue;
            }
            Some(("plain", name)) => {
                let mut stream = TraceStream::new(ByteStream::new(stream));
                example(name, &mut stream).unwrap();
                let (stream, read) = stream.into_parts();
                stream.into_inner().finish().unwrap();
                (name, read)
            }
            _ => {
                let mut stream = TraceStream::new(stream);
                example(name, &mut stream).unwrap();
                let (stream, read) = stream.into_parts();
                stream.finish().unwrap();
                (name, read)
            }
        };
        let written = tightwire::stream::explain_write(&Example(name.into()));
        // Quantised values differ by less than the last digit shown here.
        let shown = |trace: &tightwire::stream::Trace| -> Vec<String> {
            let shown =
                |span: Node<'_>| format!("{} {:.2?}", span.op().unwrap(), span.value().unwrap());
            trace.spans().map(shown).collect()
        };
        assert_eq!(shown(&read), shown(&written), "{name}");
    }
}

#[test]
fn every_operation_has_an_example() {
    let count = |prefix| examples().filter(|(name, _)| name.starts_with(prefix)).count();
    assert_eq!(count(""), 42 + 22 + 5 + 4 + 3, "one for each operation and its variants");
    assert_eq!((count("plain "), count("buffer ")), (22, 5), "in whole bytes, and in a buffer");
    assert_eq!(count("datagram ") + count("identity"), 4);
}

#[test]
fn the_document_has_the_protocol_ids() {
    for (name, protection) in [
        ("none", Protection::None),
        ("id", Protection::Id),
        ("crc32", Protection::Crc32),
        ("sealed", Protection::Sealed(keys(Keys::client))),
    ] {
        let line = format!("| {name} | `{:016x}` |", protocol(protection).identity().id());
        assert!(DOCUMENT.contains(&line), "not in docs/WIRE.md: {line}");
    }
}

/// Computes the checksum bit by bit, as the standard has it: independent of the library's code.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for bit in bytes.iter().flat_map(|byte| (0..8).map(move |bit| u32::from(byte >> bit & 1))) {
        let out = (crc ^ bit) & 1;
        crc = (crc >> 1) ^ (out * 0xedb8_8320);
    }
    !crc
}

#[test]
fn the_checksum_is_the_one_of_the_standard_over_the_id_and_the_packet() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926, "the check value of CRC-32");
    let id = protocol(Protection::Crc32).identity().id();
    let (_, documented) = examples().find(|(name, _)| *name == "datagram crc32").unwrap();
    let (crc, packet) = documented.split_first_chunk::<4>().unwrap();
    let checked = [&id.to_le_bytes(), packet].concat();
    assert_eq!(u32::from_le_bytes(*crc), crc32(&checked));
}

#[test]
fn the_datagrams_of_the_document_are_read() {
    for (name, protection) in [
        ("datagram id", Protection::Id),
        ("datagram crc32", Protection::Crc32),
        ("datagram sealed", Protection::Sealed(keys(Keys::server))),
    ] {
        let (_, documented) = examples().find(|(example, _)| *example == name).unwrap();
        let mut gun = Gun::default();
        protocol(protection).read(&documented, &mut gun).unwrap();
        assert!(matches!(gun, Gun::Pistol { ammo: 7, safe: true }), "{name}");
    }
}
