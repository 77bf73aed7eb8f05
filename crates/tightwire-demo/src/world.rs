//! The world: a ground, many small cubes at rest, and the cubes that players roll through them.

use rapier3d::prelude::{
    ColliderBuilder, PhysicsWorld, RigidBody, RigidBodyBuilder, RigidBodyHandle, Rotation, Vector,
};

use super::game::{Action, Input};
use super::pace::TICKS_PER_SECOND;
use super::random::Random;

/// The physics. The same seed and the same inputs in the same ticks give the same world.
pub(crate) struct World {
    physics: PhysicsWorld,
    cube_half: f32,
    players: Vec<Rolling>,
    cubes: Vec<RigidBodyHandle>,
    random: Random,
}

/// Properties of the small cubes, and gravity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nature {
    /// Gravity in metres per second squared.
    pub(crate) gravity: f32,
    /// Restitution of the small cubes: the share of speed left after a bounce, from 0 to 1. On the
    /// ground it is half of that, since the ground does not bounce.
    pub(crate) bounce: f32,
    pub(crate) friction: f32,
    /// Half of a cube's edge, in metres.
    pub(crate) half: f32,
}

impl Default for Nature {
    fn default() -> Self {
        Self { gravity: 9.81, bounce: 0.2, friction: 0.6, half: 0.16 }
    }
}

/// The cube of a player.
struct Rolling {
    body: RigidBodyHandle,
    input: Input,
    /// Ticks until the player can blow again.
    tired: u32,
}

/// State of one cube.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Body {
    pub(crate) position: [f32; 3],
    /// Rotation as a quaternion x, y, z, w.
    pub(crate) rotation: [f32; 4],
    pub(crate) awake: bool,
}

impl World {
    /// Makes a world with the cubes of `players` players.
    pub(crate) fn new(players: u32, seed: u64, nature: Nature) -> Self {
        let Nature { gravity, bounce, friction, half } = nature;
        let mut physics = PhysicsWorld::new();
        physics.gravity = Vector::new(0.0, 0.0, -gravity);
        physics.integration_parameters.dt = STEP;
        physics.insert(
            RigidBodyBuilder::fixed().translation(Vector::new(0.0, 0.0, -1.0)),
            ColliderBuilder::cuboid(30.0, 30.0, 1.0).friction(0.7),
        );
        let rolling = (0..players).map(|player| {
            let angle = std::f32::consts::TAU * player as f32 / players as f32;
            let place = Vector::new(11.0 * angle.cos(), 11.0 * angle.sin(), PLAYER_HALF);
            let body = RigidBodyBuilder::dynamic()
                .translation(place)
                .linear_damping(0.2)
                .angular_damping(0.6)
                .can_sleep(false);
            let collider = ColliderBuilder::cuboid(PLAYER_HALF, PLAYER_HALF, PLAYER_HALF);
            let (body, _) = physics.insert(body, collider.friction(0.6));
            Rolling { body, input: Input::default(), tired: 0 }
        });
        let players = rolling.collect();
        let cubes = (0..CUBES).map(|cube| {
            let body = RigidBodyBuilder::dynamic()
                .translation(home(cube, half))
                .linear_damping(0.1)
                .angular_damping(0.3)
                .sleeping(true);
            let collider = ColliderBuilder::cuboid(half, half, half);
            physics.insert(body, collider.friction(friction).restitution(bounce)).0
        });
        let cubes = cubes.collect();
        Self { physics, cube_half: half, players, cubes, random: Random::new(seed, 0) }
    }

    /// Sets a player's input from now on.
    pub(crate) fn set_input(&mut self, player: u32, input: Input) {
        if let Some(rolling) = self.players.get_mut(player as usize) {
            rolling.input = input;
        }
    }

    /// Simulates a tick.
    pub(crate) fn step(&mut self) {
        for player in 0..self.players.len() {
            self.drive(player);
        }
        self.physics.step();
        self.put_back();
    }

