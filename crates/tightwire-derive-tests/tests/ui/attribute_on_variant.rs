use tightwire::Wire;

#[derive(Wire)]
enum Packet {
    #[wire(skip)]
    Nothing,
    Something,
}

fn main() {}
