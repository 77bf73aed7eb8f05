//! The configuration of prediction.

use core::time::Duration;

use crate::limits::{LimitError, at_least};

/// Configuration of prediction on a client.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PredictConfig {
    /// Difference, in codes, up to which a continuous value counts as predicted correctly: it
    /// covers the noise of floats between machines. All other values must be equal.
    /// Default: 1.
    pub tolerance: u32,
    /// Replays the ticks since every snapshot, and counts the replays with another result: a test
    /// of the simulation for state that lives outside of the scene. Default: false.
    pub always_replay: bool,
    /// Time in which 95% of a visible error of a position is gone. Default: 150 ms.
    pub blend_position: Duration,
    /// Time in which 95% of a visible error of a rotation is gone. Default: 100 ms.
    pub blend_rotation: Duration,
    /// Time in which 95% of the way between the interpolated and the predicted state is gone, when
    /// the prediction of an object begins or ends. Default: 300 ms.
    pub switch_blend: Duration,
    /// Distance, in the units of the game, from which on an error is shown as a jump.
    /// Default: 5.0.
    pub snap: f32,
    /// Angle, in degrees, from which on an error is shown as a jump. Default: 60.0.
    pub snap_angle: f32,
    /// Prediction of objects near those of this client. Default: `None`: only objects that
    /// the client owns, and those that the game names, are predicted.
    pub touch: Option<Touch>,
}

/// Prediction of the objects near those of this client, with which it may collide.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Touch {
    /// Distance at which the prediction begins, in the units of the game. Default: 8.0.
    pub enter: f32,
    /// Distance at which it ends; at least `enter`. Default: 12.0.
    pub leave: f32,
    /// Least time that it lasts, against flicker. Default: 500 ms.
    pub hold: Duration,
}

impl PredictConfig {
    /// Refuses distances that are none, and an end of prediction before its beginning.
    pub(crate) fn check(&self) -> Result<(), LimitError> {
        at_least("predict.snap", self.snap, "", 0.0)?;
        at_least("predict.snap_angle", self.snap_angle, "", 0.0)?;
        let Some(Touch { enter, leave, .. }) = self.touch else { return Ok(()) };
        at_least("predict.touch.enter", enter, "", 0.0)?;
        at_least("predict.touch.leave", leave, "`predict.touch.enter`", enter)
    }
}

impl Default for PredictConfig {
    fn default() -> Self {
        Self {
            tolerance: 1,
            always_replay: false,
            blend_position: Duration::from_millis(150),
            blend_rotation: Duration::from_millis(100),
            switch_blend: Duration::from_millis(300),
            snap: 5.0,
            snap_angle: 60.0,
            touch: None,
        }
    }
}

impl Default for Touch {
    fn default() -> Self {
        Self { enter: 8.0, leave: 12.0, hold: Duration::from_millis(500) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_of_each_field_has_its_default() {
        let text = include_str!("config.rs");
        crate::limits::check_documented(text, &PredictConfig::default());
        crate::limits::check_documented(text, &Touch::default());
    }
}
