use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(skip, wraps)]
    field: u8,
}

fn main() {}
