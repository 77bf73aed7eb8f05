use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(min = -1.0, max = 1.0, resolution = 0.1, derivative_of = velocity)]
    position: f32,
    #[wire(min = -1.0, max = 1.0, resolution = 0.1, derivative_of = position)]
    velocity: f32,
}

fn main() {}
