//! Every error of every crate, as people read it: one snapshot to look at.
#![cfg(all(feature = "inspect", feature = "formats"))]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use tightwire::bits::{BitReadError, BitWriteError};
use tightwire::bytes::ByteError;
use tightwire::inspect::CaptureError;
use tightwire::message::{
    DisconnectedError, MessageError, Messenger, MessengerConfig, RefusedMessageError,
    RegistryError, SendError,
};
use tightwire::packet::{Identity, PacketError, PacketWriteError, Protection, Protocol};
use tightwire::play::{AssetError, InputLayoutError, PlayError, SceneError};
use tightwire::quic::{CertificateError, Fingerprint, QuicError};
use tightwire::recording::RecordingError;
use tightwire::schema::{
    Class, Dynamic, DynamicError, Object, ObjectId, Representation, Schema, SchemaError, World,
    WorldError, WorldSchema,
};
use tightwire::session::{LimitError, SessionError};
use tightwire::snapshot::{self, ProtocolError, ReceiveError, SetError};
use tightwire::stream::{ErrorKind, Op, ReadError, Shape, WriteError};
use tightwire::token::{MintError, TokenError};
use tightwire::transport::conformance::{ConformanceError, End, Fault};
use tightwire::transport::{Cause, Connection, InProcess, NotSentError, Reason, ReconnectError};
use tightwire::{
    Client, Delivery, Message, SessionConfig, Stage, Stream, Target, Wire, encode_explained,
};

#[derive(Wire, Message, Default)]
struct Jump;

#[derive(Wire, Default)]
struct Small {
    #[wire(range = 0..=200)]
    count: u8,
}

fn schema_error() -> SchemaError {
    Schema::new(Shape::Op(Op::Bits { width: 65 })).unwrap_err()
}

fn limit_error() -> LimitError {
    let messenger = MessengerConfig { batch_messages: 300, ..MessengerConfig::default() };
    let config = SessionConfig { messenger, ..SessionConfig::new("arena", "1.0") };
    let client = Client::<(), _>::builder(config).send_only::<Jump>().build(InProcess::pair().0);
    let Err(SessionError::Limit(error)) = client else { panic!("{:?}", client.err()) };
    error
}

fn mismatch_error() -> DynamicError {
    let schema = Schema::of::<Small>();
    schema.encode(&Dynamic::from(true), &mut [0; 8]).unwrap_err()
}

/// A class with a field whose presence would leak a field of the owner.
fn layout_error() -> ProtocolError {
    #[derive(Wire, Default, Clone, PartialEq, Debug)]
    struct Door {
        #[wire(owner)]
        is_open: bool,
        #[wire(when = self.is_open)]
        color: u8,
    }
    snapshot::Protocol::builder(snapshot::Config::default()).class::<Door>().build().unwrap_err()
}

/// Each variant by its name, and its text.
macro_rules! texts {
    ($($type:ident::$variant:ident $(($($value:expr),*))? $({$($field:ident: $named:expr),*})?),* $(,)?) => {
        vec![$((
            concat!(stringify!($type), "::", stringify!($variant)),
            $type::$variant $(($($value),*))? $({$($field: $named),*})?.to_string(),
        )),*]
    };
}

fn core_texts() -> Vec<(&'static str, String)> {
    let read = ReadError { kind: ErrorKind::OutOfRange, bit: 9 };
    let write = WriteError::Value { kind: ErrorKind::OutOfRange, bit: 9 };
    let refused = encode_explained(&Small { count: 250 }, &mut [0; 8]).unwrap_err();
    texts![
        BitWriteError::Full { needed_bits: 90, capacity_bits: 64 },
        BitWriteError::Value { bit: 9 },
        ByteError::Full { byte: 60, needed: 8 },
        ByteError::UnexpectedEnd { byte: 60, needed: 8 },
        ByteError::TrailingData { byte: 60 },
        ByteError::Outside { byte: 60, len: 50 },
        ByteError::Overrun { byte: 60, reserved: 8 },
        ByteError::NotAtEnd { byte: 60, len: 70 },
        ByteError::TooManyReserved { byte: 60 },
        ByteError::Stale,
        ByteError::WrongLength { reserved: 2, given: 4 },
        ByteError::Unfilled { byte: 60 },
        ByteError::Value { kind: ErrorKind::OutOfRange, bit: 9 },
        ByteError::Refused { kind: ErrorKind::OutOfRange, bit: 9 },
        WriteError::Full { needed_bits: 90, capacity_bits: 64 },
        WriteError::Value { kind: ErrorKind::OutOfRange, bit: 9 },
        DynamicError::Read(read),
        DynamicError::Write(WriteError::Full { needed_bits: 90, capacity_bits: 64 }),
        DynamicError::Value(refused),
        WorldError::Read(read),
        PacketError::TooShort { length: 3, minimum: 8 },
        PacketError::WrongProtocol,
        PacketError::Replayed { sequence: 77 },
        PacketError::NotAuthentic,
        PacketError::Malformed(read),
        PacketError::TrailingData { bit: 9 },
        PacketWriteError::Packet(write),
        PacketWriteError::TooLong { length: 70_000, limit: 65_000 },
        PacketWriteError::KeysUsedUp,
    ]
}

