use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    flag: bool,
    #[wire(when = self.flag)]
    count: u8,
    #[wire(when = self.count > 3)]
    field: u8,
    #[wire(when = self.count > 3 && self.flag)]
    behind: u8,
    #[wire(when = self.flag && (self.count > 3 || self.behind == 0))]
    two: u8,
}

fn main() {}
