//! Names that derived code could trip over.

use tightwire::{Stream, Wire};

use super::twin::{Twin, any, check, within};
use crate::common::rng::Rng;

// What a careless macro would take for its own.
const NAMES: u8 = 3;
const T: u8 = 2;
#[allow(non_upper_case_globals)]
const value: u8 = 200;

const fn stream() -> u8 {
    100
}

const fn low() -> u8 {
    1
}

const fn high() -> u8 {
    90
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
#[allow(non_snake_case)]
struct Fields {
    stream: u8,
    value: bool,
    run: u8,
    self_: u8,
    S: u8,
    T: u8,
    r#type: bool,
    __run: u8,
    #[wire(when = self.r#type && self.value)]
    r#match: u16,
    #[wire(range = low()..=high())]
    ordinal: u8,
    #[wire(range = 0..=stream())]
    named: Option<u8>,
    #[wire(max_len = 2, range = 0..=value)]
    list: Vec<u8>,
}

impl Twin for Fields {
    fn by_hand<St: Stream>(&mut self, s: &mut St) -> Result<(), St::Error> {
        s.object(&mut self.stream)?;
        s.bool(&mut self.value)?;
        s.object(&mut self.run)?;
        s.object(&mut self.self_)?;
        s.object(&mut self.S)?;
        s.object(&mut self.T)?;
        s.bool(&mut self.r#type)?;
        s.object(&mut self.__run)?;
        if self.r#type && self.value {
            s.object(&mut self.r#match)?;
        } else {
            self.r#match = 0;
        }
        s.int(&mut self.ordinal, 1..=90)?;
        s.option(&mut self.named, |v, s| s.int(v, 0..=100))?;
        s.array(&mut self.list, 2, |v, s| s.int(v, 0..=200))
    }

    fn random(rng: &mut Rng) -> Self {
        let (flag, r#type) = (any(rng), any(rng));
        Self {
            stream: any(rng),
            value: flag,
            run: any(rng),
            self_: any(rng),
            S: any(rng),
            T: any(rng),
            r#type,
            __run: any(rng),
            r#match: if r#type && flag { any(rng) } else { 0 },
            ordinal: within(rng, 1..=90),
            named: (rng.below(2) == 0).then(|| within(rng, 0..=100)),
            list: super::twin::list(rng, 2, |rng| within(rng, 0..=200)),
        }
    }
}

/// The same in variants, whose fields are bindings.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
#[allow(non_snake_case, non_camel_case_types)]
enum Variants {
    r#type {
        stream: u8,
        value: bool,
        run: u8,
        S: u8,
        T: u8,
        NAMES: u8,
        #[wire(range = 0..=NAMES)]
        field_0: u8,
        #[wire(when = self.NAMES > T, range = low()..=high(), default = stream())]
        low: u8,
        r#fn: bool,
        #[wire(when = self.r#fn)]
        high: u8,
    },
    #[default]
    None,
    Some(u8, #[wire(when = self.0 > T)] u8, #[wire(range = 0..=NAMES)] u8),
    Ok,
    Err(),
}

impl Twin for Variants {
    fn by_hand<St: Stream>(&mut self, s: &mut St) -> Result<(), St::Error> {
        let mut ordinal = match self {
            Self::r#type { .. } => 0,
            Self::None => 1,
            Self::Some(..) => 2,
            Self::Ok => 3,
            Self::Err() => 4,
        };
        s.variant(&mut ordinal, 5, |ordinal| ["type", "None", "Some", "Ok", "Err"][ordinal])?;
        if St::READING {
            *self = match ordinal {
                0 => Self::r#type {
                    stream: 0,
                    value: false,
                    run: 0,
                    S: 0,
                    T: 0,
                    NAMES: 0,
                    field_0: 0,
                    low: 100,
                    r#fn: false,
                    high: 0,
                },
                1 => Self::None,
                2 => Self::Some(0, 0, 0),
                3 => Self::Ok,
                _ => Self::Err(),
            };
        }
        match self {
            Self::r#type {
                stream,
                value: flag,
                run,
                S,
                T: t,
                NAMES: n,
                field_0,
                low,
                r#fn,
                high,
            } => {
                s.object(stream)?;
                s.bool(flag)?;
                s.object(run)?;
                s.object(S)?;
                s.object(t)?;
                s.object(&mut *n)?;
                s.int(field_0, 0..=3)?;
                if *n > 2 {
                    s.int(low, 1..=90)?;
                }
                s.bool(&mut *r#fn)?;
                if *r#fn { s.object(high) } else { Ok(()) }
            }
            Self::Some(first, second, third) => {
                s.object(&mut *first)?;
                if *first > 2 {
                    s.object(second)?;
                }
                s.int(third, 0..=3)
            }
            _ => Ok(()),
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let first: u8 = any(rng);
        match rng.below(6) {
            0 => Self::None,
            1 => Self::Some(first, if first > 2 { any(rng) } else { 0 }, within(rng, 0..=3)),
            2 => Self::Ok,
            3 => Self::Err(),
            _ => {
                let r#fn = any(rng);
                Self::r#type {
                    stream: any(rng),
                    value: any(rng),
                    run: any(rng),
                    S: any(rng),
                    T: any(rng),
                    NAMES: first,
                    field_0: within(rng, 0..=3),
                    low: if first > 2 { within(rng, 1..=90) } else { 100 },
                    r#fn,
                    high: if r#fn { any(rng) } else { 0 },
                }
            }
        }
    }
}

/// Types, fields, bounds and conditions that come out of a macro, from either side of it.
macro_rules! declare {
    ($name:ident, $choice:ident, $first:ident: $ty:ty, $text:ty, $byte:ty, $float:ty,
     $range:expr, $most:expr, $when:expr) => {
        #[derive(Wire, Default, Clone, PartialEq, Debug)]
        struct $name {
            $first: $ty,
            inner: bool,
            #[wire(when = self.$first > 5 && self.inner, range = $range)]
            ranged: u8,
            #[wire(when = self.inner, max_len = $most)]
            text: $text,
            #[wire(max_len = $most)]
            blob: Vec<$byte>,
            #[wire(min = -1.0, max = 1.0, resolution = 0.5)]
            vector: [$float; 2],
        }

        #[derive(Wire, Default, Clone, PartialEq, Debug)]
        enum $choice {
            #[default]
            Nothing,
            Fields {
                $first: $ty,
                inner: bool,
                #[wire(when = self.$first > 5 && self.inner, range = 0..=$most as u8)]
                ranged: u8,
                #[wire(when = $when)]
                last: u8,
            },
        }
    };
}

declare!(
    Declared, Choice, first: u16, String, u8, f32, 3..=9, 4, {
        // The macro's own field, looked at from outside of it.
        true
    }
);

impl Twin for Declared {
    const IS_EXACT: bool = false;

    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.object(&mut self.first)?;
        stream.bool(&mut self.inner)?;
        if self.first > 5 && self.inner {
            stream.int(&mut self.ranged, 3..=9)?;
        } else if S::READING {
            self.ranged = 0;
        }
        if self.inner {
            stream.string(&mut self.text, 4)?;
        } else if S::READING {
            self.text.clear();
        }
        stream.blob(&mut self.blob, 4)?;
        stream.compressed_vector(&mut self.vector, tightwire::FloatRange::new(-1.0, 1.0, 0.5))
    }

    fn random(rng: &mut Rng) -> Self {
        let (first, inner) = (any(rng), any(rng));
        Self {
            first,
            inner,
            ranged: if first > 5 && inner { within(rng, 3..=9) } else { 0 },
            text: if inner { super::twin::text(rng, 4) } else { String::new() },
            blob: super::twin::list(rng, 4, any),
            vector: [0.5, -1.0],
        }
    }
}

impl Twin for Choice {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut ordinal = usize::from(*self != Self::Nothing);
        stream.variant(&mut ordinal, 2, |ordinal| ["Nothing", "Fields"][ordinal])?;
        if S::READING {
            *self = match ordinal {
                0 => Self::Nothing,
                _ => Self::Fields { first: 0, inner: false, ranged: 0, last: 0 },
            };
        }
        if let Self::Fields { first, inner, ranged, last } = self {
            stream.object(&mut *first)?;
            stream.bool(&mut *inner)?;
            if *first > 5 && *inner {
                stream.int(ranged, 0..=4)?;
            }
            stream.object(last)?;
        }
        Ok(())
    }

    fn random(rng: &mut Rng) -> Self {
        let (first, inner) = (any(rng), any(rng));
        let ranged = if first > 5 && inner { within(rng, 0..=4) } else { 0 };
        match rng.below(3) {
            0 => Self::Nothing,
            _ => Self::Fields { first, inner, ranged, last: any(rng) },
        }
    }
}

