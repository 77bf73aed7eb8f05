//! Values of every kind, many of them at the ends of their ranges.

use tightwire::{ObjectId, Wire, snapshot};

use crate::common::moving::Body;
use crate::common::seed::seed;

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(number: u64) -> Self {
        // Never zero, which stays zero.
        Self(seed(number).max(1))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Nothing;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    #[default]
    None,
    Ball(f64),
    Text(#[wire(max_len = 20)] String),
    Many {
        #[wire(max_len = 6)]
        list: Vec<Option<u128>>,
        #[wire(max_len = 3)]
        floats: Vec<f32>,
    },
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Mover {
    pub(crate) body: Body,
    pub(crate) shape: Shape,
    pub(crate) extra: Option<i64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Any {
    Nothing,
    Mover(Mover),
    Shape(Shape),
}

pub(crate) fn any(random: &mut Random) -> Any {
    let shape = match random.below(4) {
        0 => Shape::None,
        1 => Shape::Ball([f64::NAN, -0.0, 1e300, 3.5][random.below(4) as usize]),
        2 => Shape::Text("ä".repeat(random.below(11) as usize)),
        _ => Shape::Many {
            list: (0..random.below(7)).map(|n| (n % 2 == 0).then_some(u128::MAX - 3)).collect(),
            floats: vec![f32::INFINITY; random.below(4) as usize],
        },
    };
    match random.below(5) {
        0 => Any::Nothing,
        1 => Any::Shape(shape),
        _ => {
            let mut number = |low: f32, high: f32| match random.below(8) {
                0 => low,
                1 => high,
                n => low + (high - low) * n as f32 / 9.0,
            };
            let position = [number(-50.0, 50.0), number(-50.0, 50.0), number(-50.0, 50.0)];
            let velocity = [number(-20.0, 20.0), number(-20.0, 20.0), number(-20.0, 20.0)];
            let rotation = [number(-1.0, 1.0), number(-1.0, 1.0), 0.3, number(-1.0, 1.0)];
            let length = rotation.iter().map(|part| part * part).sum::<f32>().sqrt();
            let body = Body {
                position,
                velocity,
                rotation: rotation.map(|part| part / length),
                heading: random.below(360) as u16,
                at_rest: random.below(2) == 0,
                speed: random.below(101) as u8,
                owner: (random.below(3) == 0).then_some(u16::MAX),
            };
            Any::Mover(Mover { body, shape, extra: (random.below(3) == 0).then_some(i64::MIN) })
        }
    }
}

fn packed_bytes<T: Wire>(value: &mut T) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    tightwire::encode(value, &mut buffer).unwrap().to_vec()
}

/// As it is after it was quantised.
pub(crate) fn quantised(any: &Any) -> Any {
    match any.clone() {
        Any::Nothing => Any::Nothing,
        Any::Mover(mut mover) => Any::Mover(tightwire::decode(&packed_bytes(&mut mover)).unwrap()),
        Any::Shape(mut shape) => Any::Shape(tightwire::decode(&packed_bytes(&mut shape)).unwrap()),
    }
}

pub(crate) fn expected_bytes(any: &Any) -> Vec<u8> {
    match any.clone() {
        Any::Nothing => vec![0],
        Any::Mover(mut mover) => [vec![1], packed_bytes(&mut mover)].concat(),
        Any::Shape(mut shape) => [vec![2], packed_bytes(&mut shape)].concat(),
    }
}

pub(crate) fn read(receiver: &mut snapshot::Receiver) -> Vec<(u32, Vec<u8>)> {
    let objects: Vec<_> = receiver.objects().collect();
    let read = |(id, class): (ObjectId, u16)| {
        let any = match class {
            0 => receiver.get::<Nothing>(id).map(|_| Any::Nothing),
            1 => receiver.get::<Mover>(id).map(Any::Mover),
            _ => receiver.get::<Shape>(id).map(Any::Shape),
        };
        (id.0, expected_bytes(&any.unwrap()))
    };
    objects.into_iter().map(read).collect()
}
