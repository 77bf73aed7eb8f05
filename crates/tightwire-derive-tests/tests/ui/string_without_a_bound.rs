use tightwire::Wire;

#[derive(Wire)]
struct Player {
    name: String,
}

#[derive(Wire)]
struct Team<T> {
    name: String,
    players: T,
}

#[derive(Wire)]
struct Named {
    name: std::string::String,
}

fn main() {}
