use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(range = 0..=5_000_000_000, wraps)]
    field: u64,
}

fn main() {}
