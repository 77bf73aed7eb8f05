//! The worlds of the row: excerpts of the recordings `cubes_a` and `arena_a`, which docs/SNAPSHOTS.md describes.

use std::array::from_fn;
use std::collections::BTreeMap;
use std::f32::consts::SQRT_2;
use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
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
    #[wire(spatial, min = -42.0, max = 42.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.03125)]
    velocity: [f32; 3],
    #[wire(wraps, range = 0..=4095)]
    yaw: u16,
    #[wire(range = 0..=1023)]
    pitch: u16,
    #[wire(bits = 7)]
    flags: u8,
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(range = 0..=100)]
    armour: u8,
    #[wire(range = 0..=3)]
    weapon: u8,
    #[wire(range = 0..=63)]
    clip: u8,
    ammunition: [u8; 4],
    score: u8,
    #[wire(range = 0..=63)]
    deaths: u8,
}

#[derive(Wire, Default)]
struct Projectile {
    #[wire(range = 1..=3)]
    kind: u8,
    #[wire(range = 0..=63)]
    owner: u8,
    #[wire(spatial, min = -42.0, max = 42.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.03125)]
    velocity: [f32; 3],
}

/// Words of the records of a recording.
const CUBE: usize = 8;
const PLAYER: usize = 20;
const PROJECTILE: usize = 9;

const CUBES: usize = 901;

/// Words before the first frame of an arena.
const ARENA_HEADER: usize = 8;

/// The records of a frame, by class and id.
type Frame = BTreeMap<(Class, u32), Vec<i32>>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Cube,
    Player,
    Projectile,
}

/// A recorded world.
pub struct Scene {
    pub name: &'static str,
    frames: Vec<Frame>,
}

/// Frame that is set, with the objects of its records.
#[derive(Default)]
pub struct Stage {
    frame: Option<usize>,
    objects: BTreeMap<(Class, u32), ObjectId>,
}

impl Scene {
    /// Reads both recordings.
    pub fn all() -> [Self; 2] {
        let cubes =
            include_bytes!("../../../crates/tightwire-cli/tests/scenes/cubes_short.bin.zst");
        let arena =
            include_bytes!("../../../crates/tightwire-cli/tests/scenes/arena_short.bin.zst");
        [
            Self { name: "901 cubes", frames: cube_frames(&words(cubes)) },
            Self { name: "arena", frames: arena_frames(&words(arena)[ARENA_HEADER..]) },
        ]
    }

    /// Declares the game of the world.
    pub fn game(&self) -> Game<Steer> {
        let objects =
            ObjectConfig { scope: Some(Scope::Always), predict: false, ..ObjectConfig::default() };
        let game = Game::new(self.name, "1");
        let game = match self.frames[0].keys().next() {
            Some((Class::Cube, _)) => game.object_with::<Cube>(objects),
            _ => game.object_with::<Player>(objects).object_with::<Projectile>(objects),
        };
        game.input::<Steer>()
    }

    /// Sets the objects that change with a tick. The recording starts again when it has ended.
    pub fn set(&self, world: &mut World<'_, Steer>, tick: u32, stage: &mut Stage) {
        let frame = tick as usize % self.frames.len();
        let nothing = Frame::new();
        let before = stage.frame.replace(frame).map_or(&nothing, |frame| &self.frames[frame]);
        let now = &self.frames[frame];
        for (&place, record) in now {
            if before.get(&place) == Some(record) {
                continue;
            }
            match place.0 {
                Class::Cube => stage.set(world, place, &cube(record)),
                Class::Player => stage.set(world, place, &player(record)),
                Class::Projectile => stage.set(world, place, &projectile(record)),
            }
        }
        stage.objects.retain(|place, object| {
            let is_there = now.contains_key(place);
            if !is_there {
                world.remove(*object);
            }
            is_there
        });
    }
}

impl Stage {
    /// Sets an object, which is spawned if it is not there.
    fn set<T: tightwire::play::Class>(
        &mut self,
        world: &mut World<'_, Steer>,
        place: (Class, u32),
        value: &T,
    ) {
        match self.objects.get(&place) {
            Some(object) => world.set(*object, value).expect("an object"),
            None => {
                self.objects.insert(place, world.spawn(value).expect("an object"));
            }
        }
    }
}

fn words(compressed: &[u8]) -> Vec<i32> {
    let mut bytes = Vec::new();
    let mut decoder = StreamingDecoder::new(compressed).expect("a recording");
    decoder.read_to_end(&mut bytes).expect("a recording");
    bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect()
}

fn cube_frames(words: &[i32]) -> Vec<Frame> {
    let frame = |words: &[i32]| {
        let records = words.chunks_exact(CUBE).map(<[i32]>::to_vec);
        (0..).map(|id| (Class::Cube, id)).zip(records).collect()
    };
    words.chunks_exact(CUBES * CUBE).map(frame).collect()
}

fn arena_frames(mut words: &[i32]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let [players, projectiles, rest @ ..] = words {
        let (players, rest) = rest.split_at(*players as usize * PLAYER);
        let (projectiles, rest) = rest.split_at(*projectiles as usize * PROJECTILE);
        let record =
            |class| move |record: &[i32]| ((class, record[0] as u32), record[1..].to_vec());
        let players = players.chunks_exact(PLAYER).map(record(Class::Player));
        let projectiles = projectiles.chunks_exact(PROJECTILE).map(record(Class::Projectile));
        frames.push(players.chain(projectiles).collect());
        words = rest;
    }
    frames
}

fn cube(words: &[i32]) -> Cube {
    let small = [1, 2, 3].map(|word| (words[word] as f32 / 511.0 * 2.0 - 1.0) / SQRT_2);
    let largest = (1.0 - small.iter().map(|part| part * part).sum::<f32>()).max(0.0).sqrt();
    let mut rest = small.into_iter();
    let rotation = from_fn(|place| match place == words[0] as usize {
        true => largest,
        false => rest.next().unwrap_or(0.0),
    });
    Cube { position: metres(&words[4..]), rotation, interacting: words[7] != 0 }
}

fn player(words: &[i32]) -> Player {
    Player {
        position: metres(words),
        velocity: speed(&words[3..]),
        yaw: words[6] as u16,
        pitch: words[7] as u16,
        flags: words[8] as u8,
        health: words[9] as u8,
        armour: words[10] as u8,
        weapon: words[11] as u8,
        clip: words[12] as u8,
        ammunition: from_fn(|weapon| words[13 + weapon] as u8),
        score: words[17] as u8,
        deaths: words[18] as u8,
    }
}

fn projectile(words: &[i32]) -> Projectile {
    Projectile {
        kind: words[0] as u8,
        owner: words[1] as u8,
        position: metres(&words[2..]),
        velocity: speed(&words[5..]),
    }
}

/// Converts units of a recording, of which a metre has 512.
fn metres(words: &[i32]) -> [f32; 3] {
    from_fn(|axis| words[axis] as f32 / 512.0)
}

fn speed(words: &[i32]) -> [f32; 3] {
    from_fn(|axis| words[axis] as f32 / 32.0)
}
