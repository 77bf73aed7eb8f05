//! Enums of every shape.

use tightwire::{Stream, Target, Wire};

use super::twin::{Twin, any, check, list, text, within};
use crate::common::rng::Rng;

/// Enums of units: their ordinals, in the fewest bits.
macro_rules! units {
    ($($name:ident { $first:ident $(, $variant:ident)* })*) => {$(
        #[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
        enum $name {
            #[default]
            $first,
            $($variant),*
        }

        impl $name {
            const ALL: &[Self] = &[Self::$first, $(Self::$variant),*];
        }

        impl Twin for $name {
            fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
                stream.enumerate(self, Self::ALL)
            }

            fn random(rng: &mut Rng) -> Self {
                Self::ALL[rng.below(Self::ALL.len())]
            }
        }
    )*};
}

units! {
    One { A }
    Two { A, B }
    Three { A, B, C }
    Four { A, B, C, D }
    Five { A, B, C, D, E }
    Eight { A, B, C, D, E, F, G, H }
    Nine { A, B, C, D, E, F, G, H, I }
}

/// Discriminants are the program's own; the wire has the order.
#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
enum Numbered {
    #[default]
    Low = 100,
    High = 7,
    Middle = 50,
}

/// One that is an element.
fn hand<S: Stream, T: Twin>(
    mut this: Target<'_, S::Access, T>,
    stream: &mut S,
) -> Result<(), S::Error> {
    let mut copy = this.clone();
    let result = copy.by_hand(stream);
    this.put(copy);
    result
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Units {
    one: One,
    two: Two,
    three: Three,
    many: [Five; 3],
    maybe: Option<Nine>,
    eight: Eight,
    numbered: Numbered,
    four: Box<Four>,
}

impl Twin for Units {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        self.one.by_hand(stream)?;
        self.two.by_hand(stream)?;
        self.three.by_hand(stream)?;
        stream.fixed_array(&mut self.many, |one, stream| hand(one, stream))?;
        stream.option(&mut self.maybe, |one, stream| hand(one, stream))?;
        self.eight.by_hand(stream)?;
        stream.enumerate(&mut self.numbered, &[Numbered::Low, Numbered::High, Numbered::Middle])?;
        self.four.by_hand(stream)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            one: One::A,
            two: Two::random(rng),
            three: Three::random(rng),
            many: std::array::from_fn(|_| Five::random(rng)),
            maybe: (rng.below(2) == 0).then(|| Nine::random(rng)),
            eight: Eight::random(rng),
            numbered: [Numbered::Low, Numbered::High, Numbered::Middle][rng.below(3)],
            four: Box::new(Four::random(rng)),
        }
    }
}

/// The bytes of an ordinal, then whatever the variant has.
fn ordinal<S: Stream>(stream: &mut S, ordinal: usize, count: usize) -> Result<usize, S::Error> {
    let mut ordinal = ordinal;
    stream.variant(&mut ordinal, count, |ordinal| NAMES[ordinal])?;
    Ok(ordinal)
}

