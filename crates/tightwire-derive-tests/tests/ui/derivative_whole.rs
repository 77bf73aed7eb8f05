use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    position: [f32; 3],
    #[wire(min = -1.0, max = 1.0, resolution = 0.1, derivative_of = position)]
    velocity: [f32; 3],
}

fn main() {}