fn snapshot_texts() -> Vec<(&'static str, String)> {
    let read = ReadError { kind: ErrorKind::OutOfRange, bit: 9 };
    let refused = encode_explained(&Small { count: 250 }, &mut [0; 8]).unwrap_err();
    let class = || "Door".to_string();
    let tree = mismatch_error();
    texts![
        ProtocolError::Config { setting: "history", value: 8, least: 64 },
        ProtocolError::TooManyClasses,
        ProtocolError::DuplicateClass { class: class() },
        ProtocolError::TooLarge { class: class() },
        ProtocolError::Fingerprint { described: 1, here: 2 },
        SetError::NoClass { name: "Door" },
        SetError::Row { class: 7 },
        SetError::Value { name: "Small", error: refused },
        SetError::Unreadable { name: "Door", error: read },
        SetError::NoSuchClass { class: 7 },
        SetError::Tree { error: tree },
        SetError::TooManyObjects,
        SetError::TickFrozen,
        SetError::IdInQuarantine { id: ObjectId(7) },
        SetError::NoSuchObject { id: ObjectId(7) },
        SetError::AlreadyStarted,
        ReceiveError::Late,
        ReceiveError::UnknownBaseline,
        ReceiveError::Malformed(read),
        ReceiveError::OtherSender { here: 1, sent: 2 },
        ReceiveError::Check { at: 9, sent: 1, computed: 2 },
        ReceiveError::TooManyObjects,
        ReceiveError::Object(tightwire::ObjectId(7)),
    ]
}

fn message_texts() -> Vec<(&'static str, String)> {
    let read = ReadError { kind: ErrorKind::OutOfRange, bit: 9 };
    let refused = encode_explained(&Small { count: 250 }, &mut [0; 8]).unwrap_err();
    let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).build().unwrap();
    let peer = messenger.add_peer(1200);
    texts![
        SendError::NotRegistered { message: "Chat" },
        SendError::NotHandled { message: "Chat" },
        SendError::UnknownPeer(peer),
        SendError::UnknownChannel { message: "Chat", channel: 16 },
        SendError::UnknownObject { message: "Chat", object: (1 << 20).into() },
        SendError::UnknownStage { message: "Chat", stage: Stage::Update },
        SendError::TooLarge {
            message: "Chat",
            delivery: Delivery::Reliable,
            size: 2000,
            limit: 1193
        },
        SendError::NotWritten { message: "Small", error: refused },
        SendError::Blocked(peer),
        SendError::QueueFull(peer),
        SendError::Vetoed { message: "Chat" },
        MessageError::UnknownPeer,
        MessageError::BatchTooLong { length: 2000, limit: 1200 },
        MessageError::NoMessages,
        MessageError::BatchSize { declared: 90, actual: 80 },
        MessageError::BeyondBatch { size: 90, left: 80 },
        MessageError::UnknownMessage { number: 77 },
        MessageError::UnknownStage { stage: 9 },
        MessageError::UnknownChannel { channel: 16 },
        MessageError::Malformed(read),
        MessageError::QueueFull(Stage::Update),
        MessageError::NotDrained,
        MessageError::PeerLimit,
        MessageError::Handler,
        MessageError::Vetoed,
        RegistryError::SameName("Chat"),
        RegistryError::Twice("Chat"),
        RegistryError::TooMany(300),
        RegistryError::Limit(limit_error()),
    ]
}

