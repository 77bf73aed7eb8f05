use tightwire::Wire;

#[derive(Wire)]
union Packet {
    number: u32,
    float: f32,
}

fn main() {}
