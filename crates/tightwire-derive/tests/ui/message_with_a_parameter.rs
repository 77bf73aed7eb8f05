use tightwire::{Message, Wire};

#[derive(Wire, Message, Default)]
struct Chat<T: Wire + Default + 'static>(T);

fn main() {}
