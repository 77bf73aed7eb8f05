//! Numbers: whole, ranged, low bits, variable-length; whatever a number can be given as.

use tightwire::stream::{ReadStream, WriteStream};
use tightwire::{Stream, Wire};

use super::twin::{Any, Twin, any, check, within};
use crate::common::rng::Rng;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Whole {
    a: u8,
    b: i16,
    c: u32,
    d: i64,
    e: u128,
    f: i128,
    g: bool,
    h: u64,
    i: i8,
    j: u16,
    k: i32,
}

impl Twin for Whole {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.int(&mut self.a, 0..=255)?;
        stream.int(&mut self.b, i16::MIN..=i16::MAX)?;
        stream.int(&mut self.c, 0..=u32::MAX)?;
        stream.int(&mut self.d, i64::MIN..=i64::MAX)?;
        stream.int(&mut self.e, 0..=u128::MAX)?;
        stream.int(&mut self.f, i128::MIN..=i128::MAX)?;
        stream.bool(&mut self.g)?;
        stream.int(&mut self.h, 0..=u64::MAX)?;
        stream.int(&mut self.i, i8::MIN..=i8::MAX)?;
        stream.int(&mut self.j, 0..=u16::MAX)?;
        stream.int(&mut self.k, i32::MIN..=i32::MAX)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            a: any(rng),
            b: any(rng),
            c: any(rng),
            d: any(rng),
            e: any(rng),
            f: any(rng),
            g: any(rng),
            h: any(rng),
            i: any(rng),
            j: any(rng),
            k: any(rng),
        }
    }
}

const LOW: i16 = -3;
const HIGH: i16 = 1000;
const WIDTH: u32 = 5;

const fn twice(number: u8) -> u8 {
    number * 2
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Ranged {
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(range = -5..=5)]
    lean: i8,
    #[wire(range = LOW..=HIGH)]
    named: i16,
    #[wire(range = LOW + 1..=HIGH - 1)]
    computed: i16,
    #[wire(range = 0..=twice(20))]
    called: u8,
    #[wire(range = Self::LEAST..=Self::MOST)]
    own: u32,
    #[wire(range = 7..=7)]
    constant: u8,
    #[wire(range = 0..=u64::MAX)]
    full: u64,
    #[wire(range = i64::MIN..=i64::MAX)]
    full_signed: i64,
    #[wire(range = 1..=u64::MAX - 1)]
    nearly_full: u64,
    #[wire(range = 0..=u128::MAX)]
    full_wide: u128,
    #[wire(range = i128::MIN..=i128::MAX)]
    full_wide_signed: i128,
    #[wire(range = -(1 << 100)..=1 << 90)]
    wide: i128,
    #[wire(range = 10..=1_000_000)]
    place: usize,
    #[wire(range = (-4)..=(3))]
    parenthesised: isize,
    #[wire(range = 3..=3)]
    last: u128,
}

impl Ranged {
    const LEAST: u32 = 10;
    const MOST: u32 = Self::LEAST + 90;
}

