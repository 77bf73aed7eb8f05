use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    len: u8,
    #[wire(when = self.len() > 3)]
    field: u8,
}

fn main() {}
