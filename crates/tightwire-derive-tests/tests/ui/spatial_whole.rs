use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(spatial)]
    field: [f32; 3],
}

fn main() {}
