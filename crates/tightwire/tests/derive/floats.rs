//! Floats, vectors, rotations and directions.

use tightwire::{FloatRange, Stream, Wire};

use super::twin::{Twin, any, check, float, list, unit};
use crate::common::rng::Rng;

const NEAR: f32 = 8.0;
const STEP: f32 = 0.125;
const BITS: u32 = 9;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Floats {
    single: f32,
    double: f64,
    flag: bool,
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    place: [f32; 3],
    #[wire(min = 0, max = 10, resolution = 1)]
    whole: f32,
    #[wire(min = -NEAR, max = NEAR * 2.0, resolution = STEP)]
    named: f32,
    #[wire(min = Self::LOW, max = Self::HIGH, resolution = 0.5)]
    own: f32,
    #[wire(min = -10, max = -1, resolution = 0.25)]
    negative: [f32; 2],
    pair: [f32; 2],
    long: [f32; 7],
    #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
    nested: [[f32; 2]; 2],
    #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
    maybe: Option<f32>,
    #[wire(max_len = 3, min = -1.0, max = 1.0, resolution = 0.01)]
    path: Vec<[f32; 3]>,
    // As many steps as an `f32` can represent.
    #[wire(min = 0.0, max = 1.0, resolution = 1.5e-7)]
    fine: [f32; 3],
    #[wire(max_len = 2)]
    whole_list: Vec<[f32; 2]>,
}

impl Floats {
    const LOW: f32 = -3.5;
    const HIGH: f32 = 3.5;
}

impl Twin for Floats {
    const IS_EXACT: bool = false;

    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let unit = FloatRange::new(-1.0, 1.0, 0.01);
        stream.float(&mut self.single)?;
        stream.double(&mut self.double)?;
        stream.bool(&mut self.flag)?;
        stream.compressed_vector(&mut self.place, FloatRange::new(-256.0, 256.0, 0.001))?;
        stream.compressed_float(&mut self.whole, FloatRange::new(0.0, 10.0, 1.0))?;
        stream.compressed_float(&mut self.named, FloatRange::new(-8.0, 16.0, 0.125))?;
        stream.compressed_float(&mut self.own, FloatRange::new(-3.5, 3.5, 0.5))?;
        stream.compressed_vector(&mut self.negative, FloatRange::new(-10.0, -1.0, 0.25))?;
        stream.vector(&mut self.pair)?;
        stream.vector(&mut self.long)?;
        stream.fixed_array(&mut self.nested, |v, s| s.compressed_vector(v, unit))?;
        stream.option(&mut self.maybe, |v, s| s.compressed_float(v, unit))?;
        stream.array(&mut self.path, 3, |v, s| s.compressed_vector(v, unit))?;
        stream.compressed_vector(&mut self.fine, FloatRange::new(0.0, 1.0, 1.5e-7))?;
        stream.array(&mut self.whole_list, 2, |v, s| s.vector(v))
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            single: any(rng),
            double: any(rng),
            flag: any(rng),
            place: std::array::from_fn(|_| float(rng, -256.0, 256.0)),
            whole: float(rng, 0.0, 10.0),
            named: float(rng, -8.0, 16.0),
            own: float(rng, -3.5, 3.5),
            negative: std::array::from_fn(|_| float(rng, -10.0, -1.0)),
            pair: any(rng),
            long: any(rng),
            nested: std::array::from_fn(|_| std::array::from_fn(|_| float(rng, -1.0, 1.0))),
            maybe: (rng.below(2) == 0).then(|| float(rng, -1.0, 1.0)),
            path: list(rng, 3, |rng| std::array::from_fn(|_| float(rng, -1.0, 1.0))),
            fine: std::array::from_fn(|_| float(rng, 0.0, 1.0)),
            whole_list: list(rng, 2, any),
        }
    }

    fn refused() -> Vec<Self> {
        vec![
            Self { place: [0.0, f32::NAN, 0.0], ..Self::default() },
            Self { own: f32::INFINITY, ..Self::default() },
            Self { path: vec![[f32::NEG_INFINITY; 3]], ..Self::default() },
        ]
    }
}

