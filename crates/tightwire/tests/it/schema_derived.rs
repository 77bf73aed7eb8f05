//! The schema of a derived type is the type: the same bytes, the same worst case, the same story.

use tightwire::Wire;
use tightwire::schema::Schema;
use tightwire::stream::Trace;

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Player {
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(bits = 12)]
    flags: u16,
    #[wire(varint)]
    score: i64,
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    motion: Motion,
    #[wire(when = self.motion.at_rest && self.flags & 4 != 0, unit = 9)]
    aim: [f32; 3],
    #[wire(when = self.health > 50, max_len = 31, check = "after the name")]
    name: String,
    weapon: Weapon,
    #[wire(when = matches!(self.weapon, Weapon::Bow { .. } | Weapon::Staff(..)))]
    charge: f32,
    #[wire(max_len = 8)]
    inventory: Vec<Item>,
    #[wire(when = self.inventory.len() >= 2)]
    grid: [[u8; 2]; 3],
    target: Option<u32>,
    #[wire(when = self.target.is_some())]
    distance: f64,
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Motion {
    at_rest: bool,
    #[wire(when = !self.at_rest)]
    velocity: [f32; 3],
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
enum Weapon {
    #[default]
    Fist,
    Bow {
        #[wire(range = 0..=20)]
        arrows: u8,
    },
    Staff(u16, bool),
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Item(u8, #[wire(varint)] u32);

fn players() -> Vec<Player> {
    let (at_rest, axis) = (Motion { at_rest: true, velocity: [0.0; 3] }, [0.0, 0.0, 1.0]);
    let one = Player { orientation: [0.0, 0.0, 0.0, 1.0], aim: axis, ..Player::default() };
    vec![
        one.clone(),
        Player { health: 51, name: "Ada".into(), score: -70_000, ..one.clone() },
        Player { motion: at_rest, flags: 0xffc, weapon: Weapon::Staff(7, true), ..one.clone() },
        Player {
            weapon: Weapon::Bow { arrows: 20 },
            charge: 0.5,
            inventory: vec![Item(1, 2), Item(3, 4_000_000_000)],
            grid: [[1, 2], [3, 4], [5, 6]],
            target: Some(9),
            distance: 0.1,
            ..one
        },
    ]
}

/// Everything of a trace but where in the source the operations stand.
fn told(trace: &Trace) -> Vec<String> {
    let line = |node: tightwire::stream::Node<'_>| {
        let (op, value) = (node.op().unwrap(), node.value().unwrap());
        format!("{} {op} {:?} {value} {}", node.path(), node.bits(), node.is_refused())
    };
    let mut lines: Vec<_> = trace.spans().map(line).collect();
    lines.push(format!("{:?}", trace.failure()));
    lines
}

#[test]
fn a_derived_type_and_its_schema_agree() {
    let schema = Schema::new(Player::describe()).unwrap();
    assert_eq!(schema, tightwire::schema::Schema::of::<Player>());
    assert_eq!(schema.max_bits(), Player::MAX_BITS);
    for player in players() {
        let (mut buffer, mut other) = ([0; 256], [0; 256]);
        let packet = tightwire::encode(&player, &mut buffer).unwrap();
        let tree = schema.decode(packet).unwrap();
        assert_eq!(schema.encode(&tree, &mut other).unwrap(), packet);
        assert_eq!(told(&schema.explain(packet)), told(&tightwire::explain::<Player>(packet)));
        for length in 0..packet.len() {
            let cut = &packet[..length];
            assert_eq!(told(&schema.explain(cut)), told(&tightwire::explain::<Player>(cut)));
        }
        for bit in 0..packet.len() * 8 {
            let mut wrong = packet.to_vec();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(told(&schema.explain(&wrong)), told(&tightwire::explain::<Player>(&wrong)));
            let is_read = tightwire::decode::<Player>(&wrong).is_ok();
            assert_eq!(schema.decode(&wrong).is_ok(), is_read);
        }
    }
}

#[test]
fn the_schema_of_a_type_goes_over_the_wire() {
    let sent = Schema::of::<Player>();
    let mut buffer = [0; 1024];
    let packet = tightwire::encode(&sent, &mut buffer).unwrap();
    assert_eq!(tightwire::decode::<Schema>(packet).unwrap(), sent);
    assert!(packet.len() < 500, "{} bytes", packet.len());
}