    /// Returns the players' cubes, then the others.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = Body> {
        let players = self.players.iter().map(|rolling| rolling.body);
        players.chain(self.cubes.iter().copied()).map(|handle| {
            let Some(body) = self.physics.bodies.get(handle) else { return Body::default() };
            let (at, turn) = (body.translation(), body.rotation());
            Body {
                position: [at.x, at.y, at.z],
                rotation: [turn.x, turn.y, turn.z, turn.w],
                awake: !body.is_sleeping(),
            }
        })
    }

    /// Applies a player's input: rolls its cube, and gathers or blows other cubes.
    fn drive(&mut self, player: usize) {
        let Self { physics, cube_half, players, cubes, random } = self;
        let Rolling { body, input, tired } = &mut players[player];
        let Some(body) = physics.bodies.get_mut(*body) else { return };
        let (at, velocity) = (body.translation(), body.linvel());
        let mut wanted = Vector::new(f32::from(input.stick[0]), f32::from(input.stick[1]), 0.0);
        wanted *= MOST_SPEED / 100.0;
        // Players stay inside: beyond the edge, a cube is driven back whatever its input.
        for (wanted, at) in [(&mut wanted.x, at.x), (&mut wanted.y, at.y)] {
            if at.abs() > EDGE {
                *wanted = -at.signum() * MOST_SPEED / 2.0;
            }
        }
        let missing = wanted - Vector::new(velocity.x, velocity.y, 0.0);
        let push = (missing * 4.0).clamp_length_max(18.0);
        body.apply_impulse(push * body.mass() * STEP, true);
        let roll = Vector::new(-wanted.y, wanted.x, 0.0) * (body.mass() * PLAYER_HALF * STEP * 2.0);
        body.apply_torque_impulse(roll, true);
        *tired = tired.saturating_sub(1);
        match input.action {
            Action::Nothing => {}
            Action::Gather => {
                near(physics, cubes, at, GATHER_RADIUS, |cube, away, _| {
                    cube.apply_impulse(-away * (14.0 * STEP * cube.mass()), true);
                });
            }
            Action::Blow if *tired == 0 => {
                *tired = 2 * TICKS_PER_SECOND;
                near(physics, cubes, at, BLOW_RADIUS, |cube, away, distance| {
                    let strength = random.between(3.0, 6.0) * (1.0 - distance / BLOW_RADIUS);
                    let up = Vector::new(0.0, 0.0, random.between(1.5, 4.0));
                    let impulse = (away * strength + up) * cube.mass();
                    let edge = Vector::new(*cube_half, 0.0, *cube_half);
                    cube.apply_impulse_at_point(impulse, cube.translation() + edge, true);
                });
            }
            Action::Blow => {}
        }
    }

    /// Puts lost cubes back: they fall from the sky to their first position, so there is always
    /// something to push.
    fn put_back(&mut self) {
        let Self { physics, cube_half, players, cubes, random } = self;
        for (cube, handle) in cubes.iter().enumerate() {
            let is_fine = |body: &RigidBody| body.is_sleeping() || is_inside(body);
            if physics.bodies.get(*handle).is_none_or(is_fine) {
                continue;
            }
            let fall = Vector::new(0.0, 0.0, random.between(2.0, 6.0));
            if let Some(body) = physics.bodies.get_mut(*handle) {
                set_down(body, home(cube, *cube_half) + fall);
            }
        }
        for rolling in players {
            let Some(body) = physics.bodies.get_mut(rolling.body) else { continue };
            if !is_inside(body) {
                set_down(body, Vector::new(0.0, 0.0, 4.0));
            }
        }
    }
}

/// Calls `act` for the cubes near a place, with the direction and the distance from it.
fn near(
    physics: &mut PhysicsWorld,
    cubes: &[RigidBodyHandle],
    place: Vector,
    radius: f32,
    mut act: impl FnMut(&mut RigidBody, Vector, f32),
) {
    for handle in cubes {
        // Mutable access costs the engine time even without a change.
        let Some(body) = physics.bodies.get(*handle) else { continue };
        let away = body.translation() - place;
        let distance = away.length().max(0.1);
        if distance < radius
            && let Some(body) = physics.bodies.get_mut(*handle)
        {
            act(body, away / distance, distance);
        }
    }
}

