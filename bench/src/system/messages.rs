//! The messages, which are the same for all lanes, and the work of their handlers.

use fastrand::Rng;

/// Puts the derives of all lanes on each type.
macro_rules! messages {
    ($($item:item)*) => {$(
        #[derive(
            Clone, Default, PartialEq, tightwire::Wire, tightwire::Message,
            bitcode::Encode, bitcode::Decode, serde::Serialize, serde::Deserialize,
        )]
        $item
    )*};
}

messages! {
    pub struct Input {
        pub tick: u32,
        #[wire(bits = 12)]
        pub buttons: u16,
        #[wire(range = -100..=100)]
        pub stick: [i8; 2],
        pub yaw: u16,
    }

    pub struct Chat {
        #[wire(range = 0..=63)]
        pub from: u8,
        #[wire(max_len = 32)]
        pub text: String,
    }

    pub struct Score {
        #[wire(range = 0..=63)]
        pub player: u8,
        #[wire(range = -100_000..=100_000)]
        pub points: i32,
    }

    pub struct Spawn {
        #[wire(range = 0..=4095)]
        pub id: u16,
        #[wire(range = 0..=31)]
        pub kind: u8,
        #[wire(range = -2000..=2000)]
        pub position: [i16; 3],
    }
}

/// A message of any type, for the lanes without a messenger.
#[derive(bitcode::Encode, serde::Serialize)]
pub enum Any {
    Input(Input),
    Chat(Chat),
    Score(Score),
    Spawn(Spawn),
}

/// A message that was read, with its text borrowed from the buffer.
#[derive(bitcode::Decode, serde::Deserialize)]
pub enum Read<'a> {
    Input(Input),
    #[serde(borrow)]
    Chat(ReadChat<'a>),
    Score(Score),
    Spawn(Spawn),
}

#[derive(bitcode::Decode, serde::Deserialize)]
pub struct ReadChat<'a> {
    pub from: u8,
    pub text: &'a str,
}

/// Result of the handlers over all messages: it depends on every field and on the order.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Tally {
    pub messages: u64,
    sum: u64,
}

impl Tally {
    fn add(&mut self, fields: u64) {
        self.messages += 1;
        self.sum = (self.sum.rotate_left(5) ^ fields).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    pub fn input(&mut self, input: &Input) {
        let [x, y] = input.stick.map(|axis| axis as u8 as u64);
        let buttons = u64::from(input.buttons) << 16 | u64::from(input.yaw);
        self.add(u64::from(input.tick) << 32 ^ buttons ^ x << 40 ^ y << 48);
    }

    pub fn chat(&mut self, from: u8, text: &str) {
        let last = text.as_bytes().last().copied().unwrap_or(0);
        self.add(u64::from(from) << 16 | (text.len() as u64) << 8 | u64::from(last));
    }

    pub fn score(&mut self, score: &Score) {
        self.add(u64::from(score.player) << 32 | u64::from(score.points as u32));
    }

    pub fn spawn(&mut self, spawn: &Spawn) {
        let position = spawn.position.iter().fold(0, |all, axis| all << 16 | *axis as u16 as u64);
        self.add(position ^ u64::from(spawn.id) << 48 ^ u64::from(spawn.kind) << 56);
    }
}

/// Makes a random message: mostly inputs, and words as people type them.
pub fn random(rng: &mut Rng) -> Any {
    match rng.u8(0..8) {
        0..4 => Any::Input(Input {
            tick: rng.u32(..),
            buttons: rng.u16(0..4096),
            stick: [rng.i8(-100..=100), rng.i8(-100..=100)],
            yaw: rng.u16(..),
        }),
        4 => {
            let text = (0..rng.usize(2..=32)).map(|_| rng.lowercase()).collect();
            Any::Chat(Chat { from: rng.u8(0..64), text })
        }
        5 => Any::Score(Score { player: rng.u8(0..64), points: rng.i32(-100_000..=100_000) }),
        _ => Any::Spawn(Spawn {
            id: rng.u16(0..4096),
            kind: rng.u8(0..32),
            position: [0; 3].map(|_: i16| rng.i16(-2000..=2000)),
        }),
    }
}
