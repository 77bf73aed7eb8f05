//! The packets of a small game.

use tightwire::Wire;
use tightwire::bytes::Packing;
use tightwire::packet::{Keys, Protection, Protocol};

use super::rng::Rng;

/// The packets of the game.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) enum Packet {
    #[default]
    KeepAlive,
    Input {
        sequence: u16,
        #[wire(range = -100..=100)]
        x: i8,
        #[wire(range = -100..=100, check = "stick")]
        y: i8,
        fire: bool,
    },
    State(State),
    Chat {
        #[wire(max_len = 64)]
        text: String,
    },
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct State {
    tick: u32,
    #[wire(max_len = 40)]
    bodies: Vec<Body>,
    #[wire(when = !self.bodies.is_empty(), check = "all bodies", range = 0..=39)]
    leader: u8,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Body {
    #[wire(range = 0..=1_000_000)]
    position: [u32; 3],
    #[wire(range = 0..=100)]
    health: u8,
    weapon: Option<u16>,
}

impl Packet {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        match rng.below(4) {
            0 => Self::KeepAlive,
            1 => Self::Input {
                sequence: rng.next() as u16,
                x: (rng.below(201) as i16 - 100) as i8,
                y: (rng.below(201) as i16 - 100) as i8,
                fire: rng.below(2) == 0,
            },
            2 => Self::State(State::random(rng)),
            _ => Self::Chat {
                text: (0..rng.below(65)).map(|_| char::from(b'a' + rng.below(26) as u8)).collect(),
            },
        }
    }

    /// Returns a packet in which every field is sent, of hundreds of bytes.
    pub(crate) fn large() -> Self {
        let body = Body { position: [1, 2, 3], health: 100, weapon: Some(7) };
        Self::State(State { tick: 9, bodies: vec![body; 40], leader: 39 })
    }
}

impl State {
    fn random(rng: &mut Rng) -> Self {
        let bodies: Vec<_> = (0..rng.below(20)).map(|_| Body::random(rng)).collect();
        let leader = if bodies.is_empty() { 0 } else { rng.below(40) as u8 };
        Self { tick: rng.next() as u32, bodies, leader }
    }
}

impl Body {
    fn random(rng: &mut Rng) -> Self {
        Self {
            position: std::array::from_fn(|_| rng.below(1_000_001) as u32),
            health: rng.below(101) as u8,
            weapon: (rng.below(2) == 0).then(|| rng.next() as u16),
        }
    }
}

/// Both sides of a protocol.
pub(crate) struct Pair {
    pub(crate) client: Protocol<Packet>,
    pub(crate) server: Protocol<Packet>,
}

impl Pair {
    pub(crate) fn new(protection: Protection<()>) -> Self {
        let side = |keys| Protocol::new("arena", "1.0", protection_with(protection, keys));
        Self { client: side(client_keys()), server: side(server_keys()) }
    }

    pub(crate) fn with_checks(self) -> Self {
        Self { client: self.client.with_checks(), server: self.server.with_checks() }
    }

    pub(crate) fn with_packing(self, packing: Packing) -> Self {
        let Self { client, server } = self;
        Self { client: client.with_packing(packing), server: server.with_packing(packing) }
    }

    /// Returns the client's datagram.
    pub(crate) fn sent(&mut self, packet: &mut Packet) -> Vec<u8> {
        let mut buffer = [0xff; 2 * Protocol::<Packet>::MAX_BYTES];
        self.client.write(packet, &mut buffer).unwrap().to_vec()
    }
}

pub(crate) const PROTECTIONS: [Protection<()>; 4] =
    [Protection::None, Protection::Id, Protection::Crc32, Protection::Sealed(())];

pub(crate) fn protection_with(protection: Protection<()>, keys: Keys) -> Protection {
    match protection {
        Protection::None => Protection::None,
        Protection::Id => Protection::Id,
        Protection::Crc32 => Protection::Crc32,
        Protection::Sealed(()) => Protection::Sealed(keys),
    }
}

pub(crate) fn client_keys() -> Keys {
    Keys::client([1; 32], [2; 32])
}

pub(crate) fn server_keys() -> Keys {
    Keys::server([1; 32], [2; 32])
}
