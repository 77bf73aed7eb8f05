use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(when = self.flag)]
    field: u8,
    flag: bool,
}

fn main() {}
