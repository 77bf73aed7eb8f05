use tightwire::{Message, Wire};

#[derive(Wire, Message)]
struct Chat;

fn main() {}
