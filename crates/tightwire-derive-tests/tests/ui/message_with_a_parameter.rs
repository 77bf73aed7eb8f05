use tightwire::{Message, Wire};

#[derive(Wire, Message, Default)]
struct Chat<T: Wire + Default + Send + Sync + 'static>(T);

fn main() {}
