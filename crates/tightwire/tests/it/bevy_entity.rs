//! Entities of Bevy on the wire.

use bevy_ecs_019::entity::{Entity, EntityGeneration, EntityIndex};
use tightwire::schema::{Dynamic, Schema};
use tightwire::stream::{ErrorKind, WriteError};
use tightwire::{ObjectId, Wire, decode_into, encode, encode_explained};

#[derive(Wire, Clone, PartialEq, Debug)]
struct Squad {
    ready: bool,
    leader: Entity,
    members: [Entity; 2],
}

fn wire(id: u32) -> Entity {
    ObjectId(id).to_wire_entity().unwrap()
}

fn nobody() -> Squad {
    let none = Entity::PLACEHOLDER;
    Squad { ready: false, leader: none, members: [none; 2] }
}

#[test]
fn an_entity_is_the_id_of_its_object() {
    let squad =
        Squad { ready: true, leader: wire(0), members: [wire(0xf_fffe), Entity::PLACEHOLDER] };
    assert_eq!(Squad::MAX_BITS, 61);
    let mut buffer = [0; 16];
    let packet = encode(&squad, &mut buffer).unwrap();
    // A bit, and 20 bits each: id 0, the largest id, none.
    assert_eq!(packet, [0x01, 0x00, 0xc0, 0xff, 0xff, 0xff, 0xff, 0x1f]);
    let mut read = nobody();
    decode_into(packet, &mut read).unwrap();
    assert_eq!(read, squad);
    let tree = Schema::of::<Squad>().decode(packet).unwrap();
    let Dynamic::Struct { fields, .. } = &tree else { panic!("{tree}") };
    assert_eq!(fields[1].1.to_string(), "0");
    assert_eq!(fields[2].1.to_string(), "[1048574, 1048575]");
}

#[test]
fn an_entity_of_a_world_is_refused_with_the_name_of_its_field() {
    let index = EntityIndex::from_raw_u32(7).unwrap();
    let generation = |bits| EntityGeneration::from_bits(bits);
    let beyond = EntityIndex::from_raw_u32(0xf_ffff).unwrap();
    for foreign in [
        Entity::from_index(index),
        Entity::from_index_and_generation(index, generation(1)),
        Entity::from_index_and_generation(index, generation(u32::MAX - 1)),
        // As a mapped one, of an object whose id is too large.
        Entity::from_index_and_generation(beyond, generation(u32::MAX)),
    ] {
        assert_eq!(ObjectId::of_wire_entity(foreign), None);
        let squad = Squad { members: [wire(3), foreign], ..nobody() };
        let mut buffer = [0; 16];
        assert_eq!(
            encode(&squad, &mut buffer),
            Err(WriteError::Value { kind: ErrorKind::OutOfRange, bit: 41 })
        );
        let refused = encode_explained(&squad, &mut buffer).unwrap_err().to_string();
        assert!(refused.starts_with("Squad.members[1]"), "{refused}");
    }
    assert_eq!(ObjectId(0xf_ffff).to_wire_entity(), None);
    assert_eq!(ObjectId(u32::MAX).to_wire_entity(), None);
}

#[test]
fn every_code_is_an_entity() {
    for code in [0u32, 1, 0x8_0000, 0xf_fffe, 0xf_ffff] {
        let packet = code.to_le_bytes();
        let mut read = wire(5);
        decode_into(&packet[..3], &mut read).unwrap();
        let expected = if code == 0xf_ffff { Entity::PLACEHOLDER } else { wire(code) };
        assert_eq!(read, expected);
    }
    assert!(decode_into(&[0xff, 0xff], &mut wire(5)).is_err());
}
