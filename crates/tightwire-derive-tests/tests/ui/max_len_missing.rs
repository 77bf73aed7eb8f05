use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    text: String,
    list: Vec<u16>,
    maybe: Option<Vec<u8>>,
    texts: [String; 2],
}

fn main() {}
