use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    place: usize,
    places: [Option<isize>; 2],
}

fn main() {}
