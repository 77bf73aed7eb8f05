use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(min = -1.0, max = 1.0, resolution = 0.1, derivative_of = field)]
    field: f32,
}

fn main() {}
