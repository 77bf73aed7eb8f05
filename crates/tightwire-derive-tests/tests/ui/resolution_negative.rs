use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(min = 0.0, max = 1.0, resolution = -0.1)]
    field: f32,
}

fn takes_wire(mut packet: Packet) -> [u8; Packet::MAX_BYTES] {
    tightwire::measure(&mut packet);
    [0; Packet::MAX_BYTES]
}

fn main() {}