fn network_texts() -> Vec<(&'static str, String)> {
    let text = |text: &str| text.to_string();
    let full = NotSentError::Full { backlog: 70_000 };
    let connection = Connection(7);
    let delivery = Delivery::Reliable;
    texts![
        NotSentError::NotConnected(connection),
        NotSentError::TooLarge { size: 2000, limit: 1200 },
        NotSentError::Full { backlog: 70_000 },
        ReconnectError::Unsupported,
        ReconnectError::Connected,
        ReconnectError::TokenTooLong { size: 3000, limit: 2048 },
        ReconnectError::Failed(Cause::text("WHY")),
        Reason::Left,
        Reason::TimedOut,
        Reason::Full,
        Reason::Busy,
        Reason::Kicked(text("TEXT")),
        Reason::ShuttingDown,
        Reason::Mismatch(text("TEXT")),
        Reason::Token(TokenError::Expired),
        Reason::Certificate(text("TEXT")),
        Reason::TooSlow,
        Reason::Forgotten,
        Reason::Failed(text("TEXT")),
        Reason::Replaced,
        TokenError::Missing,
        TokenError::NotGenuine,
        TokenError::Expired,
        TokenError::WrongServer,
        TokenError::Used,
        TokenError::TooMany,
        TokenError::TooLong,
        TokenError::AlreadyConnected,
        MintError::ServerTooLong(300),
        MintError::ServerHasZero,
        MintError::UserDataTooLong(600),
        MintError::Expired,
        MintError::TooLarge,
        MintError::NoRandomNumbers,
        CertificateError::Name(text("ga me")),
        CertificateError::NoCertificate("the chain"),
        CertificateError::NoKey,
        CertificateError::Damaged("the key"),
        CertificateError::Unreadable { part: "the key", reason: Cause::text("WHY") },
        CertificateError::OtherKey,
        CertificateError::NobodyTrusted,
        CertificateError::Failed(Cause::text("WHY")),
        QuicError::Certificate(CertificateError::NoKey),
        QuicError::Address { server: ([127, 0, 0, 1], 7777).into(), reason: Cause::text("WHY") },
        QuicError::Socket { address: ([127, 0, 0, 1], 7777).into(), reason: Cause::text("WHY") },
        QuicError::Limit(limit_error()),
        SessionError::Messages(RegistryError::Twice("Chat")),
        SessionError::Schema(schema_error()),
        SessionError::Limit(limit_error()),
        SessionError::NoMessages,
        SessionError::NoAdmission,
        PlayError::Session(SessionError::NoAdmission),
        PlayError::Classes(ProtocolError::TooManyClasses),
        PlayError::Input(ProtocolError::TooManyClasses),
        PlayError::InputLayout(InputLayoutError::Groups),
        PlayError::NeutralInput(SetError::Row { class: 0 }),
        PlayError::Limit(limit_error()),
        PlayError::NoRandomNumbers,
        InputLayoutError::TooManyColumns { columns: 65 },
        InputLayoutError::Groups,
        SceneError::Set(SetError::TickFrozen),
        SceneError::NotSimulated { id: ObjectId(7) },
        SceneError::TooManySpawns,
        AssetError::TooLarge { length: 70_000_000, limit: 67_108_864 },
        AssetError::NameTooLong { length: 300, limit: 255 },
        AssetError::TooMany { limit: 64 },
        AssetError::Unknown { id: 7 },
        AssetError::BadRequest { id: 7 },
        AssetError::BadOffer { id: 7 },
        AssetError::BadChunk { id: 7 },
        AssetError::Corrupt { id: 7 },
        RecordingError::Io(io::Error::other("WHY")),
        RecordingError::NotARecording,
        RecordingError::Version(9),
        RecordingError::Corrupt { record: 7 },
        RecordingError::Diverged { record: 7, action: "sent a batch" },
        CaptureError::Truncated { at: 70 },
        CaptureError::Io { at: 70, error: io::Error::other("WHY") },
        Fault::NotConnected,
        Fault::ConnectedTwice,
        Fault::Ended(Reason::Left),
        Fault::NoSuchConnection("pause"),
        Fault::Order { delivery: delivery, number: 3, after: 4 },
        Fault::Twice { delivery: delivery, number: 3 },
        Fault::Lost { delivery: delivery, arrived: 8, sent: 9, first: Some(3) },
        Fault::Changed { delivery: delivery, size: 70 },
        Fault::Refused(delivery, full),
        Fault::NotRefused { expected: "TooLarge", result: Err(full) },
        Fault::Unbounded { delivery: delivery, accepted: 1 << 20 },
        Fault::NotPaused(delivery),
        Fault::HeldBack(delivery),
        Fault::CloseNotHeard,
        Fault::OtherReason { sent: Reason::Left, received: Reason::Full },
        Fault::AfterEnd { arrived: 8, sent: 9 },
        Fault::EventAfterClose,
        Fault::Stuck(Duration::from_secs(9)),
    ]
}

