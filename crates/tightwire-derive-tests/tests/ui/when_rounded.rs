use tightwire::Wire;

#[derive(Wire)]
struct Packet {
    #[wire(min = 0.0, max = 10.0, resolution = 0.1)]
    speed: f32,
    #[wire(when = self.speed > 0.0)]
    field: u8,
    #[wire(smallest_three = 9)]
    turn: Option<[f32; 4]>,
    #[wire(when = self.turn.is_some())]
    other: u8,
    #[wire(when = self.turn == None)]
    third: u8,
}

fn main() {}
