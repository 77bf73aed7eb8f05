//! Fields that are sent only when others say so.

use tightwire::{Stream, Wire};

use super::twin::{Twin, any, check, text, within};
use crate::common::rng::Rng;

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
enum Kind {
    #[default]
    Rock,
    Plant {
        height: u8,
    },
    Animal(u8),
    Robot,
}

impl Kind {
    fn is_alive(&self) -> bool {
        matches!(self, Self::Plant { .. } | Self::Animal(_))
    }

    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut ordinal = match self {
            Self::Rock => 0,
            Self::Plant { .. } => 1,
            Self::Animal(_) => 2,
            Self::Robot => 3,
        };
        let name = |ordinal| ["Rock", "Plant", "Animal", "Robot"][ordinal];
        stream.variant(&mut ordinal, 4, name)?;
        if S::READING {
            *self = [Self::Rock, Self::Plant { height: 0 }, Self::Animal(0), Self::Robot][ordinal];
        }
        match self {
            Self::Plant { height: byte } | Self::Animal(byte) => stream.object(byte),
            _ => Ok(()),
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let byte = any(rng);
        [Self::Rock, Self::Plant { height: byte }, Self::Animal(byte), Self::Robot][rng.below(4)]
    }
}

const FEW: u8 = 3;

/// A field for each form of condition; the value of each is its place, or 0.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Operators {
    flag: bool,
    #[wire(range = 0..=9)]
    count: u8,
    signed: i8,
    kind: Kind,
    pair: (bool, (u8, u8)),
    maybe: Option<u8>,
    #[wire(max_len = 4)]
    name: String,
    #[wire(when = self.flag)]
    f0: u8,
    #[wire(when = !self.flag)]
    f1: u8,
    #[wire(when = self.count == 3)]
    f2: u8,
    #[wire(when = self.count != FEW)]
    f3: u8,
    #[wire(when = self.count < 3)]
    f4: u8,
    #[wire(when = self.count <= 3)]
    f5: u8,
    #[wire(when = self.count > 3)]
    f6: u8,
    #[wire(when = self.count >= 3)]
    f7: u8,
    #[wire(when = self.flag && self.count > 1)]
    f8: u8,
    #[wire(when = self.flag || (self.count > 1 && !self.pair.0))]
    f9: u8,
    #[wire(when = self.count & 4 != 0)]
    f10: u8,
    #[wire(when = self.signed < -1)]
    f11: u8,
    #[wire(when = matches!(self.kind, Kind::Rock | Kind::Plant { .. }))]
    f12: u8,
    #[wire(when = matches!(self.kind, Kind::Animal(..)))]
    f13: u8,
    #[wire(when = self.kind == Kind::Robot)]
    f14: u8,
    #[wire(when = self.kind.is_alive())]
    f15: u8,
    #[wire(when = self.pair.1.0 > self.pair.1.1)]
    f16: u8,
    #[wire(when = self.maybe.is_some())]
    f17: u8,
    #[wire(when = self.maybe.is_none())]
    f18: u8,
    #[wire(when = self.name.len() > 2)]
    f19: u8,
    #[wire(when = !self.name.is_empty())]
    f20: u8,
    #[wire(when = true)]
    f21: u8,
    #[wire(when = self.pair == (true, (1, 1)))]
    f22: u8,
    #[wire(when = self.name.chars().any(|letter| letter == 'a'))]
    f23: u8,
    #[wire(when = self.kind == Kind::Plant { height: 7 })]
    f24: u8,
    #[wire(when = Self::is_even(self.count))]
    f25: u8,
}

impl Operators {
    fn is_even(number: u8) -> bool {
        number.is_multiple_of(2)
    }

    /// Whether each is sent, and where it is.
    fn sent(&mut self) -> [(bool, &mut u8); 26] {
        let (flag, count, kind, pair) = (self.flag, self.count, self.kind, self.pair);
        let length = self.name.len();
        [
            (flag, &mut self.f0),
            (!flag, &mut self.f1),
            (count == 3, &mut self.f2),
            (count != 3, &mut self.f3),
            (count < 3, &mut self.f4),
            (count <= 3, &mut self.f5),
            (count > 3, &mut self.f6),
            (count >= 3, &mut self.f7),
            (flag && count > 1, &mut self.f8),
            (flag || count > 1 && !pair.0, &mut self.f9),
            (count & 4 != 0, &mut self.f10),
            (self.signed < -1, &mut self.f11),
            (matches!(kind, Kind::Rock | Kind::Plant { .. }), &mut self.f12),
            (matches!(kind, Kind::Animal(_)), &mut self.f13),
            (kind == Kind::Robot, &mut self.f14),
            (kind.is_alive(), &mut self.f15),
            (pair.1.0 > pair.1.1, &mut self.f16),
            (self.maybe.is_some(), &mut self.f17),
            (self.maybe.is_none(), &mut self.f18),
            (length > 2, &mut self.f19),
            (length != 0, &mut self.f20),
            (true, &mut self.f21),
            (pair == (true, (1, 1)), &mut self.f22),
            (self.name.contains('a'), &mut self.f23),
            (kind == Kind::Plant { height: 7 }, &mut self.f24),
            (count % 2 == 0, &mut self.f25),
        ]
    }
}

