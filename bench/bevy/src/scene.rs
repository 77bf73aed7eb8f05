//! A recorded scene of 901 cubes, its components, and the system that plays it.

use std::error::Error;
use std::f32::consts::SQRT_2;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bevy_app::{App, FixedUpdate};
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::Wire;
use bevy_time::{Fixed, Time, TimeUpdateStrategy};
use serde::{Deserialize, Serialize};

/// Ticks of a scene per second; a frame of an app is a tick.
pub const HERTZ: u32 = 60;

/// Duration of a frame.
pub const FRAME: Duration = Duration::from_nanos(1_000_000_000 / HERTZ as u64 + 1);

/// Cubes of a frame, and words of a cube.
pub const CUBES: usize = 901;
const RECORD: usize = 8;

/// A recorded scene: frames of cubes.
pub struct Scene {
    words: Vec<i32>,
}

impl Scene {
    /// Reads a recording, which is compressed if its name ends in `.zst`.
    pub fn load(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut bytes = std::fs::read(path)?;
        if path.extension().is_some_and(|extension| extension == "zst") {
            bytes = zstd::stream::decode_all(&bytes[..])?;
        }
        let words: Vec<_> =
            bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect();
        if words.is_empty() || !words.len().is_multiple_of(CUBES * RECORD) {
            return Err(format!("{} is no recording of {CUBES} cubes", path.display()).into());
        }
        Ok(Self { words })
    }

    pub fn frames(&self) -> usize {
        self.words.len() / (CUBES * RECORD)
    }

    fn record(&self, frame: usize, cube: usize) -> &[i32; RECORD] {
        &self.words.as_chunks().0[frame * CUBES + cube]
    }

    /// Returns the sorted positions of all cubes in a frame, in steps of the recording.
    pub fn positions(&self, frame: usize) -> Vec<[i32; 3]> {
        let position = |cube| {
            let record = self.record(frame, cube);
            [record[4], record[5], record[6]]
        };
        let mut positions: Vec<_> = (0..CUBES).map(position).collect();
        positions.sort_unstable();
        positions
    }
}

/// Steps of a recorded position per metre.
const STEPS: f32 = 512.0;

/// Position in metres.
#[derive(Component, Wire, Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub struct Position(
    #[wire(spatial, min = -32.0, max = 32.0, resolution = 0.001953125)] pub [f32; 3],
);

/// Rotation as a quaternion.
#[derive(Component, Wire, Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub struct Rotation(#[wire(smallest_three = 9)] pub [f32; 4]);

/// Whether the cube touches the player's.
#[derive(Component, Wire, Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub struct Interacting(pub bool);

impl Position {
    fn of(record: &[i32; RECORD]) -> Self {
        Self([4, 5, 6].map(|word| record[word] as f32 / STEPS))
    }

    /// The position in steps of the recording.
    pub fn steps(self) -> [i32; 3] {
        self.0.map(|axis| (axis * STEPS).round() as i32)
    }
}

impl Rotation {
    fn of(record: &[i32; RECORD]) -> Self {
        let small = [1, 2, 3].map(|word| (record[word] as f32 / 511.0 * 2.0 - 1.0) / SQRT_2);
        let largest = (1.0 - small.iter().map(|part| part * part).sum::<f32>()).max(0.0).sqrt();
        let index = record[0] as usize & 3;
        let mut rest = small.into_iter();
        let mut part = |place| if place == index { largest } else { rest.next().unwrap_or(0.0) };
        Self([part(0), part(1), part(2), part(3)])
    }
}

/// A position by hand in 43 bits: 15 for each horizontal axis, and 13 for the vertical one.
#[derive(Serialize, Deserialize)]
pub struct PackedPosition([u8; 6]);

impl From<Position> for PackedPosition {
    fn from(position: Position) -> Self {
        let [x, y, z] = position.steps();
        let code = (x + 16383) as u64 | ((y + 16383) as u64) << 15 | (z as u64) << 30;
        let [a, b, c, d, e, f, ..] = code.to_le_bytes();
        Self([a, b, c, d, e, f])
    }
}