const NAMES: [&str; 9] = ["A", "B", "C", "D", "E", "F", "G", "H", "I"];

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Mixed {
    #[default]
    A,
    B(u8),
    C {
        #[wire(range = 0..=NAMES.len())]
        names: usize,
        #[wire(max_len = 12)]
        text: String,
        tail: bool,
    },
    D(#[wire(max_len = 5)] Vec<u16>, bool, #[wire(varint)] u32, #[wire(range = -1..=1)] i8),
    E(),
    F {},
    G {
        kind: Three,
        #[wire(when = matches!(self.kind, Three::B | Three::C))]
        extra: u64,
        #[wire(when = self.kind == Three::C, range = 1..=6, default = 1)]
        die: u8,
        #[wire(skip)]
        cache: u32,
        #[wire(when = self.kind == Three::C)]
        pair: (u8, bool),
    },
    H(Box<Wide>),
    I([u8; 40], #[wire(skip, default = 9)] u8),
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Wide {
    a: u64,
    b: bool,
    c: u64,
}

impl Twin for Mixed {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let found = match self {
            Self::A => 0,
            Self::B(_) => 1,
            Self::C { .. } => 2,
            Self::D(..) => 3,
            Self::E() => 4,
            Self::F {} => 5,
            Self::G { .. } => 6,
            Self::H(_) => 7,
            Self::I(..) => 8,
        };
        let read = ordinal(stream, found, 9)?;
        if S::READING {
            *self = match read {
                0 => Self::A,
                1 => Self::B(0),
                2 => Self::C { names: 0, text: String::new(), tail: false },
                3 => Self::D(Vec::new(), false, 0, 0),
                4 => Self::E(),
                5 => Self::F {},
                6 => Self::G { kind: Three::A, extra: 0, die: 1, cache: 0, pair: (0, false) },
                7 => Self::H(Box::default()),
                _ => Self::I([0; 40], 9),
            };
        }
        match self {
            Self::A | Self::E() | Self::F {} => Ok(()),
            Self::B(byte) => stream.object(byte),
            Self::C { names, text, tail } => {
                stream.int(names, 0..=9)?;
                stream.string(text, 12)?;
                stream.bool(tail)
            }
            Self::D(numbers, flag, count, sign) => {
                stream.array(numbers, 5, |number, stream| stream.object(number))?;
                stream.bool(flag)?;
                stream.varint(count)?;
                stream.int(sign, -1..=1)
            }
            Self::G { kind, extra, die, cache: _, pair } => {
                kind.by_hand(stream)?;
                if *kind != Three::A {
                    stream.object(extra)?;
                }
                if *kind == Three::C {
                    stream.int(die, 1..=6)?;
                    stream.object(pair)?;
                }
                Ok(())
            }
            Self::H(wide) => {
                stream.object(&mut wide.a)?;
                stream.bool(&mut wide.b)?;
                stream.object(&mut wide.c)
            }
            Self::I(bytes, _) => stream.fixed_array(bytes, |byte, stream| stream.object(byte)),
        }
    }

    fn random(rng: &mut Rng) -> Self {
        match rng.below(9) {
            0 => Self::A,
            1 => Self::B(any(rng)),
            2 => Self::C { names: within(rng, 0..=9), text: text(rng, 12), tail: any(rng) },
            3 => Self::D(list(rng, 5, any), any(rng), any(rng), within(rng, -1..=1)),
            4 => Self::E(),
            5 => Self::F {},
            6 => {
                let kind = Three::random(rng);
                let extra = if kind == Three::A { 0 } else { any(rng) };
                let (die, pair) = match kind {
                    Three::C => (within(rng, 1..=6), (any(rng), any(rng))),
                    _ => (1, (0, false)),
                };
                Self::G { kind, extra, die, cache: 0, pair }
            }
            7 => Self::H(Box::new(Wide { a: any(rng), b: any(rng), c: any(rng) })),
            _ => Self::I(any(rng), 9),
        }
    }

    fn refused() -> Vec<Self> {
        vec![
            Self::C { names: 10, text: String::new(), tail: true },
            Self::C { names: 1, text: "thirteen long".into(), tail: true },
            Self::D(vec![0; 6], true, 1, 1),
            Self::D(vec![0; 5], true, 1, 2),
            Self::G { kind: Three::C, extra: 1, die: 7, cache: 0, pair: (0, false) },
        ]
    }
}

/// As many bits whatever the variant: it stands within a run of others.
#[derive(Wire, Clone, PartialEq, Debug)]
enum EvenBits {
    A(u8),
    B {
        high: [bool; 3],
        #[wire(range = 0..=31)]
        low: u8,
    },
    C(#[wire(bits = 1)] u8, #[wire(bits = 7)] u8),
}

impl Default for EvenBits {
    fn default() -> Self {
        Self::B { high: [false; 3], low: 0 }
    }
}

/// One variant that has fields: no ordinal, and merged as a struct.
#[derive(Wire, Clone, PartialEq, Debug)]
enum Only {
    A {
        a: bool,
        #[wire(range = 0..=4)]
        b: u8,
    },
}

impl Default for Only {
    fn default() -> Self {
        Self::A { a: false, b: 0 }
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Nested {
    first: EvenBits,
    #[wire(bits = 3)]
    crumbs: u8,
    only: Only,
    several: [EvenBits; 5],
    last: bool,
    mixed: Mixed,
    again: EvenBits,
}

impl EvenBits {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let found = match self {
            Self::A(_) => 0,
            Self::B { .. } => 1,
            Self::C(..) => 2,
        };
        let read = ordinal(stream, found, 3)?;
        if S::READING {
            *self = match read {
                0 => Self::A(0),
                1 => Self::default(),
                _ => Self::C(0, 0),
            };
        }
        let mut bits = |value: &mut u8, width| {
            let mut wide = u64::from(*value);
            stream.bits(&mut wide, width)?;
            *value = wide as u8;
            Ok(())
        };
        match self {
            Self::C(one, seven) => {
                bits(one, 1)?;
                bits(seven, 7)
            }
            Self::A(byte) => stream.object(byte),
            Self::B { high, low } => {
                stream.object(high)?;
                stream.int(low, 0..=31)
            }
        }
    }

    fn random(rng: &mut Rng) -> Self {
        match rng.below(3) {
            0 => Self::A(any(rng)),
            1 => Self::B { high: any(rng), low: within(rng, 0..=31) },
            _ => Self::C(within(rng, 0..=1), within(rng, 0..=127)),
        }
    }
}

impl Twin for Nested {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        self.first.by_hand(stream)?;
        let mut crumbs = u64::from(self.crumbs);
        stream.bits(&mut crumbs, 3)?;
        self.crumbs = crumbs as u8;
        ordinal(stream, 0, 1)?;
        let Only::A { a, b } = &mut self.only;
        stream.bool(a)?;
        stream.int(b, 0..=4)?;
        stream.fixed_array(&mut self.several, |mut one, stream| {
            let mut copy = one.clone();
            let result = copy.by_hand(stream);
            one.put(copy);
            result
        })?;
        stream.bool(&mut self.last)?;
        self.mixed.by_hand(stream)?;
        self.again.by_hand(stream)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            first: EvenBits::random(rng),
            crumbs: within(rng, 0..=7),
            only: Only::A { a: any(rng), b: within(rng, 0..=4) },
            several: std::array::from_fn(|_| EvenBits::random(rng)),
            last: any(rng),
            mixed: Mixed::random(rng),
            again: EvenBits::random(rng),
        }
    }

    fn refused() -> Vec<Self> {
        let bad = EvenBits::B { high: [true; 3], low: 32 };
        let mut several: [EvenBits; 5] = Default::default();
        several[3] = EvenBits::C(2, 1);
        vec![
            Self { first: bad, ..Self::default() },
            Self { several, ..Self::default() },
            Self { only: Only::A { a: true, b: 5 }, ..Self::default() },
        ]
    }
}

#[test]
fn enums_of_units() {
    check::<One>();
    check::<Two>();
    check::<Three>();
    check::<Four>();
    check::<Five>();
    check::<Eight>();
    check::<Nine>();
    check::<Units>();
}

#[test]
fn enums_with_fields() {
    check::<Mixed>();
}

#[test]
fn enums_within_runs() {
    check::<Nested>();
    assert_eq!(EvenBits::FIXED_BITS, Some(10), "or nothing of this is tested");
}

#[test]
fn an_ordinal_takes_the_fewest_bits() {
    let bits = [
        One::MAX_BITS,
        Two::MAX_BITS,
        Three::MAX_BITS,
        Four::MAX_BITS,
        Five::MAX_BITS,
        Eight::MAX_BITS,
        Nine::MAX_BITS,
    ];
    assert_eq!(bits, [0, 1, 2, 2, 3, 3, 4]);
}
