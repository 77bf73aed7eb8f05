//! What changed since the state before.

use tightwire::Level;

use super::input::Input;

pub(super) fn size(_input: &Input, _level: Level) -> Result<usize, String> {
    Err("not yet".to_owned())
}
