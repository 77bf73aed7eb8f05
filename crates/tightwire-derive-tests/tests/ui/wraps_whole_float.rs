use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(wraps)]
    field: f32,
}

fn main() {}
