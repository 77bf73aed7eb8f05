use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(max_len = 3)]
    lists: Vec<Vec<u8>>,
    #[wire(max_len = 3)]
    texts: Vec<String>,
}

fn main() {}
