use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(range = 0..=9, spatial)]
    field: u8,
}

fn main() {}
