//! `tightwire inspect` on any bytes: a view or an error.

use tightwire::Wire;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use crate::inspect::all_views::AllViews;

/// Packets by which other programs' captures are decoded.
#[derive(Wire)]
enum Packet {
    Ping,
    Move {
        #[wire(range = -100..=100)]
        stick: [i8; 2],
        #[wire(max_len = 20)]
        items: Vec<Option<u16>>,
    },
    Say(#[wire(max_len = 200)] String),
}

/// Checks a file: the first byte chooses the identity, and the rest is the file.
pub(crate) fn inspect(data: &[u8]) {
    let Some((choice, file)) = data.split_first() else { return };
    let protection = match choice % 4 {
        0 => None,
        1 => Some(Protection::None),
        2 => Some(Protection::Crc32),
        _ => Some(Protection::Id),
    };
    let known =
        protection.map(|protection| Identity::new("fuzz", "1", protection, Schema::of::<Packet>()));
    match AllViews::with_identity(file, known) {
        Ok(view) => assert!(view.is_sound(), "{:?}", view.text),
        Err(message) => assert!(!message.is_empty()),
    }
}