impl Twin for Operators {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.bool(&mut self.flag)?;
        stream.int(&mut self.count, 0..=9)?;
        stream.object(&mut self.signed)?;
        self.kind.by_hand(stream)?;
        stream.object(&mut self.pair)?;
        stream.object(&mut self.maybe)?;
        stream.string(&mut self.name, 4)?;
        for (is_sent, field) in self.sent() {
            if is_sent {
                stream.object(field)?;
            } else if S::READING {
                *field = 0;
            }
        }
        Ok(())
    }

    fn random(rng: &mut Rng) -> Self {
        let mut value = Self {
            flag: any(rng),
            count: within(rng, 0..=9),
            signed: any(rng),
            kind: Kind::random(rng),
            pair: (any(rng), (within(rng, 0..=2), within(rng, 0..=2))),
            maybe: any(rng),
            name: text(rng, 4),
            ..Self::default()
        };
        for (place, (is_sent, field)) in value.sent().into_iter().enumerate() {
            *field = if is_sent { place as u8 + 1 } else { 0 };
        }
        value
    }
}

/// Groups under one condition, and fields beside them.
#[derive(Wire, Clone, PartialEq, Debug)]
struct Groups {
    #[wire(bits = 2)]
    before: u8,
    at_rest: bool,
    #[wire(when = !self.at_rest, range = -100..=100, default = -1)]
    x: i8,
    #[wire(when = !self.at_rest)]
    y: u64,
    #[wire(skip, default = 5)]
    cache: u8,
    #[wire(when = !self.at_rest, default = Self::SPEED)]
    speed: f32,
    #[wire(skip)]
    untouched: u8,
    between: bool,
    #[wire(when = !self.at_rest)]
    far: u16,
    #[wire(when = self.between, max_len = 3)]
    list: Vec<bool>,
    #[wire(when = self.between)]
    boxed: Box<u32>,
    #[wire(when = self.between)]
    long: [[u8; 2]; 40],
    after: u8,
}

impl Groups {
    const SPEED: f32 = 1.5;
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            before: 0,
            at_rest: false,
            x: -1,
            y: 0,
            cache: 5,
            speed: 1.5,
            untouched: 0,
            between: false,
            far: 0,
            list: Vec::new(),
            boxed: Box::default(),
            long: [[0; 2]; 40],
            after: 0,
        }
    }
}

impl Twin for Groups {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut before = u64::from(self.before);
        stream.bits(&mut before, 2)?;
        self.before = before as u8;
        stream.bool(&mut self.at_rest)?;
        if self.at_rest {
            (self.x, self.y, self.speed) = (-1, 0, 1.5);
        } else {
            stream.int(&mut self.x, -100..=100)?;
            stream.object(&mut self.y)?;
            stream.float(&mut self.speed)?;
        }
        stream.bool(&mut self.between)?;
        if self.at_rest {
            self.far = 0;
        } else {
            stream.object(&mut self.far)?;
        }
        if self.between {
            stream.array(&mut self.list, 3, |flag, stream| stream.bool(flag))?;
            stream.object(&mut *self.boxed)?;
            stream.object(&mut self.long)?;
        } else {
            self.list.clear();
            *self.boxed = 0;
            self.long = [[0; 2]; 40];
        }
        stream.object(&mut self.after)
    }

    fn random(rng: &mut Rng) -> Self {
        let mut value = Self {
            before: within(rng, 0..=3),
            at_rest: any(rng),
            between: any(rng),
            after: any(rng),
            ..Self::default()
        };
        if !value.at_rest {
            value.x = within(rng, -100..=100);
            (value.y, value.speed, value.far) = (any(rng), any(rng), any(rng));
        }
        if value.between {
            value.list = super::twin::list(rng, 3, any);
            (value.boxed, value.long) = (any(rng), any(rng));
        }
        value
    }

    fn refused() -> Vec<Self> {
        vec![
            Self { before: 4, ..Self::default() },
            Self { x: 101, ..Self::default() },
            Self { between: true, list: vec![true; 4], ..Self::default() },
        ]
    }
}

/// Conditions within a variant, over fields with and without names.
#[derive(Wire, Clone, PartialEq, Debug)]
enum InVariants {
    Named {
        r#type: Kind,
        #[wire(when = self.r#type.is_alive() && self.r#type != Kind::Animal(3))]
        r#match: u16,
        #[wire(when = matches!(self.r#type, Kind::Plant { height: 0..=9 }), default = 77)]
        small: u8,
    },
    Tuple(
        (bool, (u8, bool)),
        #[wire(when = self.0.1.0 > 9 || self.0.0)] u8,
        #[wire(when = self.0.1.1)] [u8; 2],
        #[wire(when = self.0.1.1, default = 3)] u8,
    ),
}

