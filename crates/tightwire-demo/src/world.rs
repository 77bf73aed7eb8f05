//! The world: a ground, many small cubes at rest, and the cubes that players move through them.

use rapier3d::prelude::{
    ColliderBuilder, LockedAxes, PhysicsWorld, RigidBody, RigidBodyBuilder, RigidBodyHandle,
    Rotation, Vector,
};

use super::game::{Action, Player, Steer};
use super::pace::TICKS_PER_SECOND;
use super::random::Random;
use super::steering::{self, EDGE, STEP};

/// The physics. The same seed and the same inputs in the same ticks give the same world.
pub(crate) struct World {
    physics: PhysicsWorld,
    motion: Motion,
    cube_half: f32,
    players: Vec<PlayerBody>,
    cubes: Vec<RigidBodyHandle>,
    random: Random,
}

/// Motion of the players' cubes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Motion {
    /// Cubes tumble over the ground, pushed by their players: they cannot be predicted without the
    /// physics.
    Tumble,
    /// Cubes glide upright, and without contact [as steered](steering::step).
    Glide,
}

/// Properties of the cubes, and gravity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Physics {
    pub(crate) motion: Motion,
    /// Gravity in metres per second squared.
    pub(crate) gravity: f32,
    /// Restitution of the small cubes: the share of speed left after a bounce, from 0 to 1. On the
    /// ground it is half of that, since the ground does not bounce.
    pub(crate) bounce: f32,
    pub(crate) friction: f32,
    /// Half of a cube's edge, in metres.
    pub(crate) half: f32,
}

impl Default for Physics {
    fn default() -> Self {
        Self { motion: Motion::Tumble, gravity: 9.81, bounce: 0.2, friction: 0.6, half: 0.16 }
    }
}

/// The cube of a player.
struct PlayerBody {
    body: RigidBodyHandle,
    input: Steer,
    /// State of a cube that glides.
    state: Player,
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

impl Body {
    /// Returns the body of a cube that glides.
    pub(crate) fn upright(position: [f32; 3]) -> Self {
        Self { position, rotation: [0.0, 0.0, 0.0, 1.0], awake: true }
    }
}

impl World {
    /// Makes a world with the cubes of `players` players.
    pub(crate) fn new(players: u32, seed: u64, physics: Physics) -> Self {
        let Physics { motion, gravity, bounce, friction, half } = physics;
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
            let collider = ColliderBuilder::cuboid(PLAYER_HALF, PLAYER_HALF, PLAYER_HALF);
            let (body, _) = match motion {
                Motion::Tumble => {
                    let body = RigidBodyBuilder::dynamic()
                        .translation(place)
                        .linear_damping(0.2)
                        .angular_damping(0.6)
                        .can_sleep(false);
                    physics.insert(body, collider.friction(0.6))
                }
                Motion::Glide => {
                    let body = RigidBodyBuilder::dynamic()
                        .translation(place + ABOVE_GROUND)
                        .gravity_scale(0.0)
                        .locked_axes(LockedAxes::ROTATION_LOCKED | LockedAxes::TRANSLATION_LOCKED_Z)
                        .can_sleep(false);
                    physics.insert(body, collider.friction(0.3).density(PLAYER_DENSITY))
                }
            };
            let position = (place + ABOVE_GROUND).into();
            let state = Player { position, velocity: [0.0; 3] };
            PlayerBody { body, input: Steer::default(), state, tired: 0 }
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
        let random = Random::new(seed, 0);
        Self { physics, motion, cube_half: half, players, cubes, random }
    }

    /// Sets a player's input from now on.
    pub(crate) fn set_input(&mut self, player: u32, input: Steer) {
        if let Some(player) = self.players.get_mut(player as usize) {
            player.input = input;
        }
    }

    /// Iterates over the states of players that glide. What is written there is the state from
    /// which the next tick starts.
    pub(crate) fn players_mut(&mut self) -> impl Iterator<Item = &mut Player> {
        self.players.iter_mut().map(|player| &mut player.state)
    }

    /// Simulates a tick.
    pub(crate) fn step(&mut self) {
        for player in 0..self.players.len() {
            self.drive(player);
        }
        self.physics.step();
        if self.motion == Motion::Glide {
            self.settle();
        }
        self.put_back();
    }

