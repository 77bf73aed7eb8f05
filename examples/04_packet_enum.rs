//! An enum whose variants carry data: the usual shape of a set of packets or messages.

use tightwire::{Wire, decode, encode};

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Packet {
    Ping {
        time: u32,
    },
    Chat {
        #[wire(range = 0..=63)]
        from: u8,
        #[wire(max_len = 100)]
        text: String,
    },
    /// The variant that a reader starts from; `decode` needs a default.
    #[default]
    Leave,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let packets =
        [Packet::Ping { time: 1234 }, Packet::Chat { from: 7, text: "gg".into() }, Packet::Leave];
    for packet in packets {
        let mut buffer = [0; Packet::MAX_BYTES];
        let bytes = encode(&packet, &mut buffer)?;
        println!("{packet:?} in {} bytes", bytes.len());
        assert_eq!(decode::<Packet>(bytes)?, packet);
    }
    // There is no fourth variant.
    println!("{}", tightwire::explain::<Packet>(&[3]));
    assert!(decode::<Packet>(&[3]).is_err());
    Ok(())
}
