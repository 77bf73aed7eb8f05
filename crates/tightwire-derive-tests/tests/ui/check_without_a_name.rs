use tightwire::Wire;

#[derive(Wire)]
struct Player {
    #[wire(check = "")]
    health: u8,
    #[wire(check = "after\u{7}")]
    name: u8,
}

fn main() {}
