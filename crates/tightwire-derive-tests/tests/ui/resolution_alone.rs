use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(resolution = 0.5)]
    field: [f32; 3],
}

fn takes_wire(mut packet: Packet) -> [u8; Packet::MAX_BYTES] {
    tightwire::measure(&mut packet);
    [0; Packet::MAX_BYTES]
}

fn main() {}
