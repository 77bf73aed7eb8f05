//! Netcode of real-time multiplayer games.
//!
//! A type declares its wire form once, and gets writing, reading, measuring, tracing and a schema
//! from it. A value takes the bits that its range needs. A malicious packet is refused: no input
//! panics, over-allocates, loops or is read past its end.
//!
//! No layer below the transports owns a socket, a clock or a thread: time is an argument. The names
//! that most programs use are at the root; each layer is a module, and this page is a tour of them.
//! `docs/WIRE.md` in the repository specifies the format to the bit. Without default features the
//! crate packs bits, `no_std` + `alloc`; the features `snapshot`, `net`, `quic` and `inspect` add
//! layers.
//!
//! # The two functions that most programs need
//!
//! [`encode`] and [`decode`] are for any type that is [`Wire`](trait@Wire). Derive it: the page of
//! the [derive](derive@Wire) explains the attributes, and the guide
//! [`describe_your_packets`](guide::describe_your_packets) takes a packet from a plain struct to
//! the fewest bits.
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
//! [`BitWriter`](bits::BitWriter) and [`BitReader`](bits::BitReader) move fields of 0 to 64 bits in
//! and out of a byte slice of any length, a word at a time. They have no ranges and no types; use
//! them for a format of your own. [`bits_required`](bits::bits_required) returns the width of a
//! range.
//!
//! ```
//! use tightwire::bits::{BitReader, BitWriter};
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
//! [`Stream`] lists every operation: integers, floats, vectors, rotations, strings, arrays, subsets
//! of arrays, checks. One serialize function runs on any stream, and takes a [`Target`]: a shared
//! reference for a stream that writes, a unique one for a stream that reads. [`at!`] projects it to
//! a field. See [`Wire`](trait@Wire) for such a function. The streams:
//!
//! * [`WriteStream`](stream::WriteStream) writes and cannot fail on the way; its `finish` returns
//!   an error if the buffer was too small or a value was out of its range.
//! * [`ReadStream`](stream::ReadStream) reads from the bytes that arrived, and refuses an invalid
//!   value at once, with the reason and the bit.
//! * [`MeasureStream`](stream::MeasureStream) counts the most bits that a value takes.
//! * [`TraceStream`](stream::TraceStream) runs another stream and records each operation with its name, bits and value.
//! * [`ByteStream`](stream::ByteStream) runs another stream in whole bytes, without packing.
//!
//! A stream does not frame, checksum, encrypt or send.
//!
//! ```
//! use tightwire::{FloatRange, Stream};
//! use tightwire::stream::{ReadStream, WriteStream};
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
//! [`ByteWriter`](bytes::ByteWriter) and [`ByteReader`](bytes::ByteReader) move whole bytes: plain
//! structs in one copy, primitives, packed integers, text, slices, and sections of bits between
//! them. Each operation has its own bounds check, or [`reserve`](bytes::ByteWriter::reserve) and
//! [`require`](bytes::ByteReader::require) check once for many. Space that is [set
//! aside](bytes::ByteWriter::set_aside) is filled when its contents are known, and a
//! [`GrowingBuffer`](bytes::GrowingBuffer) grows up to a maximum. This layer has no batches, queues
//! or messages.
//!
//! [`Packing`](bytes::Packing) is a setting of a protocol: values in the fewest bits, or in whole
//! bytes as a [`ByteStream`](stream::ByteStream) writes them, so that a hex dump can be read.
//!
//! ```
//! use tightwire::bytes::{ByteReader, ByteWriter, Packing};
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
//! # Ok::<(), tightwire::bytes::ByteError>(())
//! ```
//!
//! # Errors and traces
//!
//! The errors of the hot path are small: a reason and a bit. To get the name of the field, use
//! [`decode_explained`] and [`encode_explained`], or
//! [`ReadError::explain`](stream::ReadError::explain) and
//! [`WriteError::explain`](stream::WriteError::explain). Only a refusal costs time: the same
//! function then runs again under a trace.
//!
//! [`explain`] and [`explain_write`](stream::explain_write) return the [`Trace`](stream::Trace) of
//! any packet: a tree of every field with its path, its bits and its value, and where and why the
//! packet was refused. `Display` draws it, [`Trace::colored`](stream::Trace::colored) draws it in
//! colours, and with the feature `serde` it is JSON. Text from the network is escaped in all of
//! them.
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
//!
//! # schema
//!
//! A [`Schema`](schema::Schema) is the layout of a type as data. It reads and writes packets
//! without the Rust types, into a tree of values, [`Dynamic`](schema::Dynamic). Its
//! [`fingerprint`](schema::Schema::fingerprint) is a protocol id that changes when the bytes do;
//! its [`diff`](schema::Schema::diff) explains why two sides do not understand each other. A schema
//! can be sent, and is JSON with the feature `serde`.
//!
//! A schema from outside is validated before it is used, and neither a schema nor a packet can
//! cause work or memory out of proportion to the size of the packet. A schema cannot run code that
//! only the program has: types whose `Wire` is written by hand, and conditions that are not data.
//!
//! ```
//! use tightwire::Wire;
//! use tightwire::schema::Schema;
//!
//! #[derive(Wire)]
//! struct Player {
//!     #[wire(range = 0..=100)]
//!     health: u8,
//!     alive: bool,
//! }
//!
//! let schema = Schema::of::<Player>();
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
//! A [`World`](schema::World) is a time and objects, each of a class of the
//! [`WorldSchema`](schema::WorldSchema). The schema is sent once, so that worlds contain only
//! values. A class is made from a derived type, or from fields that were read from a file. The same
//! world has several [`Representation`](schema::Representation)s: bits for the network; bytes, and
//! with the feature `formats` XML, JSON, JSON relative to the schema and compact text, to see what
//! the bits save. Each reads back to the same world.
//!
//! A world is one state. For deltas between states there are [snapshots](#snapshot).
//!
//! ```
//! use tightwire::Wire;
//! use tightwire::schema::{Class, Object, Representation, World, WorldSchema};
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
//! A [`snapshot::Sender`] replicates a world of objects to many receivers over a network that loses
//! packets. Each packet has the deltas of the objects that are dirty for its receiver, in as few
//! bytes as a model of the objects allows, within a budget, the highest priority first. A
//! [`snapshot::Receiver`] has the world, and a [`Playback`](snapshot::Playback) interpolates it
//! smoothly; a [`snapshot::Trace`] explains each bit of a packet. Start with the guide
//! [`replicate_a_world`](guide::replicate_a_world).
//!
//! This layer sends nothing: packets go over any transport, and may be lost.
//!
//! ```
//! use tightwire::{snapshot, Wire};
//! use tightwire::snapshot::Leaving;
//!
//! #[derive(Wire, Default)]
//! struct Door {
//!     open: bool,
//! }
//!
//! let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build()?;
//! let mut sender = snapshot::Sender::new(&protocol);
//! let client = sender.add_receiver(Leaving::Despawn);
//! sender.begin_tick(1);
//! sender.set(7, &Door { open: true })?;
//! let packet = sender.snapshot(client, 1000).unwrap();
//!
//! let mut receiver = snapshot::Receiver::new(&protocol);
//! receiver.handle_snapshot(packet)?;
//! assert!(receiver.get::<Door>(7).unwrap().open);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # packet
//!
//! A [`Protocol`](packet::Protocol) turns packets into datagrams and back, in the caller's buffers.
//! Its [`Protection`](packet::Protection) refuses datagrams of other games and versions, damaged
//! datagrams and, with [`Keys`](packet::Keys), forged ones. A refused datagram is a
//! [`PacketError`](packet::PacketError) with its reason, and is [counted](packet::Counters). Two
//! sides that refuse each other can exchange their [`Identity`](packet::Identity), and the
//! [`MismatchError`](packet::MismatchError) lists the differences, down to the field.
//!
//! This layer sends nothing: datagrams go to a socket, or over any transport.
//!
//! ```
//! use tightwire::Wire;
//! use tightwire::packet::{Protection, Protocol, PacketError};
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
//! assert_eq!(server.read(&datagram[1..], &mut packet), Err(PacketError::WrongProtocol));
//! assert_eq!(server.counters().to_string(), "0 written, 1 read, 1 refused (1 wrong protocol)");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # message
//!
//! A [`Message`] is a struct that is sent on its own, to one peer, to many, or to the local side. A
//! [`Messenger`](message::Messenger) writes messages into batches for each peer and [`Delivery`],
//! and gives the batches to a transport at the end of the frame. Received messages wait in bounded
//! queues until their [`Stage`] runs, which calls their handlers. Start with the guide
//! [`define_a_message`](guide::define_a_message).
//!
//! This layer is not a transport: the transport keeps the promise of a delivery.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};
//! use tightwire::message::{Messenger, MessengerConfig};
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
//! # session
//!
//! A [`Server`] and its [`Client`]s put a [`Messenger`](message::Messenger) on a transport: they
//! connect with a token and a protocol id, refuse each other with reasons, bound their backlogs,
//! and report the state of each peer. `docs/WIRE.md` specifies the session's own messages.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::transport::InProcess;
//! use tightwire::{Client, Message, Server, SessionConfig, Wire};
//!
//! #[derive(Wire, Message, Default)]
//! struct Jump;
//!
//! let (client_end, server_end) = InProcess::pair();
//! let config = SessionConfig::new("arena", "1.0");
//! let mut server = Server::<(), _>::builder(config.clone())
//!     .send_only::<Jump>()
//!     .open_to_anyone()
//!     .build(server_end)?;
//! let mut client = Client::<(), _>::builder(config).send_only::<Jump>().build(client_end)?;
//! for millisecond in 0..20 {
//!     let now = Duration::from_millis(millisecond);
//!     server.receive(now, &mut ());
//!     server.transmit(now);
//!     client.receive(now, &mut ());
//!     client.transmit(now);
//! }
//! assert_eq!(server.peers().count(), 1);
//! # Ok::<(), tightwire::session::SessionError>(())
//! ```
//!
//! # play
//!
//! A [`Game`](play::Game) declares its objects, its input and its messages, and steps its world in
//! one function on both sides. The layer does the rest: replication within each peer's budget,
//! relevancy and ownership, clocks, inputs that survive loss, prediction and reconciliation, lag
//! compensation, messages in step with the world, and reconnection. See the module [`play`], and
//! the guide [`make_a_game`](guide::make_a_game). A program that needs only messages, or only
//! snapshots, uses those layers alone.
//!
//! # transport
//!
//! A [`Transport`](transport::Transport) carries batches and keeps the promise of their
//! [`Delivery`]. It owns no thread, no runtime and no clock: time is an argument. There are two,
//! and [`conformance::run`](transport::conformance::run) tests any other:
//!
//! * [`Quic`](quic::Quic) over a [`Udp`](quic::Udp) socket, or over a simulated [`Network`](quic::Network) on a virtual clock;
//! * [`InProcess`](transport::InProcess), two ends in one process with queues between them, for single player and tests.
//!
//! # token
//!
//! A [`TokenKey`](token::TokenKey) makes connect tokens at the game's backend, and a
//! [`TokenGate`](token::TokenGate) redeems each of them once. A server authenticates with a
//! [`Certificate`](quic::Certificate), and [`Trust`](quic::Trust) decides which certificates a
//! client accepts.
//!
//! # recording
//!
//! A [`Recorder`](recording::Recorder) writes everything that a session sees into a file, and a
//! [`Replay`](recording::Replay) is a transport that plays the file: the session reaches the same
//! state again, or the same crash.
//!
//! # link
//!
//! A [`Link`](link::Link) simulates a bad network for tests: it delays, loses, duplicates, reorders
//! and corrupts datagrams by its [`LinkConfig`](link::LinkConfig), and for the same seed always in
//! the same way. It has no clock: time is an argument.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::link::{Link, LinkConfig};
//!
//! let latency = Duration::from_millis(50);
//! let mut link = Link::new(LinkConfig { latency, loss: 0.02, ..LinkConfig::default() }, 1);
//! link.handle_datagram(Duration::ZERO, b"hello");
//! assert_eq!(link.poll_datagram(latency), Some(&b"hello"[..]));
//! ```
//!
//! # inspect
//!
//! With the feature `inspect`, a [`CaptureWriter`](inspect::CaptureWriter) writes every datagram
//! with its time and direction into a pcapng file, which Wireshark and other tools open, and a
//! [`Capture`](inspect::Capture) reads the file again, one record at a time. A
//! [`Captured`](inspect::Captured) transport does the same for the messages of a session. The file
//! contains the [`Identity`](packet::Identity) of the protocol, so that a tool reads the packets
//! without the program; an [`Xray`](inspect::Xray) shows one packet bit by bit, for web pages.
//!
//! ```
//! # #[cfg(feature = "inspect")]
//! # fn main() -> Result<(), Box<dyn core::error::Error>> {
//! use std::time::Duration;
//! use tightwire::inspect::{Capture, CaptureWriter, Direction};
//! use tightwire::packet::{Protection, Protocol};
//!
//! let mut protocol = Protocol::<[u8; 3]>::new("arena", "1.0", Protection::Crc32);
//! let mut buffer = [0; Protocol::<[u8; 3]>::MAX_BYTES];
//! let datagram = protocol.write(&[7, 8, 9], &mut buffer)?;
//!
//! let (server, client) = ("10.0.0.1:7777".parse()?, "10.0.0.2:4242".parse()?);
//! let mut recorder = CaptureWriter::new(Vec::new(), protocol.identity())?;
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
//! # #[cfg(not(feature = "inspect"))]
//! # fn main() {}
//! ```
//!
//! # Names that other crates have too
//!
//! [`Message`] and [`Context`] are also names of Bevy and of other crates: import the module and
//! write `message::Message`, or rename by `use tightwire::Message as NetMessage`; the derive is
//! found by either name. There is no alias `Result`. [`Client`] and [`Server`] are those of
//! sessions; a game has [`play::Client`] and [`play::Server`], which own a session: import one pair
//! only.
//!
//! Some concepts exist in two layers, and have one name in both: [`packet::Protocol`] and
//! [`snapshot::Protocol`], [`stream::Trace`] and [`snapshot::Trace`], [`schema::Class`] and
//! [`play::Class`], [`schema::World`] and [`play::World`]. Write these with their module.
#![cfg_attr(not(feature = "std"), no_std)]
// The tour covers all features.
#![cfg_attr(
    not(all(feature = "quic", feature = "inspect")),
    allow(rustdoc::broken_intra_doc_links)
)]

