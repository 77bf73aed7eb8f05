//! Scenes of cubes that a player pushes around.

use tightwire::Wire;

use super::scene::SceneObject;
use super::turn::Up;

/// Words of a frame; `RECORD` are those of a cube.
pub(super) const FRAME: usize = 901 * RECORD;
const RECORD: usize = 8;

/// Bits of a cube, as recordings of this kind are counted: rotation, position, and whether it
/// interacts.
pub(super) const BITS: usize = 2 + 3 * 9 + 18 + 18 + 14 + 1;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct PlayerCube {
    /// Rotation as recorded: the index of the largest component, and the other three.
    #[wire(rotation, range = 0..=511)]
    turn: [u16; 4],
    #[wire(spatial, reference, range = -16383..=16383)]
    position: [i32; 3],
    interacting: bool,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(super) struct Cube {
    /// Rotation as recorded: the index of the largest component, and the other three.
    #[wire(rotation, range = 0..=511)]
    turn: [u16; 4],
    #[wire(spatial, range = -16383..=16383)]
    position: [i32; 3],
    interacting: bool,
}

pub(super) fn check(words: &[i32]) -> Result<(), String> {
    if words.is_empty() || !words.len().is_multiple_of(FRAME) {
        return Err(format!(
            "not a scene: neither an arena nor frames of 901 cubes, of {} bytes each",
            FRAME * 4
        ));
    }
    let is_cube = |cube: &[i32; RECORD]| {
        (0..=3).contains(&cube[0])
            && cube[1..4].iter().all(|code| (0..=511).contains(code))
            && cube[4..7].iter().all(|place| (-16383..=16383).contains(place))
            && (0..=1).contains(&cube[7])
    };
    match words.as_chunks().0.iter().position(|cube| !is_cube(cube)) {
        Some(place) => Err(format!(
            "cube {} of frame {} has a word out of its range",
            place % 901,
            place / 901
        )),
        None => Ok(()),
    }
}

/// Turns all cubes, so that another axis points up.
pub(super) fn turn(words: &mut [i32], up: Up) {
    for [a, b, c, d, x, y, z, _] in words.as_chunks_mut::<RECORD>().0 {
        let (mut rotation, mut position) = ([*a, *b, *c, *d], [*x, *y, *z]);
        up.turn_rotation(&mut rotation);
        up.turn(&mut position);
        ([*a, *b, *c, *d], [*x, *y, *z]) = (rotation, position);
    }
}

pub(super) fn objects(frame: &[i32]) -> Vec<(u32, SceneObject)> {
    let cubes = (0..).zip(frame.as_chunks::<RECORD>().0);
    let object = |(id, &[largest, a, b, c, x, y, z, interacting]): (u32, &[i32; RECORD])| {
        let turn = [largest, a, b, c].map(|word| word as u16);
        let (position, interacting) = ([x, y, z], interacting == 1);
        let object = match id {
            0 => SceneObject::PlayerCube(PlayerCube { turn, position, interacting }),
            _ => SceneObject::Cube(Cube { turn, position, interacting }),
        };
        (id, object)
    };
    cubes.map(object).collect()
}
