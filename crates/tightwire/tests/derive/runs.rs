//! Runs of fixed-width fields: longer than words, across their bounds, and one within another.

use std::collections::HashSet;

use tightwire::stream::{ReadError, ReadStream};
use tightwire::{FloatRange, Stream, Target, Wire, at};

use super::twin::{Twin, any, check, within};
use crate::common::rng::Rng;

/// A field of each width in turn, so that every offset in a word is crossed by many.
macro_rules! staircase {
    ($name:ident: $($field:ident $bits:literal),*) => {
        #[derive(Wire, Default, Clone, PartialEq, Debug)]
        struct $name {
            $(#[wire(bits = $bits)] $field: u64,)*
        }

        impl Twin for $name {
            fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
                $(stream.bits(&mut self.$field, $bits)?;)*
                Ok(())
            }

            fn random(rng: &mut Rng) -> Self {
                Self { $($field: within(rng, 0..=(1i128 << $bits) - 1),)* }
            }

            fn refused() -> Vec<Self> {
                let mut refused = Vec::new();
                $(if $bits < 64 {
                    refused.push(Self { $field: 1u64.unbounded_shl($bits), ..Self::default() });
                })*
                refused
            }
        }
    };
}

staircase!(Up: a 1, b 2, c 3, d 5, e 7, f 11, g 13, h 17, i 19, j 23, k 29, l 31, m 37, n 41);
staircase!(Down: a 64, b 63, c 61, d 59, e 53, f 47, g 43, h 64, i 1, j 64, k 0, l 64, m 3, n 62);
staircase!(Word: a 32, b 32);
staircase!(WordAndOne: a 64, b 1);
staircase!(OneAndWord: a 1, b 64, c 63);
staircase!(TwoWords: a 60, b 8, c 60);
staircase!(Three: a 43, b 43, c 43, d 64);
staircase!(AlmostOne: a 57, b 1, c 6, d 1);

/// 300 single bits, in structs within structs.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Flags {
    a: [bool; 7],
    b: (bool, [bool; 3], bool),
    c: Box<bool>,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct ManyFlags {
    a: Flags,
    b: [Flags; 2],
    #[wire(bits = 5)]
    c: u8,
    d: [[Flags; 2]; 2],
    e: Flags,
}

impl Flags {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let (first, several, last) = &mut self.b;
        let flags = self.a.iter_mut().chain([first]).chain(several).chain([last, &mut *self.c]);
        flags.into_iter().try_for_each(|flag| stream.bool(flag))
    }

    fn random(rng: &mut Rng) -> Self {
        Self { a: any(rng), b: (any(rng), any(rng), any(rng)), c: any(rng) }
    }
}

impl Twin for ManyFlags {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        self.a.by_hand(stream)?;
        self.b.iter_mut().try_for_each(|flags| flags.by_hand(stream))?;
        let mut wide = u64::from(self.c);
        stream.bits(&mut wide, 5)?;
        self.c = wide as u8;
        self.d.as_flattened_mut().iter_mut().try_for_each(|flags| flags.by_hand(stream))?;
        self.e.by_hand(stream)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            a: Flags::random(rng),
            b: std::array::from_fn(|_| Flags::random(rng)),
            c: within(rng, 0..=31),
            d: std::array::from_fn(|_| std::array::from_fn(|_| Flags::random(rng))),
            e: Flags::random(rng),
        }
    }
}

/// Arrays of `bool`s are packed into words; a long one is no part of a run.
#[derive(Wire, Clone, PartialEq, Debug)]
struct BoolArrays {
    #[wire(range = 0..=31)]
    a: u8,
    b: [bool; 12],
    c: [[bool; 3]; 2],
    d: [bool; 57],
    e: [bool; 64],
    f: bool,
    g: [bool; 65],
    h: Option<[bool; 9]>,
    i: [bool; 0],
    j: [bool; 200],
}

impl Default for BoolArrays {
    fn default() -> Self {
        Self {
            a: 0,
            b: [false; 12],
            c: Default::default(),
            d: [false; 57],
            e: [false; 64],
            f: false,
            g: [false; 65],
            h: None,
            i: [],
            j: [false; 200],
        }
    }
}

impl Twin for BoolArrays {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let each = |v: Target<'_, S::Access, bool>, s: &mut S| s.bool(v);
        stream.int(&mut self.a, 0..=31)?;
        stream.fixed_array(&mut self.b, each)?;
        stream.fixed_array(&mut self.c, |v, s| s.fixed_array(v, each))?;
        stream.fixed_array(&mut self.d, each)?;
        stream.fixed_array(&mut self.e, each)?;
        stream.bool(&mut self.f)?;
        stream.fixed_array(&mut self.g, each)?;
        stream.option(&mut self.h, |v, s| s.fixed_array(v, each))?;
        stream.fixed_array(&mut self.i, each)?;
        stream.fixed_array(&mut self.j, each)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            a: within(rng, 0..=31),
            b: any(rng),
            c: any(rng),
            d: any(rng),
            e: any(rng),
            f: any(rng),
            g: any(rng),
            h: any(rng),
            i: [],
            j: any(rng),
        }
    }

    fn refused() -> Vec<Self> {
        vec![Self { a: 32, ..Self::default() }]
    }
}

