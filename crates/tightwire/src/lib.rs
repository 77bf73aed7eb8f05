//! The wire layer of real-time multiplayer games.
//!
//! A type declares its wire form once, and gets writing, reading, measuring, tracing and a schema
//! from it. Values cost the bits that their ranges need. A hostile packet
//! is refused: no input panics, over-allocates, loops or is read past its end.
//!
//! The crate owns no socket, no clock and no thread, and is `no_std` + `alloc` without its
//! default feature `std`. This page is the tour; `docs/WIRE.md` in the repository is the format
//! to the bit.
//!
//! # The two lines most people need
//!
//! [`encode`] and [`decode`], for any type that is [`Wire`](trait@Wire). Derive it: what the
//! attributes mean is on the page of the [derive](derive@Wire), and the guide
//! [`describe_your_packets`](guide::describe_your_packets) takes a packet from a plain struct to the
//! fewest bits.
//!
//! ```
//! use tightwire::Wire;
//!
//! #[derive(Wire, Default, PartialEq, Debug)]
//! struct Player {
//!     #[wire(range = 0..=100)]
//!     health: u8,
//!     alive: bool,
//!     #[wire(max_len = 31)]
//!     name: String,
//! }
//!
//! let player = Player { health: 77, alive: true, name: "Ada".into() };
//! let mut buffer = [0; 64];
//! let packet = tightwire::encode(&player, &mut buffer)?;
//! assert_eq!(packet, [0b1_1001101, 3, b'A', b'd', b'a']);
//! assert_eq!(tightwire::decode::<Player>(packet)?, player);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # bits
//!
//! [`BitWriter`] and [`BitReader`] move fields of 0 to 64 bits in and out of a byte slice of any
//! length, a word at a time. They know nothing of ranges or types; use them for a format of your
//! own. [`bits_required`] says what a range costs.
//!
//! ```
//! use tightwire::{BitReader, BitWriter};
//!
//! let mut buffer = [0; 8];
//! let mut writer = BitWriter::new(&mut buffer);
//! writer.write_bits(1000, 10);
//! assert_eq!(BitReader::new(writer.finish()?).read_bits(10)?, 1000);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # stream
//!
//! [`Stream`] lists every operation: integers, floats, vectors, rotations, strings, arrays, parts
//! of arrays, checks. One serialize function runs on any stream, and takes a [`Target`]: a shared
//! reference for a stream that writes, a unique one for a stream that reads. [`at!`] leads from it to
//! a field. See [`Wire`](trait@Wire) for such a function. The streams:
//!
//! * [`WriteStream`] writes and cannot fail on the way; its `finish` refuses to hand out bytes
//!   if the buffer was too small or a value was out of its range.
//! * [`ReadStream`] reads from exactly the bytes that came, and refuses at once, with the kind of
//!   the fault and the bit.
//! * [`MeasureStream`] counts the bits at most needed.
//! * [`TraceStream`] runs another stream and records each operation with its name, bits and value.
//! * [`ByteStream`] runs another stream and packs nothing.
//!
//! A stream does not frame, checksum, encrypt or send.
//!
//! ```
//! use tightwire::{FloatRange, ReadStream, Stream, WriteStream};
//!
//! const ANGLE: FloatRange = FloatRange::new(0.0, 360.0, 0.1);
//!
//! let mut buffer = [0; 8];
//! let mut writer = WriteStream::new(&mut buffer);
//! writer.compressed_float(&90.0, ANGLE)?;
//! let packet = writer.finish()?;
//! assert_eq!(packet.len(), 2);
//!
//! let mut angle = 0.0;
//! let mut reader = ReadStream::new(packet);
//! reader.compressed_float(&mut angle, ANGLE)?;
//! reader.finish()?;
//! assert_eq!(angle, 90.0);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # bytes
//!
//! [`ByteWriter`] and [`ByteReader`] move whole bytes: plain structs in one copy, primitives, packed
//! integers, text, slices, and sections of bits between them. Each operation checks for itself, or
//! [`reserve`](ByteWriter::reserve) and [`require`](ByteReader::require) check once for many. Space
//! that is [set aside](ByteWriter::set_aside) is filled when its contents are known, and a
//! [`GrowingBuffer`] grows up to a maximum. They know nothing of batches, queues or messages.
//!
//! [`Packing`] is a protocol's setting: its values in the fewest bits, or with nothing packed, as a
//! [`ByteStream`] writes them, so that a hex dump can be read.
//!
//! ```
//! use tightwire::{ByteReader, ByteWriter, Packing};
//!
//! let mut writer = ByteWriter::new([0; 64]);
//! let size = writer.set_aside(2)?;
//! writer.reserve(6, |block| {
//!     block.write(7u8);
//!     block.write(1.5f32);
//! })?;
//! writer.write_varint(300u32)?;
//! writer.write_wire(&(true, -2i8), Packing::Bytes)?;
//! let length = writer.len() as u16 - 2;
//! writer.fill(size, &length.to_le_bytes())?;
//! let packet = writer.finish()?;
//! assert_eq!(packet, [9, 0, 7, 0, 0, 0xc0, 0x3f, 0xac, 2, 1, 0xfe]);
//!
//! let mut reader = ByteReader::new(packet);
//! assert_eq!(reader.read::<u16>()?, 9);
//! assert_eq!(reader.require(5, |block| (block.read::<u8>(), block.read::<f32>()))?, (7, 1.5));
//! assert_eq!(reader.read_varint::<u32>()?, 300);
//! # Ok::<(), tightwire::ByteError>(())
//! ```
//!
//! # When something is wrong
//!
//! The errors of the hot path are small: what was wrong, and at which bit. Whoever wants the field
//! by its name asks for it, with [`decode_explained`] and [`encode_explained`] or with
//! [`ReadError::explain`] and [`WriteError::explain`]. Only a refusal is paid for: then the same
//! function runs once more and is traced.
//!
//! [`explain`] and [`explain_write`] return the [`Trace`] of any packet: a tree of every field with
//! its path, its bits and its value, and where and why it was refused. `Display` draws it, in
//! colours with [`Trace::colored`], and the feature `serde` makes JSON of it. What came from the
//! network is escaped in all of them.
//!
//! ```
//! # use tightwire::Wire;
//! # #[derive(Wire, Default)]
//! # struct Player {
//! #     #[wire(range = 0..=100)]
//! #     health: u8,
//! # }
//! let refused = tightwire::decode_explained::<Player>(&[0x7f]).err().unwrap();
//! assert_eq!(refused.to_string(), "Player.health at bit 0: 127 is not in 0..=100");
//!
//! let trace = tightwire::explain::<Player>(&[0x7f]);
//! let picture = "   at  bits  field
//!     0     7  Player         1 byte
//! a   0     7  └ health  127  int 0..=100  <- refused
//!
//!       0  7f
//!          11111110
//!          a^^^^^^.
//!
//! Player.health at bit 0: 127 is not in 0..=100
//! ";
//! assert_eq!(trace.to_string(), picture);
//! ```
//! # schema
//!
//! [`schema`] is the layout of a type as data. A [`Schema`] reads and writes packets without the
//! Rust types, into a tree of values, [`Dynamic`]; its [`fingerprint`](Schema::fingerprint) is a
//! protocol id that changes when the bytes do, its [`diff`](Schema::diff) explains to a person why
//! two sides do not understand each other. It can be sent, and is JSON with the feature `serde`.
//!
//! A schema from outside is validated before anything is done with it, and neither it nor a packet
//! can ask for more than the packet pays for. It cannot run what only the program knows: types
//! whose `Wire` is written by hand, and conditions that are no data.
//!
//! ```
//! use tightwire::{Schema, Wire};
//!
//! #[derive(Wire)]
//! struct Player {
//!     #[wire(range = 0..=100)]
//!     health: u8,
//!     alive: bool,
//! }
//!
//! let schema = tightwire::schema::<Player>();
//! let player = schema.decode(&[0b1_1001101])?;
//! assert_eq!(player.to_string(), "Player { health: 77, alive: true }");
//!
//! // The client gets it once, and compares it with its own.
//! let mut buffer = [0; 64];
//! let sent = tightwire::encode(&schema, &mut buffer)?;
//! let received: Schema = tightwire::decode(sent)?;
//! assert_eq!(received.fingerprint(), schema.fingerprint());
//! assert!(schema.diff(&received).is_empty());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! ## Worlds
//!
//! A [`World`] is a time and objects, each of a class of the [`WorldSchema`]: sent once, so that
//! worlds are values and nothing else. A class is made of a derived type, or of fields that were
//! read from a file. One and the same world has several [`Representation`]s: bits for the network;
//! bytes, and with the feature `formats` XML, JSON, JSON relative to the schema and compact text,
//! to see what the bits save. Each reads back to the same world.
//!
//! A world is one state. What changed since the last one is for [snapshots](#snapshot).
//!
//! ```
//! use tightwire::{Class, Object, Representation, Wire, World, WorldSchema};
//!
//! #[derive(Wire)]
//! struct Weapon {
//!     #[wire(range = 0..=9)]
//!     ammo: u8,
//!     loaded: bool,
//! }
//!
//! let schema = WorldSchema::new(vec![Class::of::<Weapon>()?])?.with_max_objects(255)?;
//! let mut world = World::new(0.5);
//! world.insert(Object::of(110, &Weapon { ammo: 8, loaded: true })?);
//! world.insert(Object::of(111, &Weapon { ammo: 0, loaded: false })?);
//!
//! let sizes = [Representation::Bytes, Representation::Bits]
//!     .map(|representation| world.write(representation, &schema).unwrap().len());
//! assert_eq!(sizes, [21, 12]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # snapshot
//!
//! A [`SnapshotSender`] replicates a world of objects to many receivers over a network that loses
//! packets: each packet has what a receiver is not known to have, in as few bytes as a model of the
//! objects can make of it, within a budget, the most urgent first. A [`SnapshotReceiver`] has the
//! world, and a [`Playback`] shows it evenly; a [`SnapshotTrace`] says what each bit of a packet was
//! for. The guide [`replicate_a_world`](guide::replicate_a_world) is the way in.
//!
//! It sends nothing: packets are for any transport, and may get lost there.
//!
//! ```
//! use tightwire::{
//!     Leaving, SnapshotConfig, SnapshotProtocol, SnapshotReceiver, SnapshotSender, Wire,
//! };
//!
//! #[derive(Wire, Default)]
//! struct Door {
//!     open: bool,
//! }
//!
//! let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<Door>().build()?;
//! let mut sender = SnapshotSender::new(&protocol);
//! let client = sender.add_receiver(Leaving::Despawn);
//! sender.begin_tick(1);
//! sender.set(7, &Door { open: true })?;
//! let packet = sender.snapshot(client, 1000).unwrap();
//!
//! let mut receiver = SnapshotReceiver::new(&protocol);
//! receiver.handle_snapshot(packet)?;
//! assert!(receiver.get::<Door>(7).unwrap().open);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # packet
//!
//! A [`Protocol`] turns packets into datagrams and back, in the caller's buffers. Its [`Protection`]
//! keeps out other games and other versions, accidents, and with [`Keys`] everyone else too. What it
//! does not let in is [`Refused`], for a reason that can be said and is [counted](Counters). Two
//! sides that refuse each other can exchange their [`Identity`], and the [`Mismatch`] says what is
//! different, down to the field.
//!
//! It sends nothing: the datagrams are for a socket, or for a transport of any kind.
//!
//! ```
//! use tightwire::{Protection, Protocol, Refused, Wire};
//!
//! #[derive(Wire, Default, PartialEq, Debug)]
//! enum Packet {
//!     #[default]
//!     KeepAlive,
//!     Move { #[wire(range = -100..=100)] x: i8, #[wire(range = -100..=100)] y: i8 },
//! }
//!
//! let mut client = Protocol::<Packet>::new("arena", "1.0", Protection::Crc32);
//! let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
//! let datagram = client.write(&Packet::Move { x: 3, y: -7 }, &mut buffer)?;
//! assert_eq!(datagram.len(), 4 + 3);
//!
//! let mut server = Protocol::<Packet>::new("arena", "1.0", Protection::Crc32);
//! let mut packet = Packet::default();
//! server.read(datagram, &mut packet)?;
//! assert_eq!(packet, Packet::Move { x: 3, y: -7 });
//! assert_eq!(server.read(&datagram[1..], &mut packet), Err(Refused::WrongProtocol));
//! assert_eq!(server.counters().to_string(), "0 written, 1 read, 1 refused (1 wrong protocol)");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # message
//!
//! A [`Message`] is a struct that is sent as it is, to one peer, to many, or to this side itself. A
//! [`Messenger`] writes messages into batches, for each peer and [`Delivery`] one after the other,
//! gives them to a transport at the end of the frame, and takes batches from it: their messages wait
//! in bounded queues for their [`Stage`], and then go to their handlers. The guide
//! [`define_a_message`](guide::define_a_message) is the way in.
//!
//! It is no transport: what a delivery promises is for that to keep.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::{Context, Delivery, Message, Messenger, MessengerConfig, PeerId, Stage, Wire};
//!
//! #[derive(Wire, Message, Default)]
//! struct Score {
//!     #[wire(range = 0..=1000)]
//!     points: u16,
//! }
//!
//! let mut messenger = Messenger::builder(MessengerConfig::default())
//!     .handle(|score: &Score, context: &mut Context<'_, u32>| {
//!         *context.state += u32::from(score.points);
//!     })
//!     .build()?;
//! let mut sum = 0;
//! messenger.begin_frame(Duration::ZERO);
//! messenger.run_stage(Stage::Update, &mut sum);
//! messenger.send_local(&mut sum, &Score { points: 7 }, Delivery::Reliable)?;
//! assert_eq!(sum, 7);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # link
//!
//! A [`Link`] is a bad network for tests: it delays, loses, doubles, reorders and corrupts datagrams as
//! its [`LinkConfig`] says, and for the same seed always in the same way. It has no clock: time is an
//! argument.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::{Link, LinkConfig};
//!
//! let latency = Duration::from_millis(50);
//! let mut link = Link::new(LinkConfig { latency, loss: 0.02, ..LinkConfig::default() }, 1);
//! link.handle_datagram(Duration::ZERO, b"hello");
//! assert_eq!(link.poll_datagram(latency), Some(&b"hello"[..]));
//! ```
//!
//! # capture
//!
//! With the feature `capture`, a [`Recorder`] writes every datagram with its time and direction into
//! a pcapng file, which Wireshark and the like open, and a [`Capture`] reads it again, one record at
//! a time. What the packets mean travels in the file, as the protocol's [`Identity`], so that a tool
//! reads them without the program. It records what it is given: it owns no socket and no clock.
//!
//! ```
//! # #[cfg(feature = "capture")]
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! use std::time::Duration;
//! use tightwire::{Capture, Direction, Protection, Protocol, Recorder};
//!
//! let mut protocol = Protocol::<[u8; 3]>::new("arena", "1.0", Protection::Crc32);
//! let mut buffer = [0; Protocol::<[u8; 3]>::MAX_BYTES];
//! let datagram = protocol.write(&[7, 8, 9], &mut buffer)?;
//!
//! let (server, client) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
//! let mut recorder = Recorder::new(Vec::new(), protocol.identity())?;
//! let now = Duration::from_secs(1_700_000_000);
//! recorder.record(now, Direction::Sent, server, client, datagram)?;
//!
//! let file = recorder.finish()?;
//! let mut capture = Capture::new(&file[..])?;
//! let identity = capture.identity().unwrap().clone();
//! let record = capture.next_record().unwrap()?;
//! assert_eq!((record.time, record.source), (now, server));
//! let packet = identity.packet_in(record.datagram)?;
//! assert_eq!(identity.decode(packet)?.to_string(), "[7, 8, 9]");
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "capture"))]
//! # fn main() {}
//! ```
#![cfg_attr(not(feature = "capture"), doc = "\n[`Recorder`]: #capture\n[`Capture`]: #capture")]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
// Derived code says `::tightwire`, also where this crate derives.
extern crate self as tightwire;

