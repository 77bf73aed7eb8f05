//! `tightwire dissector`: tshark and the library agree on every packet.

mod agreement;
#[path = "../../../../tightwire/tests/common"]
mod library {
    pub(crate) mod rng;
    pub(crate) mod shapes;
}
mod commands;
mod conditions;
mod packets;
mod recorded;
mod refusals;
mod session;
mod tshark;

use agreement::assert_agrees;
use library::rng::Rng;
use library::shapes;
use packets::{damaged, datagram, packet, value};
use tightwire::bytes::Packing;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;
use tightwire::stream::Shape;
use tshark::{Item, dissected, record, write_dissector};

use crate::common::Folder;
use crate::support::{seed, volume};

/// All ways to protect and to pack, by a number.
fn identity(number: usize, schema: Schema) -> Identity {
    let protection = [Protection::None, Protection::Id, Protection::Crc32][number % 3];
    let packing = [Packing::Bits, Packing::Bytes][number / 3 % 2];
    let identity = Identity::new("Arena Game", "1.0", protection, schema).with_packing(packing);
    if number / 6 % 2 == 1 { identity.with_checks() } else { identity }
}

/// Records and dissects datagrams, compares, and returns the output of tshark for each.
fn agree(folder: &Folder, identity: &Identity, datagrams: &[Vec<u8>]) -> Vec<Item> {
    let (capture, lua) = (folder.file("capture.pcapng"), folder.file("game.lua"));
    record(&capture, identity, datagrams);
    write_dissector(&lua, &["--schema", &capture]);
    let items = dissected(&lua, &capture, "arena_game");
    assert_eq!(items.len(), datagrams.len());
    for (datagram, item) in datagrams.iter().zip(&items) {
        match item {
            Some(item) => assert_agrees(identity, "arena_game", datagram, item),
            // Wireshark does not ask about a datagram of no bytes.
            None => assert_eq!(datagram, &[0; 0]),
        }
    }
    items.into_iter().flatten().collect()
}

/// Returns the accepted and refused counts.
fn counts(items: &[Item]) -> (usize, usize) {
    let is_refused = |item: &&Item| item.show("arena_game.refused").is_some();
    let refused = items.iter().filter(is_refused).count();
    (items.len() - refused, refused)
}

/// Good packets of an identity, and as many bad ones.
fn datagrams(rng: &mut Rng, identity: &Identity, count: usize) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    for _ in 0..count {
        let packet = packet(identity, &mut value(rng, identity.schema().root()));
        datagrams.push(datagram(identity, &packet));
        datagrams.push(datagram(identity, &damaged(rng, &packet)));
        // Also one that the gate refuses.
        if rng.below(10) == 0 {
            datagrams.push(damaged(rng, &datagram(identity, &packet)));
        }
    }
    datagrams
}

#[test]
fn any_schema_is_read_as_the_library_reads_it() {
    let folder = Folder::new("dissector-any");
    let mut rng = Rng::new(seed(7));
    let (mut accepted, mut refused) = (0, 0);
    let schemas = volume(6, 24);
    for number in 0..schemas {
        let shape = match number % 4 {
            0 => shapes::shape(&mut rng, 3),
            _ => shapes::structure(&mut rng, 4),
        };
        let identity = identity(number, Schema::new(shape).unwrap());
        let datagrams = datagrams(&mut rng, &identity, 20);
        let counts = counts(&agree(&folder, &identity, &datagrams));
        accepted += counts.0;
        refused += counts.1;
    }
    let least = schemas * 8;
    assert!(accepted > least && refused > least, "{accepted} accepted, {refused} refused");
}

#[test]
fn every_operation_is_read_as_the_library_reads_it() {
    let folder = Folder::new("dissector-operations");
    let mut rng = Rng::new(seed(11));
    for number in 0..volume(6, 12) {
        let mut fields = Vec::new();
        while fields.len() < 60 {
            let name = format!("field{}", fields.len());
            fields.push(tightwire::stream::Field::new(&name, Shape::Op(shapes::op(&mut rng))));
        }
        let schema = Schema::new(Shape::Struct { name: "Everything".into(), fields }).unwrap();
        let identity = identity(number, schema);
        let datagrams = datagrams(&mut rng, &identity, 12);
        let (accepted, refused) = counts(&agree(&folder, &identity, &datagrams));
        assert!(accepted > 10 && refused > 3, "{accepted} accepted, {refused} refused");
    }
}
