use tightwire::Wire;

#[derive(Wire)]
enum Packet {
    Named {
        #[wire(when = self.flag)]
        field: u8,
        flag: bool,
    },
    Tuple(bool, #[wire(when = self.1 > 3)] u8),
}

fn main() {}