pub use tightwire_core::schema::ObjectId;
pub use tightwire_core::stream::{
    FloatRange, Stream, Target, decode, decode_explained, decode_into, encode, encode_explained,
    explain, measure,
};
pub use tightwire_core::{Wire, at, bits, bytes, packet, schema, stream};
#[cfg(feature = "inspect")]
#[doc(inline)]
pub use tightwire_inspect as inspect;
#[cfg(feature = "net")]
pub use tightwire_net::message::{Context, Delivery, PeerId, Stage};
#[cfg(feature = "net")]
pub use tightwire_net::session::{Client, Server, SessionConfig, SessionEvent};
#[cfg(feature = "net")]
pub use tightwire_net::{Message, link, message, play, quic, recording, session, token, transport};
#[cfg(feature = "snapshot")]
#[doc(inline)]
pub use tightwire_snapshot as snapshot;

/// Chapters of a guide, with tested code.
pub mod guide {
    #[doc = include_str!("../guide/describe_your_packets.md")]
    pub mod describe_your_packets {}

    #[doc = include_str!("../guide/send_datagrams.md")]
    pub mod send_datagrams {}

    #[doc = include_str!("../guide/define_a_message.md")]
    pub mod define_a_message {}

    #[doc = include_str!("../guide/replicate_a_world.md")]
    pub mod replicate_a_world {}

    #[doc = include_str!("../guide/over_the_wire.md")]
    pub mod over_the_wire {}

    #[doc = include_str!("../guide/make_a_game.md")]
    pub mod make_a_game {}
}

/// Compiles and runs the README's examples with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Paths that derived code uses.
#[doc(hidden)]
pub mod __private {
    pub use tightwire_core::__private::*;
    #[cfg(feature = "net")]
    pub use tightwire_net::message::Message;
}
