use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(range = 0..=511, rotation, spatial)]
    field: [u16; 4],
}

fn main() {}