    /// Returns the players' cubes, then the others.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = Body> {
        let body_of = |handle: RigidBodyHandle| {
            let Some(body) = self.physics.bodies.get(handle) else { return Body::default() };
            let (at, turn) = (body.translation(), body.rotation());
            Body {
                position: [at.x, at.y, at.z],
                rotation: [turn.x, turn.y, turn.z, turn.w],
                awake: !body.is_sleeping(),
            }
        };
        let players = self.players.iter().map(move |player| match self.motion {
            Motion::Tumble => body_of(player.body),
            Motion::Glide => Body::upright(player.state.position),
        });
        players.chain(self.cubes.iter().map(move |cube| body_of(*cube)))
    }

    /// Takes the states of gliding players from the physics. Without contact they are the steered
    /// ones to the last bit, and the owner's prediction is right.
    fn settle(&mut self) {
        for player in &mut self.players {
            let Some(body) = self.physics.bodies.get(player.body) else { continue };
            let mut steered = player.state.clone();
            steering::step(&mut steered, &player.input);
            let pushed = body.linvel() - Vector::from(steered.velocity);
            player.state = match pushed.length() < UNTOUCHED {
                true => steered,
                false => {
                    Player { position: body.translation().into(), velocity: body.linvel().into() }
                }
            };
        }
    }

    /// Applies a player's input: moves its cube, and gathers or blows other cubes.
    fn drive(&mut self, player: usize) {
        let Self { physics, motion, cube_half, players, cubes, random } = self;
        let PlayerBody { body, input, state, tired } = &mut players[player];
        let Some(body) = physics.bodies.get_mut(*body) else { return };
        let at = body.translation();
        match motion {
            Motion::Tumble => tumble(body, input),
            Motion::Glide => {
                let mut steered = state.clone();
                steering::step(&mut steered, input);
                body.set_translation(state.position.into(), true);
                body.set_linvel(steered.velocity.into(), true);
            }
        }
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
        let Self { physics, motion, cube_half, players, cubes, random } = self;
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
        for player in players {
            let Some(body) = physics.bodies.get_mut(player.body) else { continue };
            if is_inside(body) {
                continue;
            }
            match motion {
                Motion::Tumble => set_down(body, Vector::new(0.0, 0.0, 4.0)),
                Motion::Glide => {
                    let place = Vector::new(0.0, 0.0, PLAYER_HALF) + ABOVE_GROUND;
                    set_down(body, place);
                    player.state = Player { position: place.into(), velocity: [0.0; 3] };
                }
            }
        }
    }
}

/// Pushes and rolls a cube that tumbles.
fn tumble(body: &mut RigidBody, input: &Steer) {
    let (at, velocity) = (body.translation(), body.linvel());
    let mut wanted = Vector::new(f32::from(input.stick[0]), f32::from(input.stick[1]), 0.0);
    wanted *= TUMBLING_SPEED / 100.0;
    // Players stay inside: beyond the edge, a cube is driven back whatever its input.
    for (wanted, at) in [(&mut wanted.x, at.x), (&mut wanted.y, at.y)] {
        if at.abs() > EDGE {
            *wanted = -at.signum() * TUMBLING_SPEED / 2.0;
        }
    }
    let missing = wanted - Vector::new(velocity.x, velocity.y, 0.0);
    let push = (missing * 4.0).clamp_length_max(18.0);
    body.apply_impulse(push * body.mass() * STEP, true);
    let roll = Vector::new(-wanted.y, wanted.x, 0.0) * (body.mass() * PLAYER_HALF * STEP * 2.0);
    body.apply_torque_impulse(roll, true);
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

/// Gap below cubes that glide: they touch other cubes only.
const ABOVE_GROUND: Vector = Vector::new(0.0, 0.0, 0.01);

/// Maximum speed of cubes that tumble, in metres per second.
const TUMBLING_SPEED: f32 = 5.0;

/// Density of cubes that glide, where others have 1: a single small cube hardly slows them.
const PLAYER_DENSITY: f32 = 30.0;

/// Difference of velocities, in metres per second, below which a cube that glides touched nothing.
const UNTOUCHED: f32 = 1e-4;

/// Maximum distance of cubes from the centre, and `HIGHEST` their height.
const OUTSIDE: f32 = 14.0;
const HIGHEST: f32 = 20.0;

const GATHER_RADIUS: f32 = 2.0;
const BLOW_RADIUS: f32 = 3.0;

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
