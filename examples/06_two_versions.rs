//! A server and a client of different builds: their differences, and how to decode a packet anyway.

use tightwire::schema::Schema;
use tightwire::{Wire, decode, decode_explained, encode};

mod old {
    #[derive(tightwire::Wire, Default, PartialEq, Debug)]
    pub(crate) struct Player {
        #[wire(range = 0..=100)]
        pub(crate) health: u8,
        #[wire(max_len = 15)]
        pub(crate) name: String,
    }
}

mod new {
    #[derive(tightwire::Wire, Default, PartialEq, Debug)]
    pub(crate) struct Player {
        #[wire(range = 0..=200)]
        pub(crate) health: u8,
        #[wire(max_len = 15)]
        pub(crate) nick: String,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (here, there) = (Schema::of::<old::Player>(), Schema::of::<new::Player>());
    assert_ne!(here.fingerprint(), there.fingerprint());
    println!("{}", here.diff(&there));

    // The server sends its schema once, when the client connects ...
    let mut buffer = [0; 1024];
    let received: Schema = decode(encode(&there, &mut buffer)?)?;
    assert_eq!(received, there);

    // ... so that the client can decode the server's packets without its types.
    let player = new::Player { health: 150, nick: "Ada".into() };
    let mut buffer = [0; new::Player::MAX_BYTES];
    let packet = encode(&player, &mut buffer)?;
    let tree = received.decode(packet)?;
    println!("{tree}");
    assert_eq!(tree.to_string(), r#"Player { health: 150, nick: "Ada" }"#);

    // The client's own type refuses them.
    if let Err(refused) = decode_explained::<old::Player>(packet) {
        println!("{refused}");
    }
    assert!(decode::<old::Player>(packet).is_err());
    Ok(())
}
