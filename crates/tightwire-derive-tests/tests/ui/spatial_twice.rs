use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(min = -1.0, max = 1.0, resolution = 0.1, spatial)]
    field: [f32; 2],
    #[wire(min = -1.0, max = 1.0, resolution = 0.1, spatial)]
    other: [f32; 2],
}

fn main() {}
