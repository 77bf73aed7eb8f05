//! The form of an input frame on the wire.
//!
//! A frame is a [`FrameHeader`] and the rows of its inputs, oldest first, each relative to the one
//! before; the oldest is relative to its baseline, the input of the tick before it, or is whole.

use tightwire_core::Wire;
use tightwire_core::stream::{Stream, Target};

use super::InputLayout;

/// Fields of a frame before its rows.
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FrameHeader<A> {
    /// `None` until the client has a snapshot.
    pub(super) view: Option<ClientView<A>>,
    /// `None` if the server acked every input.
    pub(super) inputs: Option<InputSpan>,
}

/// Snapshots that the client has, and the moment that it shows of them.
#[derive(Wire, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ClientView<A> {
    pub(super) ack: A,
    pub(super) delay: ViewDelay,
}

/// Ticks of the inputs of a frame.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct InputSpan {
    /// Lowest bits of the newest tick.
    #[wire(bits = 12)]
    pub(super) newest: u16,
    /// Number of inputs, one per tick.
    #[wire(range = 1..=32)]
    pub(super) count: u8,
    /// The oldest input is whole, and not relative to the input of the tick before it.
    pub(super) is_whole: bool,
}

/// Ticks from the newest acked snapshot back to the moment that is shown, in 32nds: an object at
/// 12 m/s and 60 ticks a second is then found within 3 mm of where it was shown.
#[derive(Wire, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct ViewDelay {
    #[wire(bits = 10)]
    parts: u16,
}

impl ViewDelay {
    const PER_TICK: f64 = 32.0;
    const MAX_PARTS: u16 = (1 << 10) - 1;

    /// Rounds a delay to 32nds of a tick, and clamps it to 0..32 ticks.
    pub(crate) fn from_ticks(ticks: f64) -> Self {
        Self { parts: ((ticks * Self::PER_TICK).round() as u16).min(Self::MAX_PARTS) }
    }

    /// Returns the delay in ticks.
    pub(crate) fn ticks(self) -> f64 {
        f64::from(self.parts) / Self::PER_TICK
    }
}

impl InputSpan {
    /// Creates the span of `count` inputs up to the tick `newest`.
    pub(super) fn new(newest: u32, count: u32, is_whole: bool) -> Self {
        Self { newest: newest as u16 & TICK_MASK, count: count as u8, is_whole }
    }

    /// Returns the newest tick: the one nearest to `next` with its lowest bits.
    pub(super) fn newest_near(self, next: u32) -> u32 {
        let ahead = self.newest.wrapping_sub(next as u16).wrapping_add(HALF_TICKS) & TICK_MASK;
        next.wrapping_add(ahead.into()).wrapping_sub(HALF_TICKS.into())
    }
}

const TICK_MASK: u16 = (1 << 12) - 1;
const HALF_TICKS: u16 = 1 << 11;

/// Writes or reads one input: relative to the row `before`, or whole without one. Returns whether
/// the row may differ from the row before.
pub(super) fn serialize_row<S: Stream>(
    stream: &mut S,
    layout: &InputLayout,
    before: Option<&[u32]>,
    mut row: Target<'_, S::Access, [u32]>,
) -> Result<bool, S::Error> {
    let groups = layout.groups();
    let mut changed = u64::MAX.unbounded_shr(u64::BITS - groups.len() as u32);
    if let Some(before) = before {
        if S::WRITING {
            changed = 0;
            for (index, group) in groups.iter().enumerate() {
                changed |= u64::from(before[group.clone()] != row[group.clone()]) << index;
            }
        }
        let mut is_same = changed == 0;
        stream.named("is_same").bool(&mut is_same)?;
        if let Some(row) = row.when_reading() {
            row.copy_from_slice(before);
        }
        if is_same {
            return Ok(false);
        }
        stream.named("changed").bits(&mut changed, groups.len() as u32)?;
    } else if let Some(row) = row.when_reading() {
        row.fill(0);
    }
    for (index, group) in groups.iter().enumerate() {
        if changed >> index & 1 == 0 {
            continue;
        }
        for column in group.clone() {
            let cell = row.parts(|row| &row[column], |row| &mut row[column]);
            stream.named("cell").int(cell, 0..=layout.max(column))?;
        }
    }
    Ok(true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tightwire_core::stream::{ReadStream, WriteStream};

    use super::*;

    #[test]
    fn ticks_are_found_by_their_lowest_bits() {
        for next in [0u32, 5, 2047, 2048, 4095, 4096, 1_000_000, u32::MAX - 3] {
            for distance in -2048i32..2048 {
                let tick = next.wrapping_add_signed(distance);
                assert_eq!(InputSpan::new(tick, 1, true).newest_near(next), tick, "{next}");
            }
        }
    }

    #[test]
    fn a_view_delay_is_rounded_and_clamped() {
        for (ticks, expected) in [
            (0.0, 0.0),
            (6.26, 6.25),
            (6.27, 6.28125),
            (31.99, 31.96875),
            (1e9, 31.96875),
            (-3.0, 0.0),
            (f64::NAN, 0.0),
        ] {
            assert_eq!(ViewDelay::from_ticks(ticks).ticks(), expected, "{ticks}");
        }
    }

    #[test]
    fn the_header_has_the_documented_bits() {
        assert_eq!(FrameHeader::<u32>::MAX_BITS, 1 + 32 + 10 + 1 + 12 + 5 + 1);
        assert_eq!(tightwire_core::stream::measure(&FrameHeader::<u32>::default()), 2);
    }

    #[test]
    fn a_column_in_no_group_is_read_as_zero() {
        let layout = InputLayout::new(vec![7, 7, 7], vec![0..1, 2..3]).unwrap();
        for before in [None, Some(&[1, 0, 1][..])] {
            let mut buffer = [0; 8];
            let mut stream = WriteStream::new(&mut buffer);
            let Ok(is_new) = serialize_row(&mut stream, &layout, before, [3, 5, 6][..].into());
            let bytes = stream.finish().unwrap();
            let mut row = [7; 3];
            let target = Target::from(&mut row[..]);
            let read = serialize_row(&mut ReadStream::new(bytes), &layout, before, target);
            assert_eq!((read, is_new, row), (Ok(true), true, [3, 0, 6]));
        }
    }
}
