use tightwire::Wire;

#[derive(Wire)]
#[wire(range = 0..=5)]
struct Packet(u8);

fn main() {}
