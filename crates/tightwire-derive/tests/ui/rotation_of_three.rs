use tightwire::Wire;

#[derive(Wire)]
struct Cube {
    #[wire(rotation, range = 0..=511)]
    turn: [u16; 3],
    #[wire(rotation, range = 0..=511)]
    angle: u16,
}

fn main() {}
