use tightwire::{Message, Wire};

#[derive(Wire, Message, Default)]
#[message(size = 3)]
struct Chat;

fn main() {}
