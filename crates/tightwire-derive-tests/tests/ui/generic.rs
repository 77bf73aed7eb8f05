use tightwire::Wire;

#[derive(Wire)]
struct Packet<'a, T, const N: usize = 3>
where
    T: Clone,
{
    #[wire(skip)]
    label: &'a str,
    several: [T; N],
    #[wire(range = 5..=3)]
    field: u8,
    #[wire(bit = 3)]
    other: u8,
}

fn takes_wire<T: Clone>(mut packet: Packet<'_, T>) -> u64 {
    tightwire::measure(&mut packet)
}

fn main() {}
