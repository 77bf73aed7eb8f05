//! Identities: compatible builds, and explanations for the others.

use tightwire::bytes::Packing;
use tightwire::packet::{Identity, Keys, PacketError, Protection, Protocol};
use tightwire::{Wire, decode, encode};

/// The packets of one build.
mod version_1 {
    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(crate) enum Packet {
        #[default]
        KeepAlive,
        Spawn {
            player: Player,
        },
    }

    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(crate) struct Player {
        #[wire(range = 0..=100)]
        pub(crate) health: u8,
        #[wire(max_len = 15)]
        pub(crate) name: String,
    }
}

/// The packets of the next build: with more health, a longer name, and one packet more.
mod version_2 {
    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(crate) enum Packet {
        #[default]
        KeepAlive,
        Spawn {
            player: Player,
        },
        Despawn,
    }

    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(crate) struct Player {
        #[wire(range = 0..=200)]
        pub(crate) health: u8,
        #[wire(max_len = 31)]
        pub(crate) name: String,
    }
}

/// The packets of the first build with other names, which are not sent.
mod renamed {
    #[derive(tightwire::Wire, Default)]
    pub(crate) enum Message {
        #[default]
        Ping,
        #[allow(dead_code)]
        Enter { who: Avatar },
    }

    #[derive(tightwire::Wire, Default)]
    pub(crate) struct Avatar {
        #[wire(range = 0..=100)]
        hit_points: u8,
        #[wire(max_len = 15)]
        nick: String,
    }
}

/// Returns the two sides of a protocol for each protection but none.
fn protocols<P: Wire>(version: &str) -> [[Protocol<P>; 2]; 3] {
    let both = |protections: [Protection; 2]| {
        protections.map(|protection| Protocol::new("arena", version, protection))
    };
    let (sent, answered) = ([1; 32], [2; 32]);
    [
        both([Protection::Id, Protection::Id]),
        both([Protection::Crc32, Protection::Crc32]),
        both([
            Protection::Sealed(Keys::client(sent, answered)),
            Protection::Sealed(Keys::server(sent, answered)),
        ]),
    ]
}

#[test]
fn a_packet_of_version_1_is_refused_by_version_2_which_can_say_why() {
    let old = protocols::<version_1::Packet>("7");
    // The same version string: the layout alone tells them apart.
    let new = protocols::<version_2::Packet>("7");
    let mut buffer = [0; 256];
    for ([mut old, _], [_, mut new]) in old.into_iter().zip(new) {
        let player = version_1::Player { health: 77, name: "Ada".into() };
        let datagram = old.write(&version_1::Packet::Spawn { player }, &mut buffer).unwrap();
        let refused = new.read(datagram, &mut version_2::Packet::default()).unwrap_err();
        assert!(
            matches!(refused, PacketError::WrongProtocol | PacketError::NotAuthentic),
            "{refused}"
        );

        // The old side's identity arrives, as a packet.
        let mut sent = [0; 512];
        let sent = encode(&old.identity().clone(), &mut sent).unwrap();
        let received: Identity = decode(sent).unwrap();
        let mismatch = new.identity().mismatch(&received).unwrap().to_string();
        let (here, there) = (new.identity().id(), old.identity().id());
        let expected = format!(
            "protocol {here:016x} here, {there:016x} there:
  Packet: 3 variants (2 bits) here, 2 variants (1 bit) there
  Packet.Spawn.player.health: range 0..=200 (8 bits) here, 0..=100 (7 bits) there
  Packet.Spawn.player.name: string up to 31 (up to 260 bits) here, string up to 15 (up to 131 bits) there
  Packet.Despawn: only here: variant 2
"
        );
        assert_eq!(mismatch, expected);
    }
}

#[test]
fn every_difference_is_reported() {
    let schema = tightwire::schema::Schema::of::<version_1::Packet>();
    let here = Identity::new("arena", "1.0", Protection::Crc32, schema.clone());
    let there = Identity::new("du\u{1b}el", "1.1", Protection::Sealed(()), schema).with_checks();
    let mismatch = here.mismatch(&there).unwrap();
    let lines: Vec<_> = mismatch.iter().map(ToString::to_string).collect();
    let expected = [
        r#"game: "arena" here, "du\u{1b}el" there"#,
        r#"version: "1.0" here, "1.1" there"#,
        "protection: Crc32 here, Sealed there",
        "checks: off here, on there",
    ];
    assert_eq!(lines, expected);
    assert!(mismatch.iter().all(|difference| difference.changes_bytes()));
}

#[test]
fn names_of_types_and_fields_do_not_matter() {
    let mut old = Protocol::<version_1::Packet>::new("arena", "7", Protection::Crc32);
    let mut new = Protocol::<renamed::Message>::new("arena", "7", Protection::Crc32);
    assert_eq!(old.identity().mismatch(new.identity()), None);
    let mut buffer = [0; 64];
    let datagram = old.write(&version_1::Packet::KeepAlive, &mut buffer).unwrap();
    assert_eq!(new.read(datagram, &mut renamed::Message::default()), Ok(()));
}

