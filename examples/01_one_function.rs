//! One serialize function writes, reads and measures.

use tightwire::{Stream, Target, Wire, at, decode, encode, measure};

#[derive(Default, Clone, PartialEq, Debug)]
struct Item {
    kind: u8,
    count: u8,
}

#[derive(Default, Clone, PartialEq, Debug)]
struct Player {
    name: String,
    health: u8,
    target: Option<u16>,
    inventory: Vec<Item>,
}

impl Wire for Item {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.kind), 0..=31)?;
        stream.int(at!(this.count), 1..=64)
    }
}

impl Wire for Player {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.string(at!(this.name), 15)?;
        stream.int(at!(this.health), 0..=100)?;
        stream.option(at!(this.target), |id, stream| stream.int(id, 0..=1023))?;
        stream.array(at!(this.inventory), 20, Wire::serialize)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let player = Player {
        name: "Ada".into(),
        health: 77,
        target: Some(300),
        inventory: vec![Item { kind: 3, count: 64 }, Item { kind: 30, count: 1 }],
    };

    let mut buffer = [0; 64];
    let packet = encode(&player, &mut buffer)?;
    println!("{} bytes, at most {} bits anywhere", packet.len(), measure(&player));
    println!("{}", tightwire::explain::<Player>(packet));

    let received: Player = decode(packet)?;
    assert_eq!(received, player);
    Ok(())
}