#[test]
fn arrays_of_bools() {
    check::<BoolArrays>();
}

/// Options whose values share the word with the fields before, and text whose length does.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Optional {
    #[wire(bits = 40)]
    a: u64,
    #[wire(range = 1..=9)]
    b: Option<u8>,
    #[wire(bits = 63)]
    c: Option<u64>,
    #[wire(range = 0..=7)]
    d: u8,
    whole: Option<u64>,
    inner: Option<Word>,
    #[wire(max_len = 20)]
    text: String,
    #[wire(range = 0..=4)]
    e: u8,
    #[wire(max_len = 5)]
    blob: Vec<u8>,
    #[wire(range = -4..=4)]
    f: Option<[i8; 3]>,
}

impl Twin for Optional {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.bits(&mut self.a, 40)?;
        stream.option(&mut self.b, |v, s| s.int(v, 1..=9))?;
        stream.option(&mut self.c, |v, s| s.bits(v, 63))?;
        stream.int(&mut self.d, 0..=7)?;
        stream.option(&mut self.whole, |v, s| s.int(v, 0..=u64::MAX))?;
        stream.option(&mut self.inner, |v, s| s.object(v))?;
        stream.string(&mut self.text, 20)?;
        stream.int(&mut self.e, 0..=4)?;
        stream.blob(&mut self.blob, 5)?;
        stream.option(&mut self.f, |v, s| s.fixed_array(v, |v, s| s.int(v, -4..=4)))
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            a: within(rng, 0..=(1 << 40) - 1),
            b: (rng.below(2) > 0).then(|| within(rng, 1..=9)),
            c: (rng.below(2) > 0).then(|| within(rng, 0..=(1 << 63) - 1)),
            d: within(rng, 0..=7),
            whole: any(rng),
            inner: (rng.below(2) > 0).then(|| Word::random(rng)),
            text: "some text, not short"[..rng.below(21)].into(),
            e: within(rng, 0..=4),
            blob: vec![7; rng.below(6)],
            f: (rng.below(2) > 0).then(|| std::array::from_fn(|_| within(rng, -4..=4))),
        }
    }

    fn refused() -> Vec<Self> {
        let long = || Self { text: "a".repeat(21), e: 5, ..Self::default() };
        vec![
            Self { a: 1 << 40, e: 5, ..Self::default() },
            Self { b: Some(10), c: Some(u64::MAX), ..Self::default() },
            Self { b: Some(0), ..Self::default() },
            Self { c: Some(1 << 63), text: "\0".into(), ..Self::default() },
            Self { d: 8, ..long() },
            long(),
            Self { text: "nul \0".into(), e: 5, ..Self::default() },
            Self { e: 5, blob: vec![0; 6], ..Self::default() },
            Self { blob: vec![0; 6], ..Self::default() },
            Self { f: Some([4, 5, -5]), ..Self::default() },
        ]
    }
}

#[test]
fn options_and_lengths_in_the_word_of_the_fields_before() {
    check::<Optional>();
}

/// A hand-written serialize function that cannot be part of a run.
#[derive(Default, Clone, PartialEq, Debug)]
struct ByHand {
    number: u16,
    inner: Word,
    bytes: [u8; 2],
}

impl Wire for ByHand {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.number), 0..=1000)?;
        stream.object(at!(this.inner))?;
        stream.bytes(at!(this.bytes))?;
        stream.align()
    }
}

/// Derived within by hand within derived, in the middle of runs.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Sandwich {
    flag: bool,
    inner: Word,
    hand: ByHand,
    #[wire(bits = 3)]
    crumbs: u8,
    hands: [ByHand; 2],
    deep: (bool, Deep),
    #[wire(varint)]
    long: u32,
    last: bool,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Deep {
    flag: bool,
    deeper: Deeper,
    other: Deeper,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Deeper(#[wire(range = 0..=4)] u8, TwoWords, bool);

impl Deeper {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.int(&mut self.0, 0..=4)?;
        self.1.by_hand(stream)?;
        stream.bool(&mut self.2)
    }

    fn random(rng: &mut Rng) -> Self {
        Self(within(rng, 0..=4), TwoWords::random(rng), any(rng))
    }
}

impl ByHand {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.int(&mut self.number, 0..=1000)?;
        self.inner.by_hand(stream)?;
        stream.bytes(&mut self.bytes)?;
        stream.align()
    }

    fn random(rng: &mut Rng) -> Self {
        Self { number: within(rng, 0..=1000), inner: Word::random(rng), bytes: any(rng) }
    }
}

