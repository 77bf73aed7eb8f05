//! A game whose datagrams are recorded.

use std::time::Duration;

use tightwire::inspect::{CaptureWriter, Direction};
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;
use tightwire::{Wire, encode};

/// The packets of the game.
#[derive(Wire, Clone, Debug)]
pub(super) enum Packet {
    Input(Input),
    State(State),
    Say(#[wire(max_len = 60)] String),
    Bye,
}

#[derive(Wire, Clone, Debug, Default)]
pub(super) struct Input {
    sequence: u16,
    #[wire(range = -100..=100)]
    stick: [i8; 2],
    jump: bool,
    fire: bool,
}

#[derive(Wire, Clone, Debug, Default)]
pub(super) struct State {
    tick: u32,
    #[wire(max_len = 16)]
    players: Vec<Player>,
}

#[derive(Wire, Clone, Debug, Default)]
pub(super) struct Player {
    #[wire(range = 0..=100)]
    pub(super) health: u8,
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(max_len = 31)]
    name: String,
    target: Option<u16>,
}

pub(super) fn identity() -> Identity {
    Identity::new("arena", "1.3", Protection::None, Schema::of::<Packet>())
}

impl Packet {
    /// Returns a packet of the capture: states of about 300 bytes, and inputs between.
    pub(super) fn at(number: u64) -> Self {
        let phase = number as f32 * 0.01;
        match number % 50 {
            49 => Self::Say(format!("packet {number} says hello")),
            n if n % 2 == 1 => Self::Input(Input {
                sequence: number as u16,
                stick: [(phase.sin() * 100.0) as i8, (phase.cos() * 100.0) as i8],
                jump: number.is_multiple_of(7),
                fire: number.is_multiple_of(3),
            }),
            _ => Self::State(State {
                tick: number as u32,
                players: (0..10).map(|place| Player::at(number, place)).collect(),
            }),
        }
    }
}

impl Player {
    fn at(number: u64, place: u64) -> Self {
        let phase = number as f32 * 0.01 + place as f32;
        let half = (phase * 0.5).sin();
        Self {
            health: ((number / 8 + place * 9) % 101) as u8,
            position: [phase.sin() * 200.0, place as f32, phase.cos() * 200.0],
            orientation: [0.0, half, 0.0, (1.0 - half * half).sqrt()],
            at_rest: (number / 2 + place).is_multiple_of(4),
            velocity: [phase.cos(), 0.0, -phase.sin()],
            name: ["Ada", "Grace", "Edsger", "Barbara"][place as usize % 4].into(),
            target: place.is_multiple_of(3).then_some(place as u16),
        }
    }
}

/// Makes a capture of `packets` packets, 60 a second.
pub(super) fn capture(packets: u64) -> Vec<u8> {
    capture_of(&identity(), (0..packets).map(|number| encoded(Packet::at(number))))
}

/// Makes a capture of these datagrams.
pub(super) fn capture_of(
    identity: &Identity,
    datagrams: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<u8> {
    let mut recorder = CaptureWriter::new(Vec::new(), identity).unwrap();
    record(&mut recorder, datagrams);
    recorder.finish().unwrap()
}

pub(super) fn record<W: std::io::Write>(
    recorder: &mut CaptureWriter<W>,
    datagrams: impl IntoIterator<Item = Vec<u8>>,
) {
    let (server, client) = ("10.0.0.1:7000".parse().unwrap(), "10.0.0.2:50001".parse().unwrap());
    for (number, datagram) in datagrams.into_iter().enumerate() {
        let time =
            Duration::from_secs(1_700_000_000) + Duration::from_micros(16_667) * number as u32;
        let direction = if number % 2 == 0 { Direction::Sent } else { Direction::Received };
        recorder.record(time, direction, server, client, &datagram).unwrap();
    }
}

pub(super) fn encoded(packet: Packet) -> Vec<u8> {
    let mut buffer = [0; 2000];
    encode(&packet, &mut buffer).unwrap().to_vec()
}
