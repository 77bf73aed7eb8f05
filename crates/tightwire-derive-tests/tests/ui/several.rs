use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    text: String,
    #[wire(range = 5..=3)]
    field: u8,
    #[wire(when = self.later, unit = 99)]
    direction: [f32; 3],
    later: bool,
}

fn main() {}
