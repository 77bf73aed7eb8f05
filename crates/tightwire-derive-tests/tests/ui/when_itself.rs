use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(when = self.field > 3)]
    field: u8,
}

fn takes_wire(mut packet: Packet) -> [u8; Packet::MAX_BYTES] {
    tightwire::measure(&mut packet);
    [0; Packet::MAX_BYTES]
}

fn main() {}