impl Default for InVariants {
    fn default() -> Self {
        Self::Tuple((false, (0, false)), 0, [0; 2], 3)
    }
}

impl Twin for InVariants {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut ordinal = usize::from(matches!(self, Self::Tuple(..)));
        stream.variant(&mut ordinal, 2, |ordinal| ["Named", "Tuple"][ordinal])?;
        if S::READING {
            *self = match ordinal {
                0 => Self::Named { r#type: Kind::Rock, r#match: 0, small: 77 },
                _ => Self::default(),
            };
        }
        match self {
            Self::Named { r#type: kind, r#match, small } => {
                kind.by_hand(stream)?;
                if kind.is_alive() && *kind != Kind::Animal(3) {
                    stream.object(r#match)?;
                }
                match kind {
                    Kind::Plant { height: 0..=9 } => stream.object(small),
                    _ => Ok(()),
                }
            }
            Self::Tuple(first, byte, bytes, three) => {
                stream.object(&mut *first)?;
                if first.1.0 > 9 || first.0 {
                    stream.object(byte)?;
                }
                if first.1.1 {
                    stream.object(bytes)?;
                    stream.object(three)?;
                }
                Ok(())
            }
        }
    }

    fn random(rng: &mut Rng) -> Self {
        if rng.below(2) == 0 {
            let kind = match rng.below(4) {
                0 => Kind::Plant { height: 9 },
                1 => Kind::Animal(3),
                _ => Kind::random(rng),
            };
            let is_sent = kind.is_alive() && kind != Kind::Animal(3);
            let is_small = matches!(kind, Kind::Plant { height: 0..=9 });
            let r#match = if is_sent { any(rng) } else { 0 };
            return Self::Named {
                r#type: kind,
                r#match,
                small: if is_small { any(rng) } else { 77 },
            };
        }
        let first: (bool, (u8, bool)) = (any(rng), (any(rng), any(rng)));
        let byte = if first.1.0 > 9 || first.0 { any(rng) } else { 0 };
        let (bytes, three) = if first.1.1 { (any(rng), any(rng)) } else { ([0; 2], 3) };
        Self::Tuple(first, byte, bytes, three)
    }
}

/// A condition over a field that is not always sent: whatever a writer has there, it is not asked.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Chained {
    flag: bool,
    #[wire(when = self.flag, range = 0..=9, default = 9)]
    count: u8,
    #[wire(when = self.flag && self.count > 3)]
    more: Option<u8>,
    #[wire(when = (self.flag && self.count > 3) && self.more.is_some())]
    last: u16,
}

#[test]
fn fields_that_are_not_sent_count_as_their_default_in_conditions() {
    let value = Chained { flag: false, count: 7, more: Some(1), last: 2 };
    let mut buffer = [0; Chained::MAX_BYTES];
    assert_eq!(tightwire::encode(&value, &mut buffer), Ok(&[0][..]));
    let read = Chained { flag: false, count: 9, more: None, last: 0 };
    assert_eq!(tightwire::decode::<Chained>(&[0]), Ok(read));
    let value = Chained { flag: true, count: 7, more: Some(1), last: 2 };
    let packet = tightwire::encode(&value, &mut buffer).unwrap();
    assert_eq!(tightwire::decode::<Chained>(packet), Ok(value));
    for flag in [0, 1] {
        let schema = tightwire::schema::Schema::of::<Chained>();
        let is_read = tightwire::decode::<Chained>(&[flag]).is_ok();
        assert_eq!(schema.decode(&[flag]).is_ok(), is_read);
    }
}

#[test]
fn every_operator() {
    check::<Operators>();
}

#[test]
fn groups_of_fields() {
    check::<Groups>();
}

#[test]
fn fields_of_variants() {
    check::<InVariants>();
}

/// Text and lists of a variant that are not always sent.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Letter {
    #[default]
    Blank,
    Written {
        signed: bool,
        #[wire(when = self.signed, max_len = 8)]
        name: String,
        #[wire(when = self.signed, max_len = 4)]
        marks: Vec<u8>,
        #[wire(when = self.signed && self.name.len() > 2, max_len = 4)]
        note: Box<String>,
    },
}

#[test]
fn conditional_heap_fields_of_variants_round_trip() {
    let written = |signed, name: &str, note: &str| Letter::Written {
        signed,
        name: name.into(),
        marks: name.bytes().collect(),
        note: Box::new(note.into()),
    };
    let mut read = Letter::Blank;
    for (letter, comes) in [
        (written(true, "Ada", "gg"), written(true, "Ada", "gg")),
        (written(true, "Al", "gg"), written(true, "Al", "")),
        (written(false, "", ""), written(false, "", "")),
    ] {
        let mut buffer = [0; 64];
        let packet = tightwire::encode(&letter, &mut buffer).unwrap();
        tightwire::decode_into(packet, &mut read).unwrap();
        assert_eq!(read, comes);
        assert!(tightwire::schema::Schema::of::<Letter>().decode(packet).is_ok());
    }
}
