use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(smallest_three = 21)]
    field: [f32; 4],
}

fn takes_wire(mut packet: Packet) -> [u8; Packet::MAX_BYTES] {
    tightwire::measure(&mut packet);
    [0; Packet::MAX_BYTES]
}

fn main() {}