fn is_inside(body: &RigidBody) -> bool {
    let at = body.translation();
    at.is_finite()
        && at.x.abs() < OUTSIDE
        && at.y.abs() < OUTSIDE
        && (-1.0..HIGHEST).contains(&at.z)
}

fn set_down(body: &mut RigidBody, place: Vector) {
    body.set_translation(place, true);
    body.set_rotation(Rotation::IDENTITY, true);
    body.set_linvel(Vector::ZERO, true);
    body.set_angvel(Vector::ZERO, true);
}

/// Returns the initial position of a cube.
fn home(cube: usize, half: f32) -> Vector {
    let place = |index: usize| (index as f32 - (SIDE - 1) as f32 / 2.0) * SPACING;
    Vector::new(place(cube % SIDE), place(cube / SIDE), half)
}

/// Small cubes in a row; their number is `CUBES`.
const SIDE: usize = 30;
pub(crate) const CUBES: usize = SIDE * SIDE;

const SPACING: f32 = 0.68;
const PLAYER_HALF: f32 = 0.7;

/// Maximum distance of players from the centre; `OUTSIDE` is that of cubes, and `HIGHEST` their
/// height.
const EDGE: f32 = 12.0;
const OUTSIDE: f32 = 14.0;
const HIGHEST: f32 = 20.0;

const MOST_SPEED: f32 = 5.0;
const GATHER_RADIUS: f32 = 2.0;
const BLOW_RADIUS: f32 = 3.0;

const STEP: f32 = 1.0 / TICKS_PER_SECOND as f32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{Bot, Habit};
    use crate::test_support::{seed, volume};

    /// Lets bots without latency play, and returns the number of cubes that moved in each tick.
    fn play(seed: u64, ticks: u32) -> (World, Vec<usize>) {
        let mut world = World::new(4, seed, Nature::default());
        let mut bots: Vec<_> = (0..4).map(|client| Bot::new(client, seed, Habit::Mixed)).collect();
        let mut moved = Vec::new();
        let mut before: Vec<Body> = world.bodies().collect();
        for _ in 0..ticks {
            for (player, bot) in (0..).zip(&mut bots) {
                let place = before.get(player as usize).map_or([0.0; 3], |body| body.position);
                world.set_input(player, bot.input(place));
            }
            world.step();
            let now: Vec<Body> = world.bodies().collect();
            let differs = |(now, before): &(&Body, &Body)| now.position != before.position;
            moved.push(now.iter().zip(&before).filter(differs).count());
            before = now;
        }
        (world, moved)
    }

    #[test]
    fn the_same_seed_and_inputs_make_the_same_world() {
        let bodies = |seed| play(seed, 60).0.bodies().collect::<Vec<_>>();
        assert!(bodies(7) == bodies(7));
        assert!(bodies(7) != bodies(8));
    }

    #[test]
    fn something_always_happens_and_nothing_leaves() {
        let (world, moved) = play(seed(1), volume(20, 60) * TICKS_PER_SECOND);
        for body in world.bodies() {
            let [x, y, z] = body.position;
            assert!(x.abs() <= OUTSIDE && y.abs() <= OUTSIDE && z < HIGHEST, "{body:?}");
            let length: f32 = body.rotation.map(|part| part * part).iter().sum();
            assert!((length - 1.0).abs() < 1e-3, "{body:?}");
        }
        for seconds in moved.chunks(10 * 60) {
            let mean = seconds.iter().sum::<usize>() / seconds.len();
            assert!((2..CUBES / 2).contains(&mean), "{mean} cubes move");
        }
        let asleep = world.bodies().filter(|body| !body.awake).count();
        assert!(asleep > CUBES / 3, "{asleep} sleep");
        println!("{} move on average", moved.iter().sum::<usize>() / moved.len());
    }
}
