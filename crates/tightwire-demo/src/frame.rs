//! A frame of both worlds for the page; `assets/worlds.js` reads the same layout.

use super::server_history::TickState;
use super::world::Body;

/// Position and rotation of a cube as a client shows it; `None` if the client does not have the
/// cube.
pub(super) type Shown = Option<([f32; 3], [f32; 4])>;

/// Encodes the server's newest world and a client's shown world: cube by cube, in the same order.
/// `own` is the place of the cube that the client predicts.
pub(super) fn frame(moment: &TickState, time: f64, shown: &[Shown], own: Option<usize>) -> Vec<u8> {
    let count = moment.bodies.len();
    let mut bytes = Vec::with_capacity(16 + 60 * count);
    bytes.extend(moment.tick.to_le_bytes());
    bytes.extend((time as f32).to_le_bytes());
    bytes.extend((count as u32).to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    for (place, body) in moment.bodies.iter().enumerate() {
        let Body { position, rotation, awake } = *body;
        let client = shown.get(place).copied().flatten();
        let (at, turn) = client.unwrap_or(([0.0; 3], [0.0, 0.0, 0.0, 1.0]));
        for number in position.into_iter().chain(rotation).chain(at).chain(turn) {
            bytes.extend(number.to_le_bytes());
        }
        let is_player = place < moment.players.len();
        let is_own = own == Some(place);
        let flags = [awake, is_player, client.is_some(), is_own].into_iter().enumerate();
        let flags = flags.fold(0, |flags, (bit, flag)| flags | u32::from(flag) << bit);
        bytes.extend(flags.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Player;

    #[test]
    fn a_frame_has_sixty_bytes_for_a_cube() {
        let body = Body { position: [1.0, 2.0, 3.0], rotation: [0.0, 0.0, 0.0, 1.0], awake: true };
        let player = Player { position: body.position, ..Player::default() };
        let moment = TickState::new(7, vec![body; 3], vec![player]);
        let shown = [None, Some(([4.0; 3], [0.5; 4])), None];
        let bytes = moment.map(|moment| frame(&moment, 6.5, &shown, Some(0))).unwrap_or_default();
        assert_eq!(bytes.len(), 16 + 60 * 3);
        assert_eq!(bytes[..4], 7u32.to_le_bytes());
        assert_eq!(bytes[4..8], 6.5f32.to_le_bytes());
        let flags = |cube: usize| bytes[16 + 60 * cube + 56];
        assert_eq!([flags(0), flags(1), flags(2)], [0b1011, 0b0101, 0b0001]);
        assert_eq!(bytes[76 + 28..76 + 32], 4.0f32.to_le_bytes());
    }
}
