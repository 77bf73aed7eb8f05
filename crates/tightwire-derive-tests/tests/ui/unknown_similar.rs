use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(max_length = 5)]
    field: String,
}

fn takes_wire(mut packet: Packet) -> [u8; Packet::MAX_BYTES] {
    tightwire::measure(&mut packet);
    [0; Packet::MAX_BYTES]
}

fn main() {}
