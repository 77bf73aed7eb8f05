//! Motion of a player's cube without contacts, which the server and the owner's prediction both
//! compute.

use super::game::{Player, Steer};
use super::pace::TICKS_PER_SECOND;

/// Moves a player's cube by one tick.
pub(super) fn step(player: &mut Player, steer: &Steer) {
    let missing = [0, 1].map(|axis: usize| {
        let at = player.position[axis];
        // Players stay inside: beyond the edge, a cube is driven back whatever its input.
        let wanted = match at.abs() > EDGE {
            true => -at.signum() * MAX_SPEED / 2.0,
            false => f32::from(steer.stick[axis]) * MAX_SPEED / 100.0,
        };
        wanted - player.velocity[axis]
    });
    let length = (missing[0] * missing[0] + missing[1] * missing[1]).sqrt();
    // Quantised, a small step towards the wanted velocity would be none, and the difference stay.
    let share = match length < SMALL_DIFFERENCE {
        true => 1.0,
        false => (STEP * APPROACH).min(STEP * MAX_ACCELERATION / length),
    };
    for (axis, missing) in missing.into_iter().enumerate() {
        player.velocity[axis] += missing * share;
        player.position[axis] += player.velocity[axis] * STEP;
    }
}

/// Distance from the centre, along an axis, beyond which cubes are driven back.
pub(super) const EDGE: f32 = 12.0;

/// Maximum speed in metres per second, and acceleration in metres per second squared.
const MAX_SPEED: f32 = 3.5;
const MAX_ACCELERATION: f32 = 20.0;

/// Share of the missing velocity that is added per second.
const APPROACH: f32 = 6.0;

/// Difference of velocities, in metres per second, that is removed in one tick.
const SMALL_DIFFERENCE: f32 = 0.2;

/// Duration of a tick, in seconds.
pub(super) const STEP: f32 = 1.0 / TICKS_PER_SECOND as f32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Action;

    fn steer(x: i8, y: i8) -> Steer {
        Steer { stick: [x, y], action: Action::Nothing }
    }

    #[test]
    fn a_cube_reaches_the_speed_of_its_input_and_stops_without_one() {
        let mut player = Player::default();
        for _ in 0..60 {
            step(&mut player, &steer(100, -50));
        }
        assert_eq!(player.velocity, [MAX_SPEED, -MAX_SPEED / 2.0, 0.0]);
        assert!(player.position[0] > 1.0 && player.position[1] < -0.5, "{player:?}");
        for _ in 0..60 {
            step(&mut player, &steer(0, 0));
        }
        assert_eq!(player.velocity, [0.0; 3]);
    }

    #[test]
    fn a_cube_is_driven_back_from_the_edge() {
        let mut player = Player { position: [11.0, 0.0, 0.7], ..Player::default() };
        let mut farthest = 0.0_f32;
        for _ in 0..600 {
            step(&mut player, &steer(100, 0));
            farthest = farthest.max(player.position[0]);
        }
        assert!((EDGE..EDGE + 1.0).contains(&farthest), "{farthest}");
    }
}
