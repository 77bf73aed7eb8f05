use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(owner, others)]
    field: u64,
}

fn main() {}
