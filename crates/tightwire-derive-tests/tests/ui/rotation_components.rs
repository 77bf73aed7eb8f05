use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(range = 0..=511, rotation)]
    field: [u16; 3],
}

fn main() {}
