use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(skip, owner)]
    field: u64,
}

fn main() {}