mod bits;
mod bytes;
#[cfg(feature = "capture")]
mod capture;
mod link;
mod message;
mod packet;
mod schema;
mod snapshot;
mod stream;

pub use bits::{
    BitReader, BitWriter, Checkpoint, UnexpectedEnd, WriteRefused, bits_required,
    bits_required_u128,
};
pub use bytes::{
    Buffer, ByteError, ByteReader, ByteWriter, GrowingBuffer, Packing, Primitive, ReadBlock,
    Reserved, WriteBlock,
};
#[cfg(feature = "capture")]
pub use capture::{Capture, CaptureError, Direction, Record, Recorder};
pub use link::{Bandwidth, Bursts, Link, LinkConfig, LinkStats};
pub use message::{
    Context, Delivery, Disconnected, FaultCounters, Hooks, InternalBatch, MAX_MESSAGES, Message,
    MessageEvent, MessageFault, MessageStats, MessagesIn, Messenger, MessengerBuilder,
    MessengerConfig, Outcome, PeerId, PeerIds, PeerMessageStats, PeerStats, RawMessage,
    RefusedMessage, RegistryError, Route, SendError, SentTo, Stage, Traffic, messages_in,
};
pub use packet::{
    Counters, ExplainedRefusal, Identity, Keys, Mismatch, NotWritten, Place, Protection, Protocol,
    RecordedPackets, Refused, Tally,
};
pub use schema::{
    Class, Diff, Difference, Dynamic, DynamicError, Object, ObjectId, Representation, Schema,
    SchemaError, World, WorldError, WorldSchema, schema,
};
pub use snapshot::{
    ChangeKind, Leaving, Level, ObjectView, Playback, PlaybackConfig, Received, ReceiverId,
    SetError, SnapshotAck, SnapshotChange, SnapshotConfig, SnapshotDescription, SnapshotError,
    SnapshotPacket, SnapshotPart, SnapshotProtocol, SnapshotProtocolBuilder, SnapshotProtocolError,
    SnapshotReceiver, SnapshotSender, SnapshotSpan, SnapshotTotal, SnapshotTrace,
};
pub use stream::{
    Access, Binary, ByteStream, Condition, Elements, ErrorKind, Explained, Field, FloatRange,
    Hints, Int, IntoTarget, List, MeasureStream, Name, NamedTarget, Node, Number, Op, Parts, Pod,
    Quaternion, RawStream, ReadError, ReadStream, Scope, Selection, Shape, Shared, Stream,
    SubsetCoding, Target, Trace, TraceStream, Unique, Value, Variant, Vector, Wire, WriteError,
    WriteStream, decode, decode_explained, decode_into, encode, encode_explained, explain,
    explain_write, measure,
};

