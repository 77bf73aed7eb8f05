//! Integers of every kind.

use tightwire::{Stream, Wire};

use super::Hostile;

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct Integers {
    raw: [u64; 3],
    small: i8,
    constant: u8,
    score: u16,
    offset: i64,
    whole: u64,
    key: u128,
    narrow_key: u128,
    balance: i128,
    weapon: Weapon,
    is_alive: bool,
    height: i32,
    time: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
enum Weapon {
    #[default]
    Fist,
    Bow,
    Staff,
}

impl Wire for Integers {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let [thirteen, all, none] = &mut self.raw;
        stream.named("thirteen").bits(thirteen, 13)?;
        stream.bits(all, 64)?;
        stream.bits(none, 0)?;
        stream.named("small").int(&mut self.small, -100..=100)?;
        stream.int(&mut self.constant, 5..=5)?;
        stream.int(&mut self.score, 1..=1000)?;
        stream.int(&mut self.offset, i64::MIN..=5)?;
        stream.int(&mut self.whole, 0..=u64::MAX)?;
        stream.int(&mut self.key, 3..=u128::MAX - 3)?;
        stream.int(&mut self.narrow_key, u128::MAX - 5..=u128::MAX)?;
        stream.int(&mut self.balance, -(1 << 70)..=1 << 69)?;
        stream.enumerate(&mut self.weapon, &[Weapon::Fist, Weapon::Bow, Weapon::Staff])?;
        stream.bool(&mut self.is_alive)?;
        stream.fixed(&mut self.height, 8, -100..=100)?;
        stream.fixed(&mut self.time, 20, 7..=1 << 40)?;
        stream.check("integers")
    }
}

impl Hostile for Integers {
    const IS_CANONICAL: bool = true;
}

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct Varints {
    tiny: u8,
    small: i16,
    usual: u32,
    long: i64,
    size: usize,
    flag: bool,
    widest: u128,
    signed_widest: i128,
}

impl Wire for Varints {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.varint(&mut self.tiny)?;
        stream.varint(&mut self.small)?;
        stream.named("usual").varint(&mut self.usual)?;
        stream.varint(&mut self.long)?;
        stream.varint(&mut self.size)?;
        stream.bool(&mut self.flag)?;
        stream.varint(&mut self.widest)?;
        stream.varint(&mut self.signed_widest)
    }
}

impl Hostile for Varints {
    const IS_CANONICAL: bool = true;
}
