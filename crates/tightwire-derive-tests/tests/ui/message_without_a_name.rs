use tightwire::{Message, Wire};

#[derive(Wire, Message, Default)]
#[message(name = "")]
struct Chat;

fn main() {}