/// Declares the wire form of a struct or an enum: the serialize function, the worst case
/// ([`MAX_BITS`](Wire::MAX_BITS)), and the description that a [`Schema`] is made of.
///
/// Fields are sent in the order of the declaration. An enum is sent as the place of its variant in
/// the fewest bits (an explicit discriminant does not matter), then the variant's fields. Types
/// nest freely, also in and around serialize functions written by hand. The bytes are those of
/// calling the [`Stream`]'s operations one after the other; runs of fixed-width fields go as whole
/// words, which makes derived code the fastest.
///
/// The guide [`describe_your_packets`](guide::describe_your_packets) builds a packet step by step.
///
/// # Attributes
///
/// `#[wire(…)]` on a field. Numbers can be any constant expression. In front of an `Option`, a `Box`,
/// an array or a list, an attribute is about the elements, except `max_len`.
///
/// | attribute | for | meaning |
/// |---|---|---|
/// | none | any [`Wire`](trait@Wire) type | as the type says: integers, floats and `bool` whole |
/// | `range = 0..=100` | integers | [`int`](Stream::int) |
/// | `bits = 12` | unsigned integers | [`bits`](Stream::bits) |
/// | `varint` | integers | [`varint`](Stream::varint) |
/// | `min = -1.0, max = 1.0, resolution = 0.01` | `f32`, vectors | [`compressed_float`](Stream::compressed_float), [`compressed_vector`](Stream::compressed_vector) |
/// | `smallest_three = 10` | [`Quaternion`]s | [`smallest_three`](Stream::smallest_three) |
/// | `unit = 12` | [`Vector<3>`](Vector) | [`unit_vector`](Stream::unit_vector) |
/// | `max_len = 31` | `String`, `Vec`, `ArrayString`, `ArrayVec` | the bound; those of fixed capacity have one already; `Vec<u8>` is a [`blob`](Stream::blob) |
/// | `pod` | plain structs, lists of them | [`pod`](Stream::pod) |
/// | `when = self.alive && self.ammo > 0` | any | sent only if it holds; see below |
/// | `default = 7` | fields with `when` or `skip`, fields of variants | the value where nothing is sent, instead of `Default` |
/// | `check = "inventory"` | any | a [`check`](Stream::check) of this name after the field |
/// | `skip` | any | not sent; reading leaves it alone, unless `default` says otherwise |
/// | `derivative_of = position` | numbers and vectors with a range | a hint: the rate of change of that field per second |
/// | `wraps` | numbers with a range | a hint: the end of the range is next to its beginning, as of an angle |
/// | `spatial` | vectors with a range | a hint: what is near by this position moves alike |
/// | `reference` | `spatial` vectors | a hint: others move with objects of this type |
/// | `rotation` | arrays of four ranged integers | a hint: the place of a rotation's largest component, and the codes of the other three |
///
/// Hints are about the field itself, which has up to 32 bits in each component: integers with `range`,
/// `bits` or of a small type, arrays of them, and floats and vectors with `min`, `max` and `resolution`.
/// They make [`Hints`] of the schema, for snapshots. They change no bit of a packet, but two sides with
/// different hints have different [fingerprints](Schema::fingerprint).
///
/// `when` takes any boolean expression over fields that stand before, written as `self.field`, also
/// in a variant. Literals, constants, `!`, `&&`, `||`, comparisons, `&`, `matches!`, `len()`,
/// `is_empty()`, `is_some()` and `is_none()` become part of the schema; anything else works, but
/// packets with it cannot be read by a schema alone. It is evaluated on values from the packet, so
/// it should not be able to panic.
///
/// Both sides must decide alike. So a field that has a `when` itself can only be looked at behind
/// that condition and `&&`, and one that is rounded on its way not at all, but for how many values it
/// has. The macro does not see into a field's own type: of `self.motion.speed`, it is yours to know
/// that it is always sent, and exactly.
///
/// ```
/// use tightwire::{Wire, decode, encode};
///
/// #[derive(Wire, Default, Clone, PartialEq, Debug)]
/// struct Body {
///     #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
///     position: [f32; 3],
///     #[wire(smallest_three = 10)]
///     orientation: [f32; 4],
///     at_rest: bool,
///     #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
///     velocity: [f32; 3],
/// }
///
/// let mut body = Body { orientation: [0.0, 0.0, 0.0, 1.0], at_rest: true, ..Body::default() };
/// let mut buffer = [0; Body::MAX_BYTES];
/// let packet = encode(&body, &mut buffer)?;
/// assert_eq!(packet.len(), 12);
/// assert_eq!(decode::<Body>(packet)?.orientation, body.orientation);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # What does not compile
///
/// A range that is reversed or outside the type, a missing bound, a resolution of zero, a `when`
/// that looks ahead, an unknown attribute: the error points at it and says what to write. So does a
/// type that contains itself, which a packet could nest until the stack is full.
pub use tightwire_derive::Wire;

/// Makes a message of a type that is [`Wire`](trait@Wire) and has a default, for a [`Messenger`].
///
/// `#[message(name = "…")]` gives it another name than that of the type, if two types have the same.
///
/// ```
/// use tightwire::{Message, Wire};
///
/// #[derive(Wire, Message, Default)]
/// #[message(name = "level")]
/// struct Level {
///     #[wire(max_len = 1_000_000)]
///     data: Vec<u8>,
/// }
///
/// assert_eq!(Level::NAME, "level");
/// ```
pub use tightwire_derive::Message;

/// Chapters to read, with code that is tested.
pub mod guide {
    #[doc = include_str!("../guide/describe_your_packets.md")]
    pub mod describe_your_packets {}

    #[doc = include_str!("../guide/define_a_message.md")]
    pub mod define_a_message {}

    #[doc = include_str!("../guide/replicate_a_world.md")]
    pub mod replicate_a_world {}
}

/// What derived code calls.
#[doc(hidden)]
pub mod __private {
    pub use alloc::boxed::Box;
    pub use alloc::vec;
    pub use core;

    pub use crate::stream::Run;
    pub use crate::stream::derived::*;
}
