use tightwire::{Message, Wire};

#[derive(Wire, Message, Default)]
#[message(name = "chat\n")]
struct Chat;

fn main() {}
