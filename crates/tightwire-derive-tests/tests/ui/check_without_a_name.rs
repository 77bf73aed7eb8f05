use tightwire::{Message, Wire};

#[derive(Wire)]
struct Player {
    #[wire(check = "")]
    health: u8,
    #[wire(check = "after\u{7}")]
    name: u8,
    #[wire(check = " \u{200b}")]
    score: u8,
}

#[derive(Wire, Message, Default)]
#[message(name = "chat\u{202e}")]
struct Chat;

fn main() {}
