//! A world of a thousand objects at two times, a tenth of a second apart: the same numbers on every
//! machine.

use tightwire::schema::{Dynamic, Object, World};
use tightwire::stream::Value;

/// Numbers of objects of each class.
const PLAYERS: u32 = 32;
const GRUNTS: u32 = 268;
const CRATES: u32 = 600;
const WEAPONS: u32 = 100;

/// Seconds between the two states.
const STEP: f32 = 0.1;

/// Returns the baseline and the state that is sent.
pub(super) fn states() -> [World; 2] {
    let mut random = Random(0x5eed);
    let mut states = [World::new(60.0 - f64::from(STEP)), World::new(60.0)];
    let mut id = 0;
    for (count, make) in [
        (PLAYERS, player as fn(&mut Random, u32) -> [Object; 2]),
        (GRUNTS, grunt),
        (CRATES, crate_),
        (WEAPONS, weapon),
    ] {
        for _ in 0..count {
            id += 1;
            let [before, now] = make(&mut random, id);
            states[0].insert(before);
            states[1].insert(now);
        }
    }
    states
}

/// Makes a player, who runs about.
fn player(random: &mut Random, id: u32) -> [Object; 2] {
    let velocity = random.vector([6.0, 6.0, 0.0]);
    let turn = random.vector([0.0, 0.0, 0.05]);
    let before = random.vector([120.0, 120.0, 2.0]);
    let noise = random.vector([0.02, 0.02, 0.0]);
    let now = moved(before, velocity, noise);
    let start = random.rotation([0.0, 0.0, 1.0]);
    let health = random.below(101);
    let hit = if random.below(4) == 0 { health.min(12) } else { 0 };
    let name = format!("player {id}");
    let object = |position: [f32; 3], orientation: [f32; 4], health: u64| {
        Object::new(id, "Player")
            .with("position", vector(&position))
            .with("orientation", vector(&orientation))
            .with("velocity", vector(&velocity))
            .with("health", health)
            .with("weapon", u64::from(PLAYERS + GRUNTS + CRATES + id))
            .with("name", &*name)
    };
    [object(before, start, health), object(now, turned(start, turn), health - hit)]
}

/// Makes a grunt; one in three walks.
fn grunt(random: &mut Random, id: u32) -> [Object; 2] {
    let is_walking = random.below(3) == 0;
    let before = random.vector([150.0, 150.0, 0.0]);
    let heading = random.below(720) as f32 / 2.0;
    let (velocity, turn) = match is_walking {
        true => (random.vector([2.0, 2.0, 0.0]), random.below(9) as f32 / 2.0),
        false => ([0.0; 3], 0.0),
    };
    let now = moved(before, velocity, [0.0; 3]);
    let health = 1 + random.below(100);
    let mood = match (is_walking, random.below(3)) {
        (false, _) => "Idle",
        (true, 0) => "Fleeing",
        (true, 1) => "Attacking",
        (true, _) => "Searching",
    };
    let object = |position: [f32; 3], heading: f32| {
        let mood = Dynamic::Enum { name: "Mood".into(), variant: mood.into(), fields: Vec::new() };
        Object::new(id, "Grunt")
            .with("position", vector(&position))
            .with("heading", heading)
            .with("health", health)
            .with("mood", mood)
    };
    [object(before, heading), object(now, (heading + turn) % 360.0)]
}

/// Makes a crate; one in five tumbles, the others lie still.
fn crate_(random: &mut Random, id: u32) -> [Object; 2] {
    let is_at_rest = random.below(5) > 0;
    let before = random.vector([80.0, 80.0, 4.0]);
    let start = random.rotation([1.0; 3]);
    let (velocity, turn) = match is_at_rest {
        true => ([0.0; 3], [0.0; 3]),
        false => (random.vector([3.0, 3.0, 3.0]), random.vector([0.1; 3])),
    };
    let now = moved(before, velocity, [0.0; 3]);
    let object = |position: [f32; 3], orientation: [f32; 4]| {
        let object = Object::new(id, "Crate")
            .with("position", vector(&position))
            .with("orientation", vector(&orientation))
            .with("at_rest", is_at_rest);
        if is_at_rest { object } else { object.with("velocity", vector(&velocity)) }
    };
    [object(before, start), object(now, turned(start, turn))]
}

/// Makes a weapon; one in ten fired.
fn weapon(random: &mut Random, id: u32) -> [Object; 2] {
    let ammo = random.below(10);
    let shots = u64::from(ammo > 0 && random.below(10) == 0);
    let variant = if random.below(2) == 0 { "Revolver" } else { "SemiAutomatic" };
    let object = |ammo: u64| {
        let action =
            Dynamic::Enum { name: "Action".into(), variant: variant.into(), fields: Vec::new() };
        Object::new(id, "Weapon")
            .with("action", action)
            .with("ammo_in_clip", ammo)
            .with("round_in_chamber", ammo > 0)
    };
    [object(ammo), object(ammo - shots)]
}

fn vector(components: &[f32]) -> Dynamic {
    Dynamic::Value(Value::Vector(components.into()))
}

fn moved(position: [f32; 3], velocity: [f32; 3], noise: [f32; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| position[axis] + velocity[axis] * STEP + noise[axis])
}

/// Returns the rotation after a small turn.
fn turned(rotation: [f32; 4], turn: [f32; 3]) -> [f32; 4] {
    if turn == [0.0; 3] {
        return rotation;
    }
    let ([x, y, z, w], [a, b, c]) = (rotation, turn);
    unit([
        x + w * a + y * c - z * b,
        y + w * b + z * a - x * c,
        z + w * c + x * b - y * a,
        w - x * a - y * b - z * c,
    ])
}

fn unit(rotation: [f32; 4]) -> [f32; 4] {
    let length = rotation.iter().map(|component| component * component).sum::<f32>().sqrt();
    rotation.map(|component| component / length)
}

/// A seeded generator that uses only integers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a number from -1 to 1.
    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn vector(&mut self, most: [f32; 3]) -> [f32; 3] {
        most.map(|most| most * self.share())
    }

    /// Returns a rotation about a random axis within these bounds.
    fn rotation(&mut self, axes: [f32; 3]) -> [f32; 4] {
        let [x, y, z] = self.vector(axes);
        unit([x, y, z, 1.0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_a_thousand_objects_and_a_quarter_of_them_changed() {
        let [before, now] = states();
        assert_eq!((before.objects().len(), now.objects().len()), (1000, 1000));
        let pairs = before.objects().iter().zip(now.objects());
        let changed = pairs.filter(|(before, now)| before != now).count();
        assert!((230..=270).contains(&changed), "{changed}");
    }
}