impl Twin for Ranged {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.int(&mut self.health, 0..=100)?;
        stream.int(&mut self.lean, -5..=5)?;
        stream.int(&mut self.named, -3..=1000)?;
        stream.int(&mut self.computed, -2..=999)?;
        stream.int(&mut self.called, 0..=40)?;
        stream.int(&mut self.own, 10..=100)?;
        stream.int(&mut self.constant, 7..=7)?;
        stream.int(&mut self.full, 0..=u64::MAX)?;
        stream.int(&mut self.full_signed, i64::MIN..=i64::MAX)?;
        stream.int(&mut self.nearly_full, 1..=u64::MAX - 1)?;
        stream.int(&mut self.full_wide, 0..=u128::MAX)?;
        stream.int(&mut self.full_wide_signed, i128::MIN..=i128::MAX)?;
        stream.int(&mut self.wide, -(1 << 100)..=1 << 90)?;
        stream.int(&mut self.place, 10..=1_000_000)?;
        stream.int(&mut self.parenthesised, -4..=3)?;
        stream.int(&mut self.last, 3..=3)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            health: within(rng, 0..=100),
            lean: within(rng, -5..=5),
            named: within(rng, -3..=1000),
            computed: within(rng, -2..=999),
            called: within(rng, 0..=40),
            own: within(rng, 10..=100),
            constant: 7,
            full: any(rng),
            full_signed: any(rng),
            nearly_full: within(rng, 1..=(1 << 64) - 2),
            full_wide: any(rng),
            full_wide_signed: any(rng),
            wide: within(rng, -(1 << 100)..=1 << 90),
            place: within(rng, 10..=1_000_000),
            parenthesised: within(rng, -4..=3),
            last: 3,
        }
    }

    fn refused() -> Vec<Self> {
        let good = || Self::random(&mut Rng::new(1));
        vec![
            Self { health: 101, ..good() },
            Self { lean: -6, ..good() },
            Self { lean: 6, named: 2000, ..good() },
            Self { computed: -3, ..good() },
            Self { called: 41, ..good() },
            Self { own: 9, ..good() },
            Self { constant: 8, ..good() },
            Self { nearly_full: 0, ..good() },
            Self { nearly_full: u64::MAX, ..good() },
            Self { wide: i128::MAX, ..good() },
            Self { place: 1_000_001, ..good() },
            Self { parenthesised: -5, ..good() },
            Self { last: 4, ..good() },
            Self { constant: 6, last: 2, ..good() },
        ]
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct LowBits {
    #[wire(bits = 3)]
    a: u8,
    #[wire(bits = WIDTH)]
    b: u16,
    #[wire(bits = 64)]
    c: u64,
    #[wire(bits = 64)]
    d: u128,
    #[wire(bits = 0)]
    e: u32,
    #[wire(bits = WIDTH * 2 + 1)]
    f: u32,
    #[wire(bits = 20)]
    g: usize,
    #[wire(bits = u8::BITS)]
    h: u8,
}

impl Twin for LowBits {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        fn low<S: Stream, T: Copy + TryInto<u64> + TryFrom<u64>>(
            stream: &mut S,
            value: &mut T,
            width: u32,
        ) -> Result<(), S::Error> {
            let mut wide = (*value).try_into().unwrap_or(0);
            if S::WRITING && (*value).try_into().is_err() {
                let bit = stream.position();
                stream.refuse_at(tightwire::stream::ErrorKind::OutOfRange, bit)?;
            }
            stream.bits(&mut wide, width)?;
            if S::READING {
                *value = T::try_from(wide).ok().unwrap();
            }
            Ok(())
        }
        low(stream, &mut self.a, 3)?;
        low(stream, &mut self.b, 5)?;
        low(stream, &mut self.c, 64)?;
        low(stream, &mut self.d, 64)?;
        low(stream, &mut self.e, 0)?;
        low(stream, &mut self.f, 11)?;
        low(stream, &mut self.g, 20)?;
        low(stream, &mut self.h, 8)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            a: within(rng, 0..=7),
            b: within(rng, 0..=31),
            c: any(rng),
            d: u64::any(rng).into(),
            e: 0,
            f: within(rng, 0..=2047),
            g: within(rng, 0..=(1 << 20) - 1),
            h: any(rng),
        }
    }

    fn refused() -> Vec<Self> {
        let good = Self::default;
        vec![
            Self { a: 8, ..good() },
            Self { b: 32, ..good() },
            Self { d: 1 << 64, ..good() },
            Self { d: u128::MAX, ..good() },
            Self { e: 1, ..good() },
            Self { g: 1 << 20, h: 1, ..good() },
        ]
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Varints(
    #[wire(varint)] u8,
    bool,
    #[wire(varint)] i16,
    #[wire(varint)] u32,
    #[wire(varint)] i64,
    #[wire(varint)] u128,
    #[wire(varint)] i128,
    #[wire(varint)] usize,
    #[wire(varint)] isize,
    #[wire(range = 0..=5)] u8,
);

impl Twin for Varints {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.varint(&mut self.0)?;
        stream.bool(&mut self.1)?;
        stream.varint(&mut self.2)?;
        stream.varint(&mut self.3)?;
        stream.varint(&mut self.4)?;
        stream.varint(&mut self.5)?;
        stream.varint(&mut self.6)?;
        stream.varint(&mut self.7)?;
        stream.varint(&mut self.8)?;
        stream.int(&mut self.9, 0..=5)
    }

    fn random(rng: &mut Rng) -> Self {
        Self(
            any(rng),
            any(rng),
            any(rng),
            any(rng),
            any(rng),
            any(rng),
            any(rng),
            any(rng),
            any(rng),
            within(rng, 0..=5),
        )
    }
}