/// More floats in a row than are quantised at once, one of them with too many steps for that.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct InARow {
    flag: bool,
    #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
    a: f32,
    #[wire(min = 0.0, max = 360.0, resolution = 0.01)]
    b: f32,
    #[wire(min = -90.0, max = 90.0, resolution = 0.3)]
    c: f32,
    #[wire(min = 1.0, max = 2.0, resolution = 0.7)]
    d: f32,
    #[wire(min = -500.0, max = 3.0, resolution = 0.001)]
    e: f32,
    #[wire(min = -5.0, max = 3.0, resolution = 0.1)]
    f: f32,
    #[wire(min = 0.0, max = 1.0, resolution = 1.5e-7)]
    g: f32,
    #[wire(range = 0..=9)]
    last: u8,
}

impl Twin for InARow {
    const IS_EXACT: bool = false;

    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.bool(&mut self.flag)?;
        stream.compressed_float(&mut self.a, FloatRange::new(-1.0, 1.0, 0.01))?;
        stream.compressed_float(&mut self.b, FloatRange::new(0.0, 360.0, 0.01))?;
        stream.compressed_float(&mut self.c, FloatRange::new(-90.0, 90.0, 0.3))?;
        stream.compressed_float(&mut self.d, FloatRange::new(1.0, 2.0, 0.7))?;
        stream.compressed_float(&mut self.e, FloatRange::new(-500.0, 3.0, 0.001))?;
        stream.compressed_float(&mut self.f, FloatRange::new(-5.0, 3.0, 0.1))?;
        stream.compressed_float(&mut self.g, FloatRange::new(0.0, 1.0, 1.5e-7))?;
        stream.int(&mut self.last, 0..=9)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            flag: any(rng),
            a: float(rng, -1.0, 1.0),
            b: float(rng, 0.0, 360.0),
            c: float(rng, -90.0, 90.0),
            d: float(rng, 1.0, 2.0),
            e: float(rng, -500.0, 3.0),
            f: float(rng, -5.0, 3.0),
            g: float(rng, 0.0, 1.0),
            last: (rng.below(10)) as u8,
        }
    }

    fn refused() -> Vec<Self> {
        let nan = f32::NAN;
        vec![
            Self { a: nan, last: 10, ..Self::default() },
            Self { b: f32::INFINITY, c: nan, ..Self::default() },
            Self { d: nan, g: nan, ..Self::default() },
            Self { e: f32::NEG_INFINITY, ..Self::default() },
            Self { g: nan, last: 10, ..Self::default() },
            Self { last: 10, ..Self::default() },
        ]
    }
}

#[test]
fn floats_in_a_row() {
    check::<InARow>();
}

#[derive(Wire, Clone, PartialEq, Debug)]
struct Turns {
    #[wire(bits = 3)]
    crumbs: u8,
    #[wire(smallest_three = 10)]
    turn: [f32; 4],
    #[wire(smallest_three = BITS + 11)]
    fine: [f32; 4],
    #[wire(unit = 12)]
    direction: [f32; 3],
    #[wire(unit = Self::COARSE)]
    coarse: [f32; 3],
    #[wire(smallest_three = 3)]
    several: [[f32; 4]; 2],
    #[wire(unit = 20)]
    maybe: Option<[f32; 3]>,
    flag: bool,
    #[wire(max_len = 2, unit = 5)]
    many: Vec<[f32; 3]>,
}

impl Turns {
    const COARSE: u32 = 2;
}

impl Default for Turns {
    fn default() -> Self {
        let (turn, up) = ([0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0]);
        Self {
            crumbs: 0,
            turn,
            fine: turn,
            direction: up,
            coarse: up,
            several: [turn; 2],
            maybe: None,
            flag: false,
            many: Vec::new(),
        }
    }
}

