//! Nested objects: arrays, options, a tree.

use tightwire::{Stream, Target, Wire, at};

use super::Hostile;
use crate::checks::hostile_read::FREE_ELEMENTS;

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct World {
    grid: [[i16; 2]; 2],
    players: Vec<Player>,
    nothing: (),
    root: Option<Box<Node>>,
    /// Elements with a constant value, which take no bits.
    crowd: Vec<u8>,
    scores: [u8; 3],
}

#[derive(Default, PartialEq, Debug)]
struct Player {
    health: u16,
    name: String,
    inventory: Vec<Slot>,
    target: Option<u32>,
}

#[derive(Default, PartialEq, Debug)]
struct Slot {
    item: u16,
    count: u8,
}

/// A tree whose depth is limited only by its own check.
#[derive(Default, PartialEq, Debug)]
struct Node {
    depth: u32,
    id: u16,
    children: Vec<Node>,
}

const MAX_DEPTH: u32 = 8;

impl Wire for World {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.grid))?;
        stream.array(at!(this.players), 100, |player, stream| stream.object(player))?;
        stream.object(at!(this.nothing))?;
        stream.object(at!(this.root))?;
        stream.array(at!(this.crowd), FREE_ELEMENTS, |one, stream| stream.int(one, 7..=7))?;
        stream.fixed_array(at!(this.scores), |score, stream| stream.int(score, 0..=9))
    }
}

impl Wire for Player {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.health), 0..=60_000)?;
        stream.string(at!(this.name), 15)?;
        stream.array(at!(this.inventory), 8, |slot, stream| stream.object(slot))?;
        stream.option(at!(this.target), |target, stream| stream.int(target, 0..=1023))
    }
}

impl Wire for Slot {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.item), 0..=1000)?;
        stream.int(at!(this.count), 1..=64)
    }
}

impl Wire for Node {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        if this.depth > MAX_DEPTH {
            return stream.refuse();
        }
        stream.int(at!(this.id), 0..=u16::MAX)?;
        let depth = this.depth + 1;
        stream.array(at!(this.children), 3, |mut child, stream| {
            at!(child.depth).put(depth);
            stream.object(child)
        })
    }
}

impl Hostile for World {
    const IS_CANONICAL: bool = true;

    fn heap(&self) -> usize {
        let held = |player: &Player| {
            player.name.capacity() + player.inventory.capacity() * size_of::<Slot>()
        };
        let players = self.players.capacity() * size_of::<Player>();
        let root = self.root.iter().map(|node| size_of::<Node>() + node.heap()).sum::<usize>();
        self.crowd.capacity() + players + self.players.iter().map(held).sum::<usize>() + root
    }
}

impl Node {
    fn heap(&self) -> usize {
        let children = self.children.capacity() * size_of::<Self>();
        children + self.children.iter().map(Self::heap).sum::<usize>()
    }
}
