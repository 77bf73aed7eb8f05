use tightwire::Wire;

#[derive(Wire)]
struct Player {
    #[wire(max_len = 4294967296)]
    name: String,
    #[wire(max_len = 4_294_967_296)]
    items: Vec<u16>,
}

fn main() {}