impl Twin for Sandwich {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.bool(&mut self.flag)?;
        self.inner.by_hand(stream)?;
        self.hand.by_hand(stream)?;
        let mut wide = u64::from(self.crumbs);
        stream.bits(&mut wide, 3)?;
        self.crumbs = wide as u8;
        self.hands.iter_mut().try_for_each(|hand| hand.by_hand(stream))?;
        stream.bool(&mut self.deep.0)?;
        stream.bool(&mut self.deep.1.flag)?;
        self.deep.1.deeper.by_hand(stream)?;
        self.deep.1.other.by_hand(stream)?;
        stream.varint(&mut self.long)?;
        stream.bool(&mut self.last)
    }

    fn random(rng: &mut Rng) -> Self {
        let (deeper, other) = (Deeper::random(rng), Deeper::random(rng));
        Self {
            flag: any(rng),
            inner: Word::random(rng),
            hand: ByHand::random(rng),
            crumbs: within(rng, 0..=7),
            hands: [ByHand::random(rng), ByHand::random(rng)],
            deep: (any(rng), Deep { flag: any(rng), deeper, other }),
            long: any(rng),
            last: any(rng),
        }
    }

    fn refused() -> Vec<Self> {
        let mut far = Self::default();
        far.deep.1.other.0 = 5;
        let mut nested = Self::default();
        nested.hands[1].number = 1001;
        let mut both = far.clone();
        both.crumbs = 8;
        vec![far, nested, both]
    }
}

#[test]
fn fields_across_words() {
    check::<Up>();
    check::<Down>();
    check::<Word>();
    check::<WordAndOne>();
    check::<OneAndWord>();
    check::<TwoWords>();
    check::<Three>();
    check::<AlmostOne>();
}

#[test]
fn a_hundred_bits_one_by_one() {
    check::<ManyFlags>();
    assert_eq!(ManyFlags::FIXED_BITS, Some(8 * 13 + 5), "or nothing of this is merged");
}

#[test]
fn derived_and_by_hand_one_within_another() {
    check::<Sandwich>();
}

/// Parts that a reader gets by a call for each.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Called {
    id: Option<u16>,
    #[wire(range = 1..=100)]
    health: Option<Box<u8>>,
    #[wire(max_len = 5)]
    name: String,
    #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
    aim: Option<[f32; 3]>,
    #[wire(range = 0..=9)]
    last: u8,
}

impl Called {
    fn read_by_hand(packet: &[u8]) -> Result<Self, ReadError> {
        let mut read = Self::default();
        let mut stream = ReadStream::new(packet);
        stream.option(&mut read.id, |id, stream| stream.object(id))?;
        stream.option(&mut read.health, |mut health, stream| {
            let mut value = **health;
            stream.int(&mut value, 1..=100)?;
            health.put(Box::new(value));
            Ok(())
        })?;
        stream.string(&mut read.name, 5)?;
        let range = FloatRange::new(-1.0, 1.0, 0.01);
        stream.option(&mut read.aim, |aim, stream| stream.compressed_vector(aim, range))?;
        stream.int(&mut read.last, 0..=9)?;
        stream.finish()?;
        Ok(read)
    }
}

#[test]
fn options_and_text_are_refused_at_the_same_bit_as_by_hand() {
    let full = Called {
        id: Some(0xabcd),
        health: Some(Box::new(77)),
        name: "Ada".into(),
        aim: Some([0.5, -0.5, 1.0]),
        last: 9,
    };
    let some = [
        full.clone(),
        Called { id: None, ..full.clone() },
        Called { health: None, name: String::new(), ..full.clone() },
        Called { aim: None, ..full },
        Called::default(),
    ];
    let mut refused = HashSet::new();
    let mut compare = |packet: &[u8]| {
        let read = tightwire::decode::<Called>(packet);
        assert_eq!(read, Called::read_by_hand(packet), "{packet:x?}");
        refused.extend(read.err());
    };
    for value in some {
        let mut buffer = [0; Called::MAX_BYTES];
        let packet = tightwire::encode(&value, &mut buffer).unwrap();
        for length in 0..=packet.len() {
            compare(&packet[..length]);
            // Padded with zeros, so that the end of the packet is never near.
            compare(&[&packet[..length], &[0; 16]].concat());
        }
        let mut changed = packet.to_vec();
        for bit in 0..packet.len() * 8 {
            changed[bit / 8] ^= 1 << (bit % 8);
            compare(&changed);
            changed[bit / 8] ^= 1 << (bit % 8);
        }
    }
    let kinds: HashSet<_> = refused.iter().map(|refused| refused.kind).collect();
    assert!(kinds.len() >= 6 && refused.len() >= 30, "{refused:?}");
}
