//! A sender and a receiver between which nothing gets lost, and objects for them.

use tightwire::snapshot::{Leaving, Level, ReceiverId};
use tightwire::{Wire, snapshot};

pub(crate) const LEVELS: [Level; 2] = [Level::Packed, Level::Modeled];

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Thing {
    #[wire(min = -1000.0, max = 1000.0, resolution = 0.01)]
    pub(crate) position: [f32; 3],
    pub(crate) state: u32,
}

#[derive(Wire, Clone, PartialEq, Debug)]
pub(crate) struct Big {
    pub(crate) bytes: [u8; 600],
}

impl Default for Big {
    fn default() -> Self {
        Self { bytes: [0; 600] }
    }
}

pub(crate) fn thing(number: u32) -> Thing {
    let noise = number.wrapping_mul(2_654_435_761);
    let part = |shift: u32| (noise >> shift & 0xff) as f32;
    Thing { position: [part(0), part(8), part(16)], state: noise }
}

pub(crate) fn protocol(config: snapshot::Config) -> snapshot::Protocol {
    snapshot::Protocol::builder(config).class::<Thing>().class::<Big>().build().unwrap()
}

pub(crate) struct Game {
    pub(crate) sender: snapshot::Sender,
    pub(crate) receiver: snapshot::Receiver,
    pub(crate) client: ReceiverId,
    pub(crate) tick: u32,
}

impl Game {
    pub(crate) fn new(config: snapshot::Config) -> Self {
        let protocol = protocol(config);
        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        Self { sender, receiver: snapshot::Receiver::new(&protocol), client, tick: 0 }
    }

    pub(crate) fn begin(&mut self) {
        self.tick += 1;
        self.sender.begin_tick(self.tick);
    }

    /// Sends a snapshot, which arrives, and whose acknowledgement arrives.
    pub(crate) fn exchange(&mut self, budget: usize) {
        let packet = self.sender.snapshot(self.client, budget).unwrap();
        self.receiver.handle_snapshot(packet).unwrap();
        self.sender.handle_ack(self.client, self.receiver.ack().unwrap());
    }
}

pub(crate) fn config(level: Level) -> snapshot::Config {
    snapshot::Config { level, ..snapshot::Config::default() }
}
