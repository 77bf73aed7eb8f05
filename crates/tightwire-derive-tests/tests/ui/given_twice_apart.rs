use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(bits = 3)]
    #[wire(bits = 4)]
    field: u8,
}

fn main() {}
