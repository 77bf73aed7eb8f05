//! The packets that every library writes and reads. They are plain Rust types with the derives of
//! all libraries; the `wire` attributes declare the ranges.

use std::f32::consts::FRAC_1_SQRT_2;

/// Properties of a packet type for the harness.
pub trait Packet: Clone + PartialEq {
    /// Maximum length of a packet for any library in bytes, with slack.
    const MAX_BYTES: usize;

    /// Gives the slot what a reader knows before it reads. Never timed.
    fn prepare(&mut self, _source: &Self) {}

    /// Returns whether `read` is close enough to `self` for a codec that quantises.
    fn is_close(&self, read: &Self) -> bool {
        self == read
    }
}

/// Puts the derives of all libraries on each type.
macro_rules! packets {
    ($($item:item)*) => {$(
        #[derive(
            Clone, PartialEq, tightwire::Wire,
            bitcode::Encode, bitcode::Decode,
            borsh::BorshSerialize, borsh::BorshDeserialize,
            rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
            serde::Serialize, serde::Deserialize,
            speedy::Writable, speedy::Readable,
            wincode::SchemaWrite, wincode::SchemaRead,
        )]
        $item
    )*};
}

packets! {
    /// A body whose fields the bit-level codecs quantise: see [`crate::quantise`].
    #[derive(Default)]
    pub struct RigidBody {
        #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
        pub position: [f32; 3],
        /// Unit quaternion x, y, z, w.
        #[wire(smallest_three = 10)]
        pub orientation: [f32; 4],
        pub at_rest: bool,
        /// Linear velocity; like the angular velocity, zero for a body at rest.
        #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
        pub linear_velocity: [f32; 3],
        #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
        pub angular_velocity: [f32; 3],
    }

    /// At most [`MAX_BODIES`] bodies.
    pub struct Bodies {
        #[wire(max_len = MAX_BODIES)]
        pub bodies: Vec<RigidBody>,
    }

    /// The fields of a [`RigidBody`], not quantised. A type of its own, since codecs with
    /// attributes on the fields declare the ranges there.
    #[derive(Default)]
    pub struct RawBody {
        pub position: [f32; 3],
        pub orientation: [f32; 4],
        pub at_rest: bool,
        #[wire(when = !self.at_rest)]
        pub linear_velocity: [f32; 3],
        #[wire(when = !self.at_rest)]
        pub angular_velocity: [f32; 3],
    }

    /// At most [`MAX_BODIES`] bodies.
    pub struct RawBodies {
        #[wire(max_len = MAX_BODIES)]
        pub bodies: Vec<RawBody>,
    }

    #[derive(Default)]
    pub struct PlayerInput {
        pub tick: u32,
        #[wire(bits = 12)]
        pub buttons: u16,
        #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
        pub move_x: f32,
        #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
        pub move_y: f32,
        #[wire(min = 0.0, max = 360.0, resolution = 0.01)]
        pub yaw: f32,
        #[wire(min = -90.0, max = 90.0, resolution = 0.01)]
        pub pitch: f32,
        #[wire(range = 0..=9)]
        pub weapon: u8,
        pub sequence: u16,
    }

    /// A [`PlayerInput`] whose buttons are an array.
    pub struct ButtonInput {
        pub tick: u32,
        pub buttons: [bool; 12],
        #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
        pub move_x: f32,
        #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
        pub move_y: f32,
        #[wire(min = 0.0, max = 360.0, resolution = 0.01)]
        pub yaw: f32,
        #[wire(min = -90.0, max = 90.0, resolution = 0.01)]
        pub pitch: f32,
        #[wire(range = 0..=9)]
        pub weapon: u8,
        pub sequence: u16,
    }

    /// A part of [`Squad`].
    #[derive(Default)]
    pub struct Pose {
        #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
        pub position: [f32; 3],
        #[wire(min = 0.0, max = 360.0, resolution = 0.01)]
        pub heading: f32,
        #[wire(range = 0..=100)]
        pub health: u8,
    }

    /// One type in several places: twice as a field, in an option, and in a list of at most
    /// [`MAX_SQUAD`].
    pub struct Squad {
        pub leader: Pose,
        pub camera: Pose,
        pub target: Option<Pose>,
        #[wire(max_len = MAX_SQUAD)]
        pub members: Vec<Pose>,
    }

    // The byte-level libraries that support it use a one-byte tag.
    #[speedy(tag_type = u8)]
    #[wincode(tag_encoding = "u8")]
    pub enum Message {
        Spawn {
            #[wire(range = 0..=4095)]
            id: u16,
            #[wire(range = 0..=31)]
            kind: u8,
            #[wire(range = -2000..=2000)]
            x: i16,
            #[wire(range = -2000..=2000)]
            y: i16,
        },
        Despawn {
            #[wire(range = 0..=4095)]
            id: u16,
        },
        Damage {
            #[wire(range = 0..=4095)]
            target: u16,
            #[wire(range = 0..=4095)]
            source: u16,
            #[wire(range = 0..=500)]
            amount: u16,
            critical: bool,
        },
        Chat {
            #[wire(range = 0..=63)]
            from: u8,
            #[wire(max_len = MAX_TEXT)]
            text: String,
        },
        Score {
            #[wire(range = 0..=63)]
            player: u8,
            #[wire(range = -100_000..=100_000)]
            score: i32,
        },
        Ping { time: u32, sequence: u16 },
        Pickup {
            #[wire(range = 0..=63)]
            player: u8,
            #[wire(range = 0..=1023)]
            item: u16,
            #[wire(range = 1..=99)]
            count: u8,
        },
        Teleport {
            #[wire(range = 0..=63)]
            player: u8,
            position: [f32; 3],
        },
    }

    /// Sorted distinct indices below [`MAX_INDICES`], each with a byte.
    pub struct Indices {
        #[wire(max_len = MAX_INDICES)]
        pub entries: Vec<(u16, u8)>,
    }

    /// A struct of 32 bytes without padding.
    #[derive(
        Copy, Default,
        zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout,
    )]
    #[repr(C)]
    pub struct Plain {
        pub id: u64,
        pub position: [f32; 4],
        pub flags: u32,
        pub kind: u16,
        pub owner: u16,
    }

    /// At most [`MAX_PLAINS`] structs.
    pub struct Plains {
        #[wire(pod, max_len = MAX_PLAINS)]
        pub plains: Vec<Plain>,
    }
}

