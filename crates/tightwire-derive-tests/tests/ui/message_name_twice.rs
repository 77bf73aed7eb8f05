use tightwire::{Message, Wire};

#[derive(Wire, Message, Default)]
#[message(name = "chat", name = "talk")]
struct Chat;

fn main() {}
