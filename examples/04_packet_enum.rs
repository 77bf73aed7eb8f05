//! An enum whose variants carry data: the usual shape of a set of packets or messages.

use tightwire::{Stream, Wire, decode, encode};

#[derive(Clone, PartialEq, Debug)]
enum Packet {
    Ping { time: u32 },
    Chat { from: u8, text: String },
    Leave,
}

/// What a reader starts from; `decode` needs it.
impl Default for Packet {
    fn default() -> Self {
        Self::Leave
    }
}

impl Packet {
    /// The variants without their data, in the order of their numbers on the wire.
    fn empty(kind: u8) -> Self {
        match kind {
            0 => Self::Ping { time: 0 },
            1 => Self::Chat { from: 0, text: String::new() },
            _ => Self::Leave,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Ping { .. } => 0,
            Self::Chat { .. } => 1,
            Self::Leave => 2,
        }
    }
}

impl Wire for Packet {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut kind = self.kind();
        stream.named("kind").int(&mut kind, 0..=2)?;
        // A packet of the same kind is read into, and so keeps the memory of its text.
        if S::READING && kind != self.kind() {
            *self = Self::empty(kind);
        }
        match self {
            Self::Ping { time } => stream.named("time").object(time),
            Self::Chat { from, text } => {
                stream.named("from").int(from, 0..=63)?;
                stream.named("text").string(text, 100)
            }
            Self::Leave => Ok(()),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let packets =
        [Packet::Ping { time: 1234 }, Packet::Chat { from: 7, text: "gg".into() }, Packet::Leave];
    for mut packet in packets {
        let mut buffer = [0; 128];
        let bytes = encode(&mut packet, &mut buffer)?;
        println!("{packet:?} in {} bytes", bytes.len());
        assert_eq!(decode::<Packet>(bytes)?, packet);
    }
    // There is no fourth kind.
    println!("{}", tightwire::explain::<Packet>(&[3]));
    assert!(decode::<Packet>(&[3]).is_err());
    Ok(())
}
