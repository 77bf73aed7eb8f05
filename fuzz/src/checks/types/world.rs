//! Objects in objects: arrays, options, a tree.

use tightwire::{Stream, Wire};

use super::Hostile;
use crate::checks::hostile_read::FREE_ELEMENTS;

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct World {
    grid: [[i16; 2]; 2],
    players: Vec<Player>,
    nothing: (),
    root: Option<Box<Node>>,
    /// Each of these is known already, and takes no bits.
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

/// A tree, whose depth only its own check bounds.
#[derive(Default, PartialEq, Debug)]
struct Node {
    depth: u32,
    id: u16,
    children: Vec<Node>,
}

const MAX_DEPTH: u32 = 8;

impl Wire for World {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.named("grid").object(&mut self.grid)?;
        stream
            .named("players")
            .array(&mut self.players, 100, |player, stream| stream.object(player))?;
        stream.object(&mut self.nothing)?;
        stream.object(&mut self.root)?;
        stream.array(&mut self.crowd, FREE_ELEMENTS, |one, stream| stream.int(one, 7..=7))?;
        stream.fixed_array(&mut self.scores, |score, stream| stream.int(score, 0..=9))
    }
}

impl Wire for Player {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.named("health").int(&mut self.health, 0..=60_000)?;
        stream.named("name").string(&mut self.name, 15)?;
        stream
            .named("inventory")
            .array(&mut self.inventory, 8, |slot, stream| stream.object(slot))?;
        stream.option(&mut self.target, |target, stream| stream.int(target, 0..=1023))
    }
}

impl Wire for Slot {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.int(&mut self.item, 0..=1000)?;
        stream.int(&mut self.count, 1..=64)
    }
}

impl Wire for Node {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        if self.depth > MAX_DEPTH {
            return stream.refuse();
        }
        stream.int(&mut self.id, 0..=u16::MAX)?;
        let depth = self.depth + 1;
        stream.array(&mut self.children, 3, |child, stream| {
            child.depth = depth;
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
