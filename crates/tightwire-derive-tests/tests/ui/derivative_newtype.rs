use tightwire::Wire;

#[derive(Wire)]
struct Name(u64);

#[derive(Wire)]
struct Position(#[wire(min = -1.0, max = 1.0, resolution = 0.1)] [f32; 3]);

#[derive(Wire)]
struct Velocity(#[wire(min = -1.0, max = 1.0, resolution = 0.1)] [f32; 2]);

#[derive(Wire)]
struct NoNumber {
    position: Position,
    #[wire(derivative_of = position)]
    velocity: Name,
}

#[derive(Wire)]
struct OtherComponents {
    position: Position,
    #[wire(derivative_of = position)]
    velocity: Velocity,
}

fn main() {}