const KINDS: [(&str, ErrorKind); 16] = [
    ("UnexpectedEnd", ErrorKind::UnexpectedEnd),
    ("Full", ErrorKind::Full),
    ("OutOfRange", ErrorKind::OutOfRange),
    ("Padding", ErrorKind::Padding),
    ("MalformedText", ErrorKind::MalformedText),
    ("InteriorNul", ErrorKind::InteriorNul),
    ("NotIncreasing", ErrorKind::NotIncreasing),
    ("Overlong", ErrorKind::Overlong),
    ("NotFinite", ErrorKind::NotFinite),
    ("NotUnit", ErrorKind::NotUnit),
    ("CheckFailed", ErrorKind::CheckFailed),
    ("TrailingData", ErrorKind::TrailingData),
    ("Misuse", ErrorKind::Misuse),
    ("Undescribed", ErrorKind::Undescribed),
    ("Mismatch", ErrorKind::Mismatch),
    ("Custom", ErrorKind::Custom),
];

#[test]
fn every_error_has_a_text_for_people() {
    let mut texts: Vec<(String, String)> = KINDS
        .map(|(name, kind)| (format!("ErrorKind::{name}"), ReadError { kind, bit: 9 }.to_string()))
        .into();
    for list in [core_texts(), snapshot_texts(), message_texts(), network_texts(), real_texts()] {
        texts.extend(list.into_iter().map(|(name, text)| (name.to_string(), text)));
    }
    let named: BTreeSet<String> = texts.iter().map(|(name, _)| name.clone()).collect();
    let source = variants_in_source();
    let differ: Vec<_> = named.symmetric_difference(&source).collect();
    assert!(differ.is_empty(), "not in this test, or no longer in the source: {differ:?}");

    let mut messenger = Messenger::<()>::builder(MessengerConfig::default()).build().unwrap();
    let peer = messenger.add_peer(1200);
    let (here, there) = ("1.0", "1.1");
    let identity = |version| Identity::new("arena", version, Protection::None, Schema::of::<u8>());
    let mismatch = identity(here).mismatch(&identity(there)).unwrap();
    let structs = [
        ("BitReadError", BitReadError.to_string()),
        ("ConformanceError", {
            let fault = Fault::NotConnected;
            ConformanceError { check: "traffic", end: End::Server, fault }.to_string()
        }),
        ("DisconnectedError", DisconnectedError.to_string()),
        (
            "ExplainedError",
            encode_explained(&Small { count: 250 }, &mut [0; 8]).unwrap_err().to_string(),
        ),
        ("ExplainedPacketError", {
            let mut protocol = Protocol::<Small>::new("arena", "1.0", Protection::None);
            protocol.read_explained(&[201], &mut Small::default()).unwrap_err().to_string()
        }),
        ("ExplainedPacketWriteError", {
            let mut protocol = Protocol::<Small>::new("arena", "1.0", Protection::None);
            protocol.write_explained(&Small { count: 250 }, &mut [0; 64]).unwrap_err().to_string()
        }),
        ("ExplainedPacketWriteError", {
            let mut protocol = Protocol::<Small>::new("arena", "1.0", Protection::Id);
            protocol.write_explained(&Small { count: 50 }, &mut [0; 8]).unwrap_err().to_string()
        }),
        ("HexError", "xyz".parse::<Fingerprint>().unwrap_err().to_string()),
        ("LimitError", limit_error().to_string()),
        ("MismatchError", mismatch.to_string()),
        ("RefusedMessageError", {
            let (message, fault) = (Some("Chat"), MessageError::Handler);
            RefusedMessageError { peer, message, fault }.to_string()
        }),
        ("SchemaError", schema_error().to_string()),
    ];
    texts.extend(structs.map(|(name, text)| (name.to_string(), text)));
    texts.extend(reasons());
    texts.extend(log_texts());
    let mut all = String::new();
    for (name, text) in &texts {
        assert!(!text.trim().is_empty(), "{name}");
        writeln!(all, "{name}\n    {}", text.trim_end().replace('\n', "\n    ")).unwrap();
    }
    insta::assert_snapshot!(all);
}

