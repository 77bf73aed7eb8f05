//! Generators of the data sets. A set is written or read in one timed pass: one large packet, or
//! many small ones, each encoded on its own.

use crate::packets::{
    BitFields, Bodies, ButtonInput, Indices, MAX_BODIES, MAX_INDICES, MAX_PLAINS, MAX_SQUAD,
    Message, Plain, Plains, PlayerInput, Pose, RawBodies, RawBody, RigidBody, Squad,
};
use fastrand::Rng;
use std::array::from_fn;

/// Number of bit fields in one packet; all data sets together hold about a million.
pub const BIT_FIELDS: usize = 32 * 1024;

pub fn bodies(rng: &mut Rng) -> Vec<Bodies> {
    let bodies = (0..MAX_BODIES).map(|_| body(rng)).collect();
    vec![Bodies { bodies }]
}

pub fn bodies_raw(rng: &mut Rng) -> Vec<RawBodies> {
    let raw = |body: RigidBody| RawBody {
        position: body.position,
        orientation: body.orientation,
        at_rest: body.at_rest,
        linear_velocity: body.linear_velocity,
        angular_velocity: body.angular_velocity,
    };
    let bodies = (0..MAX_BODIES).map(|_| raw(body(rng))).collect();
    vec![RawBodies { bodies }]
}

pub fn inputs(rng: &mut Rng) -> Vec<PlayerInput> {
    let tick = rng.u32(..1 << 24);
    let mut input = |number: u16| PlayerInput {
        tick: tick + u32::from(number),
        buttons: rng.u16(..1 << 12),
        move_x: float(rng, -1.0, 1.0),
        move_y: float(rng, -1.0, 1.0),
        yaw: float(rng, 0.0, 360.0),
        pitch: float(rng, -90.0, 90.0),
        weapon: rng.u8(..=9),
        sequence: number,
    };
    (0..256).map(&mut input).collect()
}

pub fn buttons(rng: &mut Rng) -> Vec<ButtonInput> {
    let with_array = |input: PlayerInput| ButtonInput {
        tick: input.tick,
        buttons: from_fn(|button| input.buttons >> button & 1 != 0),
        move_x: input.move_x,
        move_y: input.move_y,
        yaw: input.yaw,
        pitch: input.pitch,
        weapon: input.weapon,
        sequence: input.sequence,
    };
    inputs(rng).into_iter().map(with_array).collect()
}

pub fn places(rng: &mut Rng) -> Vec<Squad> {
    let pose = |rng: &mut Rng| Pose {
        position: from_fn(|_| float(rng, -256.0, 256.0)),
        heading: float(rng, 0.0, 360.0),
        health: rng.u8(..=100),
    };
    let squad = |rng: &mut Rng| Squad {
        leader: pose(rng),
        camera: pose(rng),
        target: rng.bool().then(|| pose(rng)),
        members: (0..rng.usize(..=MAX_SQUAD)).map(|_| pose(rng)).collect(),
    };
    (0..128).map(|_| squad(rng)).collect()
}

pub fn messages(rng: &mut Rng) -> Vec<Message> {
    (0..1000).map(|_| message(rng)).collect()
}

/// Makes four packets, so that a pass is long enough to be timed well.
pub fn indices_2000(rng: &mut Rng) -> Vec<Indices> {
    (0..4).map(|_| indices(rng, 2000)).collect()
}

/// Makes many packets, so that a pass is long enough to be timed well.
pub fn indices_32(rng: &mut Rng) -> Vec<Indices> {
    (0..128).map(|_| indices(rng, 32)).collect()
}

pub fn plain(rng: &mut Rng) -> Vec<Plains> {
    let mut plain = |_| Plain {
        id: rng.u64(..),
        position: from_fn(|_| float(rng, -256.0, 256.0)),
        flags: rng.u32(..),
        kind: rng.u16(..),
        owner: rng.u16(..),
    };
    let plains = (0..MAX_PLAINS).map(&mut plain).collect();
    vec![Plains { plains }]
}

pub fn bits(rng: &mut Rng) -> Vec<BitFields> {
    let widths: Vec<u8> = (0..BIT_FIELDS).map(|_| rng.u8(1..=32)).collect();
    let mut value = |width: &u8| rng.u32(..) >> (32 - u32::from(*width));
    let values: Vec<u32> = widths.iter().map(&mut value).collect();
    let sum = values.iter().map(|value| u64::from(*value)).sum();
    vec![BitFields { widths, values, sum }]
}

fn float(rng: &mut Rng, min: f32, max: f32) -> f32 {
    min + rng.f32() * (max - min)
}

fn body(rng: &mut Rng) -> RigidBody {
    let at_rest = rng.bool();
    let velocity = |rng: &mut Rng| from_fn(|_| if at_rest { 0.0 } else { float(rng, -32.0, 32.0) });
    RigidBody {
        position: from_fn(|_| float(rng, -256.0, 256.0)),
        orientation: unit_quaternion(rng),
        at_rest,
        linear_velocity: velocity(rng),
        angular_velocity: velocity(rng),
    }
}

/// Returns a uniform rotation: points of the cube are drawn until one lies in the unit ball.
fn unit_quaternion(rng: &mut Rng) -> [f32; 4] {
    loop {
        let point: [f32; 4] = from_fn(|_| float(rng, -1.0, 1.0));
        let length = point.iter().map(|x| x * x).sum::<f32>().sqrt();
        if (0.1..=1.0).contains(&length) {
            return point.map(|x| x / length);
        }
    }
}

fn message(rng: &mut Rng) -> Message {
    let id = |rng: &mut Rng| rng.u16(..=4095);
    let player = |rng: &mut Rng| rng.u8(..=63);
    match rng.u8(..8) {
        0 => Message::Spawn {
            id: id(rng),
            kind: rng.u8(..=31),
            x: rng.i16(-2000..=2000),
            y: rng.i16(-2000..=2000),
        },
        1 => Message::Despawn { id: id(rng) },
        2 => Message::Damage {
            target: id(rng),
            source: id(rng),
            amount: rng.u16(..=500),
            critical: rng.bool(),
        },
        3 => Message::Chat {
            from: player(rng),
            text: (0..rng.usize(4..=24)).map(|_| rng.alphanumeric()).collect(),
        },
        4 => Message::Score { player: player(rng), score: rng.i32(-100_000..=100_000) },
        5 => Message::Ping { time: rng.u32(..), sequence: rng.u16(..) },
        6 => Message::Pickup { player: player(rng), item: rng.u16(..=1023), count: rng.u8(1..=99) },
        _ => Message::Teleport {
            player: player(rng),
            position: from_fn(|_| float(rng, -256.0, 256.0)),
        },
    }
}

fn indices(rng: &mut Rng, count: usize) -> Indices {
    let all = 0..u16::try_from(MAX_INDICES).expect("indices are u16");
    let mut chosen = rng.choose_multiple(all, count);
    chosen.sort_unstable();
    let entries = chosen.into_iter().map(|index| (index, rng.u8(..))).collect();
    Indices { entries }
}