/// A condition that is given from outside, over a field that the macro names.
macro_rules! with_condition {
    ($when:expr) => {
        #[derive(Wire, Default, Clone, PartialEq, Debug)]
        struct Outside {
            flag: bool,
            #[wire(when = $when)]
            sent: u8,
        }

        #[derive(Wire, Clone, PartialEq, Debug)]
        enum OutsideVariant {
            Only {
                flag: bool,
                #[wire(when = $when)]
                sent: u8,
            },
        }
    };
}

with_condition!(!self.flag);

#[test]
fn fields_with_the_names_of_derived_code() {
    check::<Fields>();
}

#[test]
fn variants_with_the_names_of_derived_code() {
    check::<Variants>();
}

#[test]
fn types_out_of_a_macro() {
    check::<Declared>();
    check::<Choice>();
    let mut buffer = [0; 4];
    let packet = tightwire::encode(&Outside { flag: false, sent: 7 }, &mut buffer).unwrap();
    assert_eq!(packet, [0b0000_1110, 0]);
    let variant = OutsideVariant::Only { flag: false, sent: 7 };
    assert_eq!(tightwire::encode(&variant, &mut [0; 4]), Ok(packet));
    // As text and bytes, although the macro hides their types.
    let shape = format!("{:?}", Declared::describe());
    assert!(shape.contains("Blob") && shape.contains("CompressedVector"), "{shape}");
}

#[test]
fn raw_names_are_shown_without_their_prefix() {
    let shape = format!("{:?} {:?}", Fields::describe(), Variants::describe());
    assert!(shape.contains("\"type\"") && !shape.contains("r#"), "{shape}");
    let only = Variants::r#type {
        stream: 0,
        value: true,
        run: 0,
        S: 0,
        T: 0,
        NAMES: 0,
        field_0: 0,
        low: 100,
        r#fn: true,
        high: 0,
    };
    let trace = tightwire::stream::explain_write(&only);
    let paths: Vec<String> = trace.spans().map(|span| span.path()).collect();
    assert_eq!(paths[..2], ["Variants", "Variants.type.stream"]);
    assert_eq!(paths[8], "Variants.type.fn");
}
