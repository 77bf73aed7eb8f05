use tightwire::Wire;

#[derive(Wire)]
struct Metres(#[wire(min = -1.0, max = 1.0, resolution = 0.1)] f32);

#[derive(Wire)]
struct Body {
    position: [Metres; 3],
    #[wire(derivative_of = position)]
    velocity: [Metres; 3],
}

fn main() {}