/// An error and the text of its source.
macro_rules! sources {
    ($($error:expr => $source:expr),* $(,)?) => {
        vec![$((format!("{:?}", $error), source_of(&$error), $source.to_string())),*]
    };
}

fn source_of(error: &dyn std::error::Error) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn errors_have_the_error_that_caused_them() {
    let read = ReadError { kind: ErrorKind::OutOfRange, bit: 9 };
    let write = WriteError::Value { kind: ErrorKind::OutOfRange, bit: 9 };
    let bad = Small { count: 250 };
    let refused = || encode_explained(&bad, &mut [0; 8]).unwrap_err();
    let mut protocol = Protocol::<Small>::new("arena", "1.0", Protection::None);
    let io = || io::Error::other("WHY");
    let ProtocolError::Layout { error: layout, .. } = layout_error() else { panic!("no layout") };
    let found = sources![
        DynamicError::Read(read) => read,
        DynamicError::Write(write) => write,
        DynamicError::Value(refused()) => refused(),
        WorldError::Read(read) => read,
        PacketError::Malformed(read) => read,
        PacketWriteError::Packet(write) => write,
        protocol.read_explained(&[201], &mut Small::default()).unwrap_err()
            => "Small.count at bit 0: 201 is not in 0..=200",
        protocol.write_explained(&bad, &mut [0; 64]).unwrap_err() => refused(),
        layout_error() => layout,
        SetError::Value { name: "Small", error: refused() } => refused(),
        SetError::Unreadable { name: "Door", error: read } => read,
        SetError::Tree { error: mismatch_error() } => mismatch_error(),
        ReceiveError::Malformed(read) => read,
        SendError::NotWritten { message: "Small", error: refused() } => refused(),
        MessageError::Malformed(read) => read,
        RegistryError::Limit(limit_error()) => limit_error(),
        SessionError::Messages(RegistryError::Twice("Chat")) => RegistryError::Twice("Chat"),
        SessionError::Schema(schema_error()) => schema_error(),
        SessionError::Limit(limit_error()) => limit_error(),
        PlayError::Session(SessionError::NoMessages) => SessionError::NoMessages,
        PlayError::Classes(ProtocolError::TooManyClasses) => ProtocolError::TooManyClasses,
        PlayError::Input(ProtocolError::TooManyClasses) => ProtocolError::TooManyClasses,
        PlayError::InputLayout(InputLayoutError::Groups) => InputLayoutError::Groups,
        PlayError::NeutralInput(SetError::Row { class: 0 }) => SetError::Row { class: 0 },
        PlayError::Limit(limit_error()) => limit_error(),
        SceneError::Set(SetError::TickFrozen) => SetError::TickFrozen,
        QuicError::Certificate(CertificateError::NoKey) => CertificateError::NoKey,
        QuicError::Limit(limit_error()) => limit_error(),
        Reason::Token(TokenError::Expired) => TokenError::Expired,
        RecordingError::Io(io()) => io(),
        CaptureError::Io { at: 70, error: io() } => io(),
    ];
    for (error, source, expected) in found {
        assert_eq!(source, expected, "{error}");
    }
}

#[test]
fn texts_from_the_other_side_keep_quotes_and_have_no_control_characters() {
    let reason = Reason::kicked("\"cheats\" aren't allowed\u{1b}[2J");
    assert_eq!(reason.to_string(), "kicked: \"cheats\" aren't allowed\\u{1b}[2J");
}

