//! Scenes of players and their projectiles.

use tightwire::Wire;

use super::scene::SceneObject;
use super::turn::Up;

/// First word of a file; `HEADER` is the number of words in its header.
pub(super) const MAGIC: i32 = 0x314e_5241;
const HEADER: usize = 8;

const PLAYER: usize = 20;
const PROJECTILE: usize = 9;

/// Bits of a player, its id included; `PROJECTILE_BITS` are those of a projectile.
pub(super) const PLAYER_BITS: usize =
    6 + 16 + 16 + 13 + 3 * 12 + 12 + 10 + 7 + 7 + 7 + 2 + 6 + 4 * 8 + 8 + 6;
pub(super) const PROJECTILE_BITS: usize = 16 + 2 + 6 + 17 + 17 + 14 + 3 * 12;

/// First id of projectiles, behind those of players.
const FIRST_PROJECTILE: u32 = 64;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Player {
    #[wire(spatial, min = -42.0, max = 42.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.03125)]
    velocity: [f32; 3],
    #[wire(wraps, range = 0..=4095)]
    yaw: u16,
    #[wire(range = 0..=1023)]
    pitch: u16,
    flags: [bool; 7],
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

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Projectile {
    kind: Weapon,
    #[wire(range = 0..=63)]
    owner: u8,
    #[wire(spatial, min = -42.0, max = 42.0, resolution = 0.001953125)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.03125)]
    velocity: [f32; 3],
}

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
pub(super) enum Weapon {
    #[default]
    Rocket,
    Grenade,
    Bolt,
}

/// Returns the index of each frame's first word.
pub(super) fn frames(words: &[i32]) -> Result<Vec<usize>, String> {
    let header = words.get(..HEADER).ok_or("the header is cut short")?;
    let expected = [(1, 1), (4, PLAYER as i32), (5, PROJECTILE as i32), (7, 512)];
    if let Some((place, word)) = expected.iter().find(|&&(place, word)| header[place] != word) {
        return Err(format!("word {place} of the header is {}, not {word}", header[*place]));
    }
    let (mut starts, mut at) = (Vec::new(), HEADER);
    while at < words.len() {
        let (players, projectiles) = counts(&words[at..]).ok_or("a frame is cut short")?;
        starts.push(at);
        check(&words[at..], players, projectiles).map_err(|id| {
            format!("frame {}: object {id} has a word out of its range", starts.len() - 1)
        })?;
        at += 2 + players * PLAYER + projectiles * PROJECTILE;
    }
    match starts.len() == header[2] as usize {
        true => Ok(starts),
        false => Err(format!("{} frames where the header says {}", starts.len(), header[2])),
    }
}

/// Returns the numbers of players and projectiles in a frame; `None` if the frame is too short for
/// them.
fn counts(frame: &[i32]) -> Option<(usize, usize)> {
    let [players, projectiles] = *frame.first_chunk()?;
    let (players, projectiles) =
        (usize::try_from(players).ok()?, usize::try_from(projectiles).ok()?);
    let words = players.checked_mul(PLAYER)?.checked_add(projectiles.checked_mul(PROJECTILE)?)?;
    (frame.len() - 2 >= words).then_some((players, projectiles))
}

fn check(frame: &[i32], players: usize, projectiles: usize) -> Result<(), i32> {
    let (players, rest) = frame[2..].split_at(players * PLAYER);
    let within = |word: i32, low, high| (low..=high).contains(&word);
    for player in players.as_chunks::<PLAYER>().0 {
        let is_fine = within(player[0], 0, 63)
            && player[1..4].iter().all(|&place| within(place, -20480, 20480))
            && player[4..7].iter().all(|&speed| within(speed, -2047, 2047))
            && player[7..]
                .iter()
                .zip([4095, 1023, 127, 100, 100, 3, 63, 255, 255, 255, 255, 255, 63])
                .all(|(&word, most)| within(word, 0, most));
        if !is_fine {
            return Err(player[0]);
        }
    }
    for projectile in rest[..projectiles * PROJECTILE].as_chunks::<PROJECTILE>().0 {
        let is_fine = within(projectile[0], 0, 65535)
            && within(projectile[1], 1, 3)
            && within(projectile[2], 0, 63)
            && projectile[3..6].iter().all(|&place| within(place, -21000, 21000))
            && projectile[6..].iter().all(|&speed| within(speed, -2047, 2047));
        if !is_fine {
            return Err(projectile[0]);
        }
    }
    Ok(())
}

/// Turns positions and velocities of a frame, so that another axis points up.
pub(super) fn turn(frame: &mut [i32], up: Up) {
    let Some((players, projectiles)) = counts(frame) else { return };
    let (players, rest) = frame[2..].split_at_mut(players * PLAYER);
    let players = players.as_chunks_mut::<PLAYER>().0.iter_mut().map(|words| &mut words[1..7]);
    let projectiles = rest[..projectiles * PROJECTILE].as_chunks_mut::<PROJECTILE>().0;
    let projectiles = projectiles.iter_mut().map(|words| &mut words[3..9]);
    for vectors in players.chain(projectiles) {
        vectors.as_chunks_mut().0.iter_mut().for_each(|vector| up.turn(vector));
    }
}

pub(super) fn objects(frame: &[i32]) -> Vec<(u32, SceneObject)> {
    let Some((players, projectiles)) = counts(frame) else { return Vec::new() };
    let (players, rest) = frame[2..].split_at(players * PLAYER);
    let players = players
        .as_chunks::<PLAYER>()
        .0
        .iter()
        .map(|words| (words[0] as u32, SceneObject::Player(player(words))));
    let projectiles = rest[..projectiles * PROJECTILE].as_chunks::<PROJECTILE>().0.iter();
    let projectiles = projectiles.map(|words| {
        (FIRST_PROJECTILE + words[0] as u32, SceneObject::Projectile(projectile(words)))
    });
    players.chain(projectiles).collect()
}

fn player(words: &[i32; PLAYER]) -> Player {
    Player {
        position: metres([words[1], words[2], words[3]]),
        velocity: speed([words[4], words[5], words[6]]),
        yaw: words[7] as u16,
        pitch: words[8] as u16,
        flags: core::array::from_fn(|bit| words[9] >> bit & 1 == 1),
        health: words[10] as u8,
        armour: words[11] as u8,
        weapon: words[12] as u8,
        clip: words[13] as u8,
        ammunition: core::array::from_fn(|weapon| words[14 + weapon] as u8),
        score: words[18] as u8,
        deaths: words[19] as u8,
    }
}

fn projectile(words: &[i32; PROJECTILE]) -> Projectile {
    Projectile {
        kind: [Weapon::Rocket, Weapon::Grenade, Weapon::Bolt][words[1] as usize - 1],
        owner: words[2] as u8,
        position: metres([words[3], words[4], words[5]]),
        velocity: speed([words[6], words[7], words[8]]),
    }
}

impl Player {
    /// Rounds the numbers to whole units, as they were recorded: a quantised float is within an
    /// `f32`'s error of these.
    pub(super) fn in_units(mut self) -> Self {
        (self.position, self.velocity) =
            (snapped(self.position, 512.0), snapped(self.velocity, 32.0));
        self
    }
}

impl Projectile {
    /// Rounds the numbers to whole units, as [`Player::in_units`] does.
    pub(super) fn in_units(mut self) -> Self {
        (self.position, self.velocity) =
            (snapped(self.position, 512.0), snapped(self.velocity, 32.0));
        self
    }
}

fn snapped(numbers: [f32; 3], per_one: f32) -> [f32; 3] {
    numbers.map(|number| (number * per_one).round() / per_one)
}

/// Converts units to metres. 512 units are a metre: an `f32` represents them exactly, and so does a
/// resolution of one unit.
fn metres(units: [i32; 3]) -> [f32; 3] {
    units.map(|units| units as f32 / 512.0)
}

fn speed(units: [i32; 3]) -> [f32; 3] {
    units.map(|units| units as f32 / 32.0)
}
