use tightwire::Wire;

const MOST: usize = 1 << 32;

#[derive(Wire)]
struct Player {
    #[wire(max_len = MOST)]
    name: String,
}

#[derive(Wire)]
struct Team {
    #[wire(max_len = MOST)]
    players: Vec<u8>,
}

fn main() {}