#[test]
fn every_part_of_an_identity_changes_the_id() {
    let schema = tightwire::schema::Schema::of::<version_1::Packet>;
    let ids = [
        Identity::new("arena", "1.0", Protection::Crc32, schema()),
        Identity::new("arena", "1.0", Protection::Crc32, schema()).with_checks(),
        Identity::new("arena", "1.0", Protection::Crc32, schema()).with_packing(Packing::Bytes),
        Identity::new("arena", "1.0", Protection::Id, schema()),
        Identity::new("arena", "1.0", Protection::None, schema()),
        Identity::new("arena", "1.0", Protection::Sealed(()), schema()),
        Identity::new("arena", "1.1", Protection::Crc32, schema()),
        Identity::new("arena1", ".0", Protection::Crc32, schema()),
        Identity::new("", "arena1.0", Protection::Crc32, schema()),
        Identity::new(
            "arena",
            "1.0",
            Protection::Crc32,
            tightwire::schema::Schema::of::<version_2::Packet>(),
        ),
    ]
    .map(|identity| identity.id());
    for (place, id) in ids.iter().enumerate() {
        assert!(!ids[..place].contains(id), "{place}");
    }
}

#[test]
fn an_identity_reads_packets_without_their_types() {
    let player = version_1::Player { health: 77, name: "Ada".into() };
    let packet = version_1::Packet::Spawn { player };
    let mut buffer = [0; 64];
    let forms = [Packing::Bits, Packing::Bytes].map(|packing| [(packing, false), (packing, true)]);
    for (packing, checks) in forms.into_iter().flatten() {
        let protocol = Protocol::<version_1::Packet>::new("arena", "7", Protection::None);
        let protocol = protocol.with_packing(packing);
        let mut protocol = if checks { protocol.with_checks() } else { protocol };
        let datagram = protocol.write(&packet, &mut buffer).unwrap();
        let identity = protocol.identity();
        let value = identity.decode(datagram).unwrap().to_string();
        assert_eq!(value, r#"Spawn { player: Player { health: 77, name: "Ada" } }"#);
        let trace = identity.explain(datagram);
        assert_eq!(trace.failure(), None);
        let last = trace.spans().last().unwrap().path();
        assert_eq!(last, if checks { "Packet.end" } else { "Packet.Spawn.player.name" });

        // One bit too many, and one byte too few.
        let mut longer = datagram.to_vec();
        longer.push(1);
        assert!(identity.decode(&longer).is_err() && identity.explain(&longer).failure().is_some());
        let shorter = &datagram[..datagram.len() - 1];
        assert!(identity.decode(shorter).is_err() && identity.explain(shorter).failure().is_some());
    }
}

#[test]
fn an_identity_finds_the_packet_in_what_is_recorded() {
    let packet = |health| {
        let player = version_1::Player { health, name: "Ada".into() };
        version_1::Packet::Spawn { player }
    };
    let both = |protection: fn() -> Protection| {
        [protection(), protection()].map(|protection| Protocol::new("arena", "7", protection))
    };
    let none = both(|| Protection::None);
    let mut buffer = [0; 256];
    for [mut sender, mut receiver] in protocols("7").into_iter().chain([none]) {
        let identity = sender.identity().clone();
        for health in [77, 3] {
            let datagram = sender.write(&packet(health), &mut buffer).unwrap();
            let mut read = version_1::Packet::default();
            receiver.read(datagram, &mut read).unwrap();
            // Both sides record the same.
            for side in [&sender, &receiver] {
                let found = identity.packet_in(side.unsealed(datagram)).unwrap();
                assert_eq!(decode(found), Ok(packet(health)));
                assert_eq!(found.len(), 5);
            }
        }
    }
}

#[test]
fn an_identity_finds_a_packet_exactly_where_its_protocol_does() {
    let packet = || version_1::Packet::Spawn { player: version_1::Player::default() };
    let mut buffer = [0; 256];
    for protection in [|| Protection::Id, || Protection::Crc32] {
        let mut protocol = Protocol::new("arena", "7", protection());
        let datagram = protocol.write(&packet(), &mut buffer).unwrap();
        let mut altered: Vec<_> = (0..datagram.len()).map(|end| datagram[..end].to_vec()).collect();
        for bit in 0..datagram.len() * 8 {
            altered.push(datagram.to_vec());
            altered.last_mut().unwrap()[bit / 8] ^= 1 << (bit % 8);
        }
        let mut refused = 0;
        for altered in altered {
            let read = protocol.read(&altered, &mut version_1::Packet::default());
            let gate = match read {
                // The fault of the packet itself, behind the protection.
                Ok(()) | Err(PacketError::Malformed(_) | PacketError::TrailingData { .. }) => {
                    Ok(())
                }
                Err(refused) => Err(refused),
            };
            assert_eq!(protocol.identity().packet_in(&altered).map(|_| ()), gate);
            refused += usize::from(gate.is_err());
        }
        assert!(refused >= 50, "{refused}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn an_identity_is_json() {
    let schema = tightwire::schema::Schema::of::<u8>();
    let identity = Identity::new("arena", "1.0", Protection::Sealed(()), schema).with_checks();
    let json = serde_json::to_string(&identity).unwrap();
    let expected =
        r#"{"game":"arena","version":"1.0","protection":"Sealed","checks":true,"packing":"Bits","#;
    assert!(json.starts_with(expected), "{json}");
    assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), identity);
    let refused = serde_json::from_str::<Identity>(&json.replace("Sealed", "Locked")).unwrap_err();
    let sentence = r#"invalid value: string "Locked", expected None, Id, Crc32 or Sealed"#;
    assert!(refused.to_string().starts_with(sentence), "{refused}");
}