/// Nothing on the wire, in every way.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Unit;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Empty {}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Nothings {
    #[wire(bits = 0)]
    a: u8,
    unit: Unit,
    empty: Empty,
    #[wire(range = 0..=0)]
    b: u64,
    nothing: (),
    none: [u32; 0],
    none_either: [Unit; 3],
}

impl Twin for Unit {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.raw_bits(&mut 0, 0)
    }

    fn random(_: &mut Rng) -> Self {
        Self
    }
}

impl Twin for Nothings {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.bits(&mut u64::from(self.a), 0)?;
        stream.int(&mut self.b, 0..=0)
    }

    fn random(_: &mut Rng) -> Self {
        Self::default()
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Checked {
    #[wire(check = "after a")]
    a: u8,
    #[wire(varint, check = "after b")]
    b: u32,
    #[wire(check = "after c")]
    c: (u8, bool),
    #[wire(when = self.a > 100, check = "after d", range = 0..=9)]
    d: u8,
}

impl Twin for Checked {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.object(&mut self.a)?;
        stream.check("after a")?;
        stream.varint(&mut self.b)?;
        stream.check("after b")?;
        stream.object(&mut self.c)?;
        stream.check("after c")?;
        if self.a > 100 {
            stream.int(&mut self.d, 0..=9)?;
            stream.check("after d")
        } else {
            self.d = if S::READING { 0 } else { self.d };
            Ok(())
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let a = any(rng);
        let d = if a > 100 { within(rng, 0..=9) } else { 0 };
        Self { a, b: any(rng), c: (any(rng), any(rng)), d }
    }
}

#[test]
fn whole_numbers() {
    check::<Whole>();
}

#[test]
fn ranged_numbers() {
    check::<Ranged>();
}

#[test]
fn low_bits() {
    check::<LowBits>();
}

#[test]
fn variable_length_numbers() {
    check::<Varints>();
}

#[test]
fn nothing_at_all() {
    check::<Unit>();
    check::<Nothings>();
}

#[test]
fn checks_between_fields() {
    check::<Checked>();
}

#[test]
fn checks_can_be_left_out() {
    let mut rng = Rng::new(1);
    for _ in 0..1000 {
        let mut value = Checked::random(&mut rng);
        let checks = if value.a > 100 { 4 } else { 3 };
        let (mut with, mut by_hand, mut without) = ([0xff; 64], [0xff; 64], [0xff; 64]);
        let with = tightwire::encode(&value, &mut with).unwrap().len();

        let mut stream = WriteStream::new(&mut without).without_checks();
        let Ok(()) = stream.object(&value);
        let without = stream.finish().unwrap();
        assert_eq!(without.len(), with - 4 * checks);

        let mut stream = WriteStream::new(&mut by_hand).without_checks();
        let Ok(()) = value.by_hand(&mut stream);
        assert_eq!(stream.finish().unwrap(), without);

        let mut read = Checked::default();
        let mut stream = ReadStream::new(without).without_checks();
        stream.object(&mut read).unwrap();
        stream.finish().unwrap();
        assert_eq!(read, value);
        assert!(tightwire::decode::<Checked>(without).is_err());
    }
}
