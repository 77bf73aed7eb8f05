use tightwire::Wire;

#[derive(Wire)]
enum Packet {}

fn main() {}
