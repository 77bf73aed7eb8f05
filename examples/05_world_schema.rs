//! One world in six representations: from readable text to the bits of the network.

use tightwire::schema::{Class, Object, Representation, World, WorldSchema};
use tightwire::stream::Op;
use tightwire::{ObjectId, Wire, decode, encode};

#[derive(Wire, Default, PartialEq, Debug)]
struct Player {
    #[wire(min = -256.0, max = 256.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    #[wire(min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(range = 0..=100)]
    health: u8,
    weapon: ObjectId,
}

#[derive(Wire, Default, PartialEq, Debug)]
struct Grunt {
    #[wire(min = -256.0, max = 256.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(range = 0..=100)]
    health: u8,
}

#[derive(Wire, Default, PartialEq, Debug)]
enum Action {
    #[default]
    Revolver,
    SemiAutomatic,
}

#[derive(Wire, Default, PartialEq, Debug)]
struct Weapon {
    action: Action,
    #[wire(range = 0..=9)]
    ammo_in_clip: u8,
    round_in_chamber: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let classes = vec![Class::of::<Player>()?, Class::of::<Grunt>()?, Class::of::<Weapon>()?];
    let schema = WorldSchema::new(classes)?.with_time(Op::Float)?;

    // The schema is sent once, when a client connects.
    let mut buffer = [0; 1024];
    let sent = encode(&schema, &mut buffer)?;
    println!("{:>14}  {:>4} bytes, once", "schema", sent.len());
    let schema: WorldSchema = decode(sent)?;

    let player = Player {
        position: [0.0; 3],
        orientation: [0.0, 0.0, 0.0, 1.0],
        velocity: [10.0, 0.0, 0.0],
        health: 100,
        weapon: 110.into(),
    };
    let grunt = Grunt { position: [100.0, 100.0, 0.0], health: 10 };
    let weapon = Weapon { action: Action::SemiAutomatic, ammo_in_clip: 8, round_in_chamber: true };
    let mut world = World::new(0.0);
    world.insert(Object::of(1, &player)?);
    world.insert(Object::of(100, &grunt)?);
    world.insert(Object::of(110, &weapon)?);

    let mut sizes = Vec::new();
    for &representation in Representation::ALL {
        let written = world.write(representation, &schema)?;
        println!("{representation:>14}  {:>4} bytes", written.len());
        assert_eq!(World::read(representation, &written, &schema)?, world);
        sizes.push(written.len());
    }
    assert_eq!(sizes.len(), 6);
    assert!(sizes.is_sorted_by(|wordy, tight| wordy > tight));

    // The other side decodes its own types, and follows the reference.
    let packet = world.write(Representation::Bits, &schema)?;
    let received = World::read(Representation::Bits, &packet, &schema)?;
    let player: Player = received.get(1).ok_or("no player")?.value()?;
    let weapon: Weapon = received.get(player.weapon).ok_or("no weapon")?.value()?;
    println!("\nthe player has {weapon:?}");
    assert_eq!(weapon.ammo_in_clip, 8);
    Ok(())
}
