//! Types that together use every stream operation.

mod motion;
mod numbers;
mod sets;
mod text;
mod world;

use tightwire::{Stream, Target, Wire, at};

use super::hostile_read::Hostile;

pub(super) use motion::Motion;
pub(super) use numbers::{Integers, Varints};
pub(super) use sets::{Choices, Sets};
pub(super) use text::{Blobs, Text};
pub(super) use world::World;

#[derive(Default, PartialEq, Debug)]
pub(super) struct Everything {
    exact: Exact,
    motion: Motion,
}

/// All types except the one that is only nearly the same after a round trip.
#[derive(Default, PartialEq, Debug)]
struct Exact {
    text: Text,
    blobs: Blobs,
    sets: Sets,
    choices: Choices,
    world: World,
    varints: Varints,
    integers: Integers,
}

impl Wire for Everything {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.exact))?;
        stream.object(at!(this.motion))
    }
}

impl Wire for Exact {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.text))?;
        stream.object(at!(this.blobs))?;
        stream.object(at!(this.sets))?;
        stream.object(at!(this.choices))?;
        stream.object(at!(this.world))?;
        stream.object(at!(this.varints))?;
        stream.object(at!(this.integers))
    }
}

impl Hostile for Everything {
    const IS_CANONICAL: bool = false;
    const IS_EXACT: bool = false;

    fn heap(&self) -> usize {
        let Exact { text, blobs, world, .. } = &self.exact;
        text.heap() + blobs.heap() + world.heap()
    }

    fn agrees(&self, other: &Self) -> bool {
        self.exact == other.exact && self.motion.agrees(&other.motion)
    }
}