pub const MAX_BODIES: usize = 1000;
pub const MAX_SQUAD: usize = 8;
pub const MAX_PLAINS: usize = 1000;
pub const MAX_INDICES: usize = 4096;
pub const MAX_TEXT: usize = 32;

/// Raw bit fields. Writers take `values`; readers know the widths and leave the sum of the values,
/// which is enough to check and cannot be optimised out.
#[derive(Clone, PartialEq)]
pub struct BitFields {
    pub widths: Vec<u8>,
    pub values: Vec<u32>,
    pub sum: u64,
}

impl Default for Message {
    fn default() -> Self {
        Self::empty(0)
    }
}

impl Message {
    /// Returns the variant's number on the wire of the bit-level codecs.
    pub fn ordinal(&self) -> u8 {
        match self {
            Self::Spawn { .. } => 0,
            Self::Despawn { .. } => 1,
            Self::Damage { .. } => 2,
            Self::Chat { .. } => 3,
            Self::Score { .. } => 4,
            Self::Ping { .. } => 5,
            Self::Pickup { .. } => 6,
            Self::Teleport { .. } => 7,
        }
    }

    /// Returns the empty variant that a reader fills.
    #[rustfmt::skip]
    pub fn empty(ordinal: u8) -> Self {
        match ordinal {
            0 => Self::Spawn { id: 0, kind: 0, x: 0, y: 0 },
            1 => Self::Despawn { id: 0 },
            2 => Self::Damage { target: 0, source: 0, amount: 0, critical: false },
            3 => Self::Chat { from: 0, text: String::new() },
            4 => Self::Score { player: 0, score: 0 },
            5 => Self::Ping { time: 0, sequence: 0 },
            6 => Self::Pickup { player: 0, item: 0, count: 1 },
            _ => Self::Teleport { player: 0, position: [0.0; 3] },
        }
    }
}

