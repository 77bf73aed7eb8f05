//! The packet sets: one whose packets differ in form and length, and one of fixed length.

use tightwire::Wire;

#[derive(Wire, Default, PartialEq, Debug)]
pub(super) enum Message {
    #[default]
    KeepAlive,
    Input(Input),
    Chat {
        #[wire(range = 0..=63)]
        from: u8,
        to: Option<u16>,
        #[wire(max_len = 40, check = "text")]
        text: String,
    },
    Inventory {
        #[wire(max_len = 100, range = 0..=99)]
        counts: Vec<u8>,
        #[wire(varint)]
        gold: u64,
        #[wire(when = self.gold > 0, bits = 3)]
        purse: u8,
    },
    Players(#[wire(max_len = 20)] Vec<Player>),
}

#[derive(Wire, Default, PartialEq, Debug)]
pub(super) struct Player {
    is_alive: bool,
    #[wire(when = self.is_alive, range = 1..=100)]
    health: u8,
    #[wire(max_len = 15, check = "name")]
    name: String,
}

/// A packet without checks and of fixed length, which takes a separate path through the library.
#[derive(Wire, Default, PartialEq, Debug)]
pub(super) struct Input {
    tick: u32,
    #[wire(bits = 12)]
    buttons: u16,
    #[wire(range = -100..=100)]
    aim: [i8; 2],
    #[wire(range = 0..=9)]
    weapon: u8,
    sequence: u16,
}