impl Twin for Turns {
    const IS_EXACT: bool = false;

    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut crumbs = u64::from(self.crumbs);
        stream.bits(&mut crumbs, 3)?;
        self.crumbs = crumbs as u8;
        stream.smallest_three(&mut self.turn, 10)?;
        stream.smallest_three(&mut self.fine, 20)?;
        stream.unit_vector(&mut self.direction, 12)?;
        stream.unit_vector(&mut self.coarse, 2)?;
        stream.fixed_array(&mut self.several, |v, s| s.smallest_three(v, 3))?;
        stream.option(&mut self.maybe, |v, s| s.unit_vector(v, 20))?;
        stream.bool(&mut self.flag)?;
        stream.array(&mut self.many, 2, |v, s| s.unit_vector(v, 5))
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            crumbs: rng.below(8) as u8,
            turn: unit(rng),
            fine: unit(rng),
            direction: unit(rng),
            coarse: unit(rng),
            several: [unit(rng), unit(rng)],
            maybe: (rng.below(2) == 0).then(|| unit(rng)),
            flag: any(rng),
            many: list(rng, 2, unit),
        }
    }

    fn refused() -> Vec<Self> {
        vec![
            Self { turn: [0.0; 4], ..Self::default() },
            Self { fine: [f32::NAN; 4], ..Self::default() },
            Self { direction: [0.0; 3], ..Self::default() },
            Self { crumbs: 8, turn: [0.0; 4], ..Self::default() },
        ]
    }
}

/// The vectors of a math library, whole and compressed.
macro_rules! math {
    ($name:ident, $v2:ty, $v3:ty, $quaternion:ty) => {
        #[derive(Wire, Clone, PartialEq, Debug)]
        struct $name {
            flag: bool,
            whole: $v3,
            #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
            pair: $v2,
            turn: $quaternion,
            #[wire(smallest_three = 9)]
            small: $quaternion,
            #[wire(unit = 8)]
            up: $v3,
            #[wire(min = -8.0, max = 8.0, resolution = 0.5)]
            corners: [$v2; 2],
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    flag: false,
                    whole: [0.0; 3].into(),
                    pair: [0.0; 2].into(),
                    turn: rotation([0.0, 0.0, 0.0, 1.0]),
                    small: rotation([0.0, 0.0, 0.0, 1.0]),
                    up: [0.0, 1.0, 0.0].into(),
                    corners: [[0.0; 2].into(); 2],
                }
            }
        }

        impl Twin for $name {
            const IS_EXACT: bool = false;

            fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
                let wide = FloatRange::new(-8.0, 8.0, 0.5);
                stream.bool(&mut self.flag)?;
                stream.vector(&mut self.whole)?;
                stream.compressed_vector(&mut self.pair, FloatRange::new(-1.0, 1.0, 0.01))?;
                stream.quaternion(&mut self.turn)?;
                stream.smallest_three(&mut self.small, 9)?;
                stream.unit_vector(&mut self.up, 8)?;
                stream.fixed_array(&mut self.corners, |v, s| s.compressed_vector(v, wide))
            }

            fn random(rng: &mut Rng) -> Self {
                let pair = |rng: &mut Rng| [float(rng, -8.0, 8.0), float(rng, -8.0, 8.0)];
                Self {
                    flag: any(rng),
                    whole: any::<[f32; 3]>(rng).into(),
                    pair: pair(rng).into(),
                    turn: rotation(unit(rng)),
                    small: rotation(unit(rng)),
                    up: unit::<3>(rng).into(),
                    corners: [pair(rng).into(), pair(rng).into()],
                }
            }
        }
    };
}

mod mint_types {
    use super::*;

    fn rotation(xyzw: [f32; 4]) -> mint::Quaternion<f32> {
        xyzw.into()
    }

    math!(Mint, mint::Vector2<f32>, mint::Point3<f32>, mint::Quaternion<f32>);

    #[test]
    fn vectors_of_mint() {
        check::<Mint>();
    }
}

/// Each version of glam has types of its own.
macro_rules! glam {
    ($($feature:literal $module:ident $glam:ident)*) => {$(
        #[cfg(feature = $feature)]
        mod $module {
            use $glam::{Quat, Vec2, Vec3};

            use super::*;

            fn rotation(xyzw: [f32; 4]) -> Quat {
                Quat::from_array(xyzw)
            }

            math!(Glam, Vec2, Vec3, Quat);

            #[test]
            fn vectors_of_glam() {
                check::<Glam>();
            }
        }
    )*};
}

glam! {
    "glam-030" types_of_030 glam_030
    "glam-032" types_of_032 glam_032
    "glam-033" types_of_033 glam_033
    "glam-034" types_of_034 glam_034
}

#[test]
fn floats_whole_and_compressed() {
    check::<Floats>();
}

#[test]
fn rotations_and_directions() {
    check::<Turns>();
}