/// Texts of the variants that carry a text: from refused values, or every text in the source.
fn real_texts() -> Vec<(&'static str, String)> {
    let schema = WorldSchema::new(vec![Class::of::<Small>().unwrap()]).unwrap();
    let mut world = World::new(0.0);
    world.insert(Object::of(1, &Small::default()).unwrap());
    *world.get_mut(1).unwrap().get_mut("count").unwrap() = true.into();
    let text = World::read(Representation::Text, b"0\n7:3", &schema).unwrap_err();
    let by_hand = Schema::of::<ByHand>().decode(&[0]).unwrap_err();
    let mut texts = vec![
        ("DynamicError::Mismatch", mismatch_error().to_string()),
        ("DynamicError::Undescribed", by_hand.to_string()),
        ("WorldError::Text", text.to_string()),
        ("WorldError::Refused", world.quantised(&schema).unwrap_err().to_string()),
        ("ProtocolError::Layout", layout_error().to_string()),
    ];
    let mut add = |name, crate_name, before: &str, text: fn(String) -> String| {
        let found = literals_in_source(crate_name, before);
        assert!(!found.is_empty(), "no text of {name}");
        texts.extend(found.into_iter().map(|found| (name, text(found))));
    };
    let violation = |text: String| Reason::violation(&text).to_string();
    for before in
        ["return Err(", "Err(Some(", "ok_or(Some(", "then_some(", "Step::violation(from, "]
    {
        add("Reason::Violation", "tightwire-net", before, violation);
    }
    add("CaptureError::Malformed", "tightwire-inspect", ".malformed(", |reason| {
        CaptureError::Malformed { at: 70, reason: Box::leak(reason.into_boxed_str()) }.to_string()
    });
    add("Fault::Path", "tightwire-net", "Fault::Path(", |text| {
        Fault::Path(Box::leak(text.into_boxed_str())).to_string()
    });
    texts
}

/// Texts within `SchemaError` and `ProtocolError::Layout`, as the source has them, with placeholders.
fn reasons() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let places = [
        ("SchemaError", "core", "schema/validate.rs"),
        ("Layout", "snapshot", "layout/build.rs"),
        ("Layout", "snapshot", "layout/condition.rs"),
    ];
    for (name, crate_name, file) in places {
        let count = texts.len();
        for before in ["Err(format!(", "Err(", "Err(refused(", "        format!("] {
            let path = format!("tightwire-{crate_name}/src/{file}");
            let source = fs::read_to_string(crates().join(path)).unwrap();
            let found = literals_after(&source, before).into_iter();
            texts.extend(found.map(|text| (format!("{name}, reason"), text)));
        }
        assert!(texts.len() > count, "no text in {file}");
    }
    texts
}

/// Texts that a program logs, as the source has them, with placeholders.
fn log_texts() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for crate_name in ["tightwire-net", "bevy_tightwire"] {
        let count = texts.len();
        for level in ["info", "warn", "error"] {
            let found = literals_in_source(crate_name, &format!("log::{level}!("));
            texts.extend(found.into_iter().map(|text| (format!("{crate_name}, {level}"), text)));
        }
        assert!(texts.len() > count, "no text of {crate_name}");
    }
    texts
}

/// A type that no schema describes.
#[derive(Default)]
struct ByHand;

impl Wire for ByHand {
    fn serialize<S: Stream>(_: Target<'_, S::Access, Self>, _: &mut S) -> Result<(), S::Error> {
        Ok(())
    }
}

/// The string literals that follow `before` in the source of a crate, without tests.
fn literals_in_source(crate_name: &str, before: &str) -> BTreeSet<String> {
    sources(crate_name).iter().flat_map(|source| literals_after(source, before)).collect()
}

/// The string literals that follow `before` in a source file, without its tests.
fn literals_after(source: &str, before: &str) -> BTreeSet<String> {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let literals = source.split(before).skip(1).filter_map(|rest| {
        let (literal, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        // A literal of several lines.
        let lines: Vec<_> = literal.split("\\\n").map(str::trim_start).collect();
        Some(lines.concat())
    });
    literals.collect()
}

/// The variants of all public enums that are errors, as the source declares them.
fn variants_in_source() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in ["tightwire-core", "tightwire-snapshot", "tightwire-net", "tightwire-inspect"] {
        sources(name).iter().for_each(|source| variants_of(source, &mut found));
    }
    found
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The source files of a crate.
fn sources(crate_name: &str) -> Vec<String> {
    let (mut folders, mut sources) = (vec![crates().join(crate_name).join("src")], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

fn variants_of(source: &str, found: &mut BTreeSet<String>) {
    let mut inside = None;
    for line in source.lines() {
        if let Some(rest) = line.strip_prefix("pub enum ") {
            let name = rest.split([' ', '<', '{']).next().unwrap();
            let is_error =
                name.ends_with("Error") || ["ErrorKind", "Reason", "Fault"].contains(&name);
            inside = is_error.then(|| name.to_string());
        } else if line == "}" {
            inside = None;
        } else if let (Some(name), Some(variant)) = (&inside, line.strip_prefix("    "))
            && variant.starts_with(|first: char| first.is_ascii_uppercase())
        {
            let variant = variant.split([' ', ',', '(', '{']).next().unwrap();
            found.insert(format!("{name}::{variant}"));
        }
    }
}