impl From<PackedPosition> for Position {
    fn from(PackedPosition([a, b, c, d, e, f]): PackedPosition) -> Self {
        let code = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        let axis = |shift: u32, low: i32| ((code >> shift & 0x7fff) as i32 - low) as f32 / STEPS;
        Self([axis(0, 16383), axis(15, 16383), axis(30, 0)])
    }
}

/// A rotation by hand in 29 bits: the smallest three in 9 bits each, and the index of the largest.
#[derive(Serialize, Deserialize)]
pub struct PackedRotation([u8; 4]);

impl From<Rotation> for PackedRotation {
    fn from(Rotation(parts): Rotation) -> Self {
        let size = |place: &usize| (parts[*place].abs() * 1e6) as i64;
        let index = (0..4).max_by_key(size).unwrap_or(0);
        let sign = parts[index].signum();
        let mut code = index as u32;
        for (number, place) in (0..4).filter(|place| *place != index).enumerate() {
            let part = ((parts[place] * sign * SQRT_2 + 1.0) / 2.0 * 511.0).round() as u32;
            code |= part.min(511) << (2 + 9 * number);
        }
        Self(code.to_le_bytes())
    }
}

impl From<PackedRotation> for Rotation {
    fn from(PackedRotation(bytes): PackedRotation) -> Self {
        let code = u32::from_le_bytes(bytes);
        let part = |number: u32| (code >> (2 + 9 * number) & 511) as i32;
        Self::of(&[(code & 3) as i32, part(0), part(1), part(2), 0, 0, 0, 0])
    }
}

/// Number of a cube in the scene.
#[derive(Component)]
pub struct Cube(usize);

/// The components of a cube in the first frame.
type Body = (Cube, Position, Rotation, Interacting);

/// Plays the scene in a server's world.
#[derive(Resource)]
pub struct Player {
    scene: Arc<Scene>,
    frame: usize,
    /// Frame at which the scene stops.
    end: usize,
}

impl Player {
    pub fn new(scene: &Arc<Scene>, end: usize) -> Self {
        Self { scene: scene.clone(), frame: 0, end }
    }

    /// Returns the cubes of the first frame.
    pub fn bodies(&self) -> impl Iterator<Item = Body> + use<> {
        let scene = self.scene.clone();
        (0..CUBES).map(move |cube| {
            let record = scene.record(0, cube);
            (Cube(cube), Position::of(record), Rotation::of(record), Interacting(record[7] != 0))
        })
    }
}

type Bodies<'w> = (&'w Cube, &'w mut Position, &'w mut Rotation, &'w mut Interacting);

fn play(player: Option<ResMut<Player>>, mut cubes: Query<Bodies>) {
    let Some(mut player) = player else { return };
    let before = player.frame;
    player.frame = (before + 1).min(player.end);
    let (scene, frame) = (&player.scene, player.frame);
    for (cube, mut position, mut rotation, mut interacting) in &mut cubes {
        let (old, new) = (scene.record(before, cube.0), scene.record(frame, cube.0));
        if old != new {
            position.set_if_neq(Position::of(new));
            rotation.set_if_neq(Rotation::of(new));
            interacting.set_if_neq(Interacting(new[7] != 0));
        }
    }
}

/// Adds the clock of the scene, and the system that plays it where there is a [`Player`].
pub fn add_scene(app: &mut App) {
    app.insert_resource(Time::<Fixed>::from_hz(HERTZ.into()))
        .insert_resource(TimeUpdateStrategy::ManualDuration(FRAME))
        .add_systems(FixedUpdate, play);
}

/// Returns the sorted positions of all cubes in a world, in steps of the recording.
pub fn positions(app: &mut App) -> Vec<[i32; 3]> {
    let world = app.world_mut();
    let mut positions: Vec<_> =
        world.query::<&Position>().iter(world).map(|position| position.steps()).collect();
    positions.sort_unstable();
    positions
}
