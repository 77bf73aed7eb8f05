//! The messages, and the work of their handlers.

use fastrand::Rng;
use std::hint::black_box;
use tightwire::{Message, Wire};

/// Position of an entity: 16 bytes, for both libraries.
#[derive(Clone, Default, Wire, Message)]
pub struct Position {
    pub entity: u32,
    pub place: [f32; 3],
}

/// Length of a [`Position`], in bytes.
pub const SIZE: usize = 16;

impl Position {
    pub fn random(rng: &mut Rng) -> Self {
        let place = [0; 3].map(|_| rng.f32() * 1000.0);
        Self { entity: rng.u32(..), place }
    }

    /// Encodes by hand, the cheapest way.
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let words = [self.entity, self.place[0].to_bits(), self.place[1].to_bits()];
        let words = words.into_iter().chain([self.place[2].to_bits()]);
        for (four, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *four = word.to_le_bytes();
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; SIZE]) -> Self {
        let word = |index: usize| u32::from_le_bytes(bytes.as_chunks().0[index]);
        Self { entity: word(0), place: [1, 2, 3].map(|index| f32::from_bits(word(index))) }
    }
}

/// Count and checksum of the messages that one side sent or handled; it depends on every field.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Tally {
    pub messages: u64,
    sum: u64,
}

impl Tally {
    pub fn add(&mut self, position: &Position) {
        let [x, y, z] = black_box(position).place.map(|axis| u64::from(axis.to_bits()));
        let fields = u64::from(position.entity) << 32 ^ x << 24 ^ y << 12 ^ z;
        self.messages += 1;
        self.sum = self.sum.wrapping_add(fields.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }

    pub fn join(&mut self, other: Self) {
        self.messages += other.messages;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}
