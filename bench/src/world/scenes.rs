//! The worlds of the row: cubes of which a tenth moves, and an arena of players and projectiles.

use tightwire::play::{Game, Input, ObjectConfig, World};
use tightwire::snapshot::Scope;
use tightwire::{ObjectId, Wire};

/// Input of a player.
#[derive(Wire, Default, Clone)]
pub struct Steer {
    #[wire(range = -1..=1)]
    x: i8,
    #[wire(range = -1..=1)]
    y: i8,
}

impl Input for Steer {}

impl Steer {
    pub fn at(tick: u32, place: usize) -> Self {
        let axis = |every: u32| ((tick + place as u32) / every % 3) as i8 - 1;
        Self { x: axis(20), y: axis(33) }
    }
}

#[derive(Wire, Default)]
struct Cube {
    #[wire(spatial, min = -32.0, max = 32.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(smallest_three = 9)]
    rotation: [f32; 4],
    interacting: bool,
}

#[derive(Wire, Default)]
struct Player {
    #[wire(spatial, min = -40.0, max = 40.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.03125)]
    velocity: [f32; 3],
    #[wire(wraps, min = 0.0, max = 360.0, resolution = 0.1)]
    yaw: f32,
    #[wire(range = 0..=100)]
    health: u8,
}

#[derive(Wire, Default)]
struct Projectile {
    #[wire(spatial, min = -41.0, max = 41.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.03125)]
    velocity: [f32; 3],
}

const CUBES: u32 = 901;
const PLAYERS: u32 = 64;
const PROJECTILES: u32 = 136;

/// Ticks for which a projectile flies.
const FLIGHT: u32 = 60;

/// A world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scene {
    Cubes,
    Arena,
}

impl Scene {
    pub const ALL: [Self; 2] = [Self::Cubes, Self::Arena];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cubes => "901 cubes",
            Self::Arena => "arena",
        }
    }

    /// Declares the game of the world.
    pub fn game(self) -> Game<Steer> {
        let objects =
            ObjectConfig { scope: Some(Scope::Always), predict: false, ..ObjectConfig::default() };
        let game = Game::new(self.name(), "1");
        match self {
            Self::Cubes => game.object_with::<Cube>(objects),
            Self::Arena => game.object_with::<Player>(objects).object_with::<Projectile>(objects),
        }
        .input::<Steer>()
    }

    /// Sets the objects that changed in a tick. `flying` has the projectiles.
    pub fn set(self, world: &mut World<'_, Steer>, tick: u32, flying: &mut Vec<ObjectId>) {
        match self {
            Self::Cubes => {
                // Another tenth in each second.
                let moves = |id: &u32| tick <= 1 || (id + tick / 60).is_multiple_of(10);
                for id in (0..CUBES).filter(moves) {
                    world.set(id, &cube(id, tick)).expect("a cube");
                }
            }
            Self::Arena => {
                for id in 0..PLAYERS {
                    world.set(id, &player(id, tick)).expect("a player");
                }
                for place in 0..PROJECTILES {
                    let (begin, projectile) = projectile(place, tick);
                    match flying.get_mut(place as usize) {
                        None => flying.push(world.spawn(&projectile).expect("a projectile")),
                        Some(id) if begin => {
                            world.remove(*id);
                            *id = world.spawn(&projectile).expect("a projectile");
                        }
                        Some(id) => world.set(*id, &projectile).expect("a projectile"),
                    }
                }
            }
        }
    }
}

/// A cube that jumps and turns.
fn cube(id: u32, tick: u32) -> Cube {
    let time = tick as f32 / 60.0;
    let (column, row) = ((id % 30) as f32, (id / 30) as f32);
    let jump = (time * 3.0 + column).sin().abs();
    let (sin, cos) = (time * 0.7 + row).sin_cos();
    let position = [column - 15.0 + 0.3 * sin, row - 15.0 + 0.3 * cos, jump];
    Cube { position, rotation: [sin / 2.0, cos / 2.0, 0.5, 0.707], interacting: jump > 0.5 }
}

/// A player who walks in a circle.
fn player(id: u32, tick: u32) -> Player {
    let (radius, pace) = (5.0 + (id % 32) as f32, 1.0 + (id % 7) as f32 / 7.0);
    let angle = tick as f32 / 60.0 * pace + id as f32;
    let (sin, cos) = angle.sin_cos();
    Player {
        position: [radius * cos, radius * sin, 0.0],
        velocity: [-radius * pace * sin, radius * pace * cos, 0.0],
        yaw: angle.to_degrees().rem_euclid(360.0),
        health: (100 - tick / 40 % 100) as u8,
    }
}

/// A projectile that falls, and whether it begins with this tick.
fn projectile(place: u32, tick: u32) -> (bool, Projectile) {
    let age = (tick + place * 7) % FLIGHT;
    let time = age as f32 / 60.0;
    let (sin, cos) = (place as f32 + ((tick + place * 7) / FLIGHT) as f32).sin_cos();
    let velocity = [20.0 * cos, 20.0 * sin, 5.0 - 9.81 * time];
    let height = 1.0 + (5.0 - 9.81 * time / 2.0) * time;
    let position = [10.0 * sin + velocity[0] * time, 10.0 * cos + velocity[1] * time, height];
    (age == 0, Projectile { position, velocity })
}
