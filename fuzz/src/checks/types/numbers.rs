//! Integers of every kind.

use tightwire::{Stream, Target, Wire, at};

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
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.bits(at!(this.raw[0]), 13)?;
        stream.bits(at!(this.raw[1]), 64)?;
        stream.bits(at!(this.raw[2]), 0)?;
        stream.int(at!(this.small), -100..=100)?;
        stream.int(at!(this.constant), 5..=5)?;
        stream.int(at!(this.score), 1..=1000)?;
        stream.int(at!(this.offset), i64::MIN..=5)?;
        stream.int(at!(this.whole), 0..=u64::MAX)?;
        stream.int(at!(this.key), 3..=u128::MAX - 3)?;
        stream.int(at!(this.narrow_key), u128::MAX - 5..=u128::MAX)?;
        stream.int(at!(this.balance), -(1 << 70)..=1 << 69)?;
        stream.enumerate(at!(this.weapon), &[Weapon::Fist, Weapon::Bow, Weapon::Staff])?;
        stream.bool(at!(this.is_alive))?;
        stream.fixed(at!(this.height), 8, -100..=100)?;
        stream.fixed(at!(this.time), 20, 7..=1 << 40)?;
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
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.varint(at!(this.tiny))?;
        stream.varint(at!(this.small))?;
        stream.varint(at!(this.usual))?;
        stream.varint(at!(this.long))?;
        stream.varint(at!(this.size))?;
        stream.bool(at!(this.flag))?;
        stream.varint(at!(this.widest))?;
        stream.varint(at!(this.signed_widest))
    }
}

impl Hostile for Varints {
    const IS_CANONICAL: bool = true;
}