impl Packet for Bodies {
    const MAX_BYTES: usize = 64 * (MAX_BODIES + 1);

    fn is_close(&self, read: &Self) -> bool {
        let pairs = self.bodies.iter().zip(&read.bodies);
        self.bodies.len() == read.bodies.len()
            && pairs.into_iter().all(|(a, b)| body_is_close(a, b))
    }
}

impl Packet for RawBodies {
    const MAX_BYTES: usize = 64 * (MAX_BODIES + 1);
}

impl Packet for PlayerInput {
    const MAX_BYTES: usize = 64;

    fn is_close(&self, read: &Self) -> bool {
        // The floats are compared on their own, all other fields exactly.
        let exact = Self {
            move_x: self.move_x,
            move_y: self.move_y,
            yaw: self.yaw,
            pitch: self.pitch,
            ..read.clone()
        };
        *self == exact
            && within(&[self.move_x, self.move_y], &[read.move_x, read.move_y], 0.01)
            && within(&[self.yaw, self.pitch], &[read.yaw, read.pitch], 0.01)
    }
}

impl Packet for ButtonInput {
    const MAX_BYTES: usize = 64;

    fn is_close(&self, read: &Self) -> bool {
        // The floats are compared on their own, all other fields exactly.
        let exact = Self {
            move_x: self.move_x,
            move_y: self.move_y,
            yaw: self.yaw,
            pitch: self.pitch,
            ..read.clone()
        };
        *self == exact
            && within(&[self.move_x, self.move_y], &[read.move_x, read.move_y], 0.01)
            && within(&[self.yaw, self.pitch], &[read.yaw, read.pitch], 0.01)
    }
}

impl Packet for Squad {
    const MAX_BYTES: usize = 40 * (MAX_SQUAD + 4);

    fn is_close(&self, read: &Self) -> bool {
        let poses = |squad: &Self| {
            let fields = [squad.leader.clone(), squad.camera.clone()];
            fields.into_iter().chain(squad.target.clone()).chain(squad.members.clone())
        };
        self.target.is_some() == read.target.is_some()
            && self.members.len() == read.members.len()
            && poses(self).zip(poses(read)).all(|(a, b)| {
                within(&a.position, &b.position, 0.001)
                    && within(&[a.heading], &[b.heading], 0.01)
                    && a.health == b.health
            })
    }
}

impl Packet for Message {
    const MAX_BYTES: usize = 96;
}

impl Packet for Indices {
    const MAX_BYTES: usize = 4 * (MAX_INDICES + 8);
}

impl Packet for Plains {
    const MAX_BYTES: usize = 40 * (MAX_PLAINS + 1);
}

impl Packet for BitFields {
    const MAX_BYTES: usize = 4 * crate::data::BIT_FIELDS + 64;

    fn prepare(&mut self, source: &Self) {
        self.widths.clone_from(&source.widths);
        self.sum = 0;
    }

    fn is_close(&self, read: &Self) -> bool {
        self.sum == read.sum
    }
}

pub fn body_is_close(a: &RigidBody, b: &RigidBody) -> bool {
    within(&a.position, &b.position, 0.001)
        && rotation_is_close(&a.orientation, &b.orientation)
        && a.at_rest == b.at_rest
        && within(&a.linear_velocity, &b.linear_velocity, 0.01)
        && within(&a.angular_velocity, &b.angular_velocity, 0.01)
}

/// A quaternion and its negation are the same rotation. The largest component is computed from the
/// three others, so it may be off by the sum of their errors.
fn rotation_is_close(a: &[f32; 4], b: &[f32; 4]) -> bool {
    let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    within(a, &b.map(|component| component * dot.signum()), 3.0 * FRAC_1_SQRT_2 / 511.0)
}

/// Returns whether all numbers differ by at most half of `step`, with room for `f32` rounding.
fn within(a: &[f32], b: &[f32], step: f32) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= step * 0.52)
}
