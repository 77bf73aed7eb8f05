use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    most: u8,
    #[wire(range = 0..=self.most)]
    field: u8,
}

fn main() {}
