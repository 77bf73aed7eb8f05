//! A small world in which every kind of field moves.

use tightwire::snapshot::SetError;
use tightwire::{Wire, snapshot};

/// An object of changing numbers.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Body {
    #[wire(spatial, reference, min = -50.0, max = 50.0, resolution = 0.01)]
    pub(crate) position: [f32; 3],
    #[wire(derivative_of = position, min = -20.0, max = 20.0, resolution = 0.05)]
    pub(crate) velocity: [f32; 3],
    #[wire(smallest_three = 9)]
    pub(crate) rotation: [f32; 4],
    #[wire(wraps, range = 0..=359)]
    pub(crate) heading: u16,
    pub(crate) at_rest: bool,
    #[wire(when = !self.at_rest, range = 0..=100)]
    pub(crate) speed: u8,
    pub(crate) owner: Option<u16>,
}

/// An object of changing variants, texts and lists.
#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) enum Sign {
    #[default]
    Blank,
    Text {
        #[wire(max_len = 12)]
        text: String,
        size: u32,
    },
    Numbers(#[wire(max_len = 5, range = -3..=3)] Vec<i8>),
}

/// Sets the objects of a tick: eight bodies, of which one may become a sign, and removes some.
pub(crate) fn set_objects(sender: &mut snapshot::Sender, tick: u32) -> Result<(), SetError> {
    for object in 0..8u32 {
        let way = (tick * (object + 1)) as f32 * 0.07;
        let body = Body {
            position: [way, -way, object as f32],
            velocity: [4.2 * (object + 1) as f32 / 2.0, -4.2, 0.0],
            rotation: [way.min(1.0), 0.1, 0.2, 0.9],
            heading: ((tick * 30 + object) % 360) as u16,
            at_rest: (object + tick / 4).is_multiple_of(3),
            speed: object as u8,
            owner: (tick % 4 == object % 4).then_some(tick as u16),
        };
        sender.set(object, &body)?;
    }
    let sign = match tick % 3 {
        0 => Sign::Blank,
        1 => Sign::Text { text: format!("tick {tick}"), size: tick },
        _ => Sign::Numbers(vec![1, -2, 3]),
    };
    // Sometimes an object that was a body.
    sender.set([7, 100, 101][tick as usize / 2 % 3], &sign)?;
    if tick.is_multiple_of(4) {
        sender.remove(tick % 7)?;
    }
    Ok(())
}
