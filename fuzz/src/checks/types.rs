//! Types that use every stream operation between them.
//!
//! Whole floats are kept as their bits, so that a NaN equals itself.

use tightwire::{FloatRange, Selection, Stream, SubsetCoding, Wire};

use super::hostile_read::Hostile;
use super::quantised::is_same_rotation;

#[derive(Default, PartialEq, Debug)]
pub(super) struct Integers {
    raw: [u64; 3],
    small: i8,
    constant: u8,
    score: u16,
    offset: i64,
    whole: u64,
    key: u128,
    narrow_key: u128,
    balance: i128,
    weapon: Weapon,
    is_alive: bool,
    height: i32,
    time: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
enum Weapon {
    #[default]
    Fist,
    Bow,
    Staff,
}

impl Wire for Integers {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let [thirteen, all, none] = &mut self.raw;
        stream.named("thirteen").bits(thirteen, 13)?;
        stream.bits(all, 64)?;
        stream.bits(none, 0)?;
        stream.named("small").int(&mut self.small, -100..=100)?;
        stream.int(&mut self.constant, 5..=5)?;
        stream.int(&mut self.score, 1..=1000)?;
        stream.int(&mut self.offset, i64::MIN..=5)?;
        stream.int(&mut self.whole, 0..=u64::MAX)?;
        stream.int(&mut self.key, 3..=u128::MAX - 3)?;
        stream.int(&mut self.narrow_key, u128::MAX - 5..=u128::MAX)?;
        stream.int(&mut self.balance, -(1 << 70)..=1 << 69)?;
        stream.enumerate(&mut self.weapon, &[Weapon::Fist, Weapon::Bow, Weapon::Staff])?;
        stream.bool(&mut self.is_alive)?;
        stream.fixed(&mut self.height, 8, -100..=100)?;
        stream.fixed(&mut self.time, 20, 7..=1 << 40)?;
        stream.check("integers")
    }
}

impl Hostile for Integers {
    const IS_CANONICAL: bool = true;
}

#[derive(Default, PartialEq, Debug)]
pub(super) struct Varints {
    tiny: u8,
    small: i16,
    usual: u32,
    long: i64,
    size: usize,
    flag: bool,
    widest: u128,
    signed_widest: i128,
}

impl Wire for Varints {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.varint(&mut self.tiny)?;
        stream.varint(&mut self.small)?;
        stream.named("usual").varint(&mut self.usual)?;
        stream.varint(&mut self.long)?;
        stream.varint(&mut self.size)?;
        stream.bool(&mut self.flag)?;
        stream.varint(&mut self.widest)?;
        stream.varint(&mut self.signed_widest)
    }
}

impl Hostile for Varints {
    const IS_CANONICAL: bool = true;
}

#[derive(Default, PartialEq, Debug)]
pub(super) struct Motion {
    rotations: [[f32; 4]; 3],
    places: Places,
}

#[derive(Default, PartialEq, Debug)]
struct Places {
    volume: f32,
    position: [f32; 3],
    coarse: [f32; 2],
    directions: [[f32; 3]; 3],
    float: u32,
    double: u64,
    whole_vector: [u32; 3],
    whole_quaternion: [u32; 4],
}

const VOLUME: FloatRange = FloatRange::new(0.0, 10.0, 0.01);
const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);
const COARSE: FloatRange = FloatRange::new(-1.0, 1.0, 0.3);
const ROTATION_BITS: [u32; 3] = [3, 10, 20];
const DIRECTION_BITS: [u32; 3] = [2, 12, 20];

impl Wire for Motion {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        for (rotation, bits) in self.rotations.iter_mut().zip(ROTATION_BITS) {
            stream.smallest_three(rotation, bits)?;
        }
        stream.object(&mut self.places)
    }
}

impl Wire for Places {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.compressed_float(&mut self.volume, VOLUME)?;
        stream.named("position").compressed_vector(&mut self.position, POSITION)?;
        stream.compressed_vector(&mut self.coarse, COARSE)?;
        for (direction, bits) in self.directions.iter_mut().zip(DIRECTION_BITS) {
            stream.unit_vector(direction, bits)?;
        }
        let mut float = f32::from_bits(self.float);
        stream.float(&mut float)?;
        self.float = float.to_bits();
        let mut double = f64::from_bits(self.double);
        stream.double(&mut double)?;
        self.double = double.to_bits();
        let mut vector = self.whole_vector.map(f32::from_bits);
        stream.vector(&mut vector)?;
        self.whole_vector = vector.map(f32::to_bits);
        let mut quaternion = self.whole_quaternion.map(f32::from_bits);
        stream.quaternion(&mut quaternion)?;
        self.whole_quaternion = quaternion.map(f32::to_bits);
        Ok(())
    }
}

impl Hostile for Motion {
    const IS_CANONICAL: bool = false;
    const IS_EXACT: bool = false;

    fn agrees(&self, other: &Self) -> bool {
        let rotations = self.rotations.into_iter().zip(other.rotations).zip(ROTATION_BITS);
        self.places == other.places
            && rotations.into_iter().all(|((sent, came), bits)| is_same_rotation(sent, came, bits))
    }
}

#[derive(Default, PartialEq, Debug)]
pub(super) struct Text {
    name: String,
    bit: bool,
    motto: String,
    blob: Vec<u8>,
    raw: [u8; 5],
    crumbs: u64,
    plain: [u16; 3],
    lines: Vec<String>,
}

impl Wire for Text {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.named("name").string(&mut self.name, 31)?;
        stream.bool(&mut self.bit)?;
        stream.wide_string(&mut self.motto, 1000)?;
        stream.blob(&mut self.blob, 100_000)?;
        stream.bytes(&mut self.raw)?;
        stream.bits(&mut self.crumbs, 3)?;
        stream.align()?;
        stream.pod(&mut self.plain)?;
        stream.array(&mut self.lines, 1000, |line, stream| stream.string(line, 200))
    }
}

impl Hostile for Text {
    const IS_CANONICAL: bool = true;

    fn heap(&self) -> usize {
        let strings: usize = self.lines.iter().map(String::capacity).sum();
        let lines = self.lines.capacity() * size_of::<String>();
        self.name.capacity() + self.motto.capacity() + self.blob.capacity() + lines + strings
    }
}

#[derive(PartialEq, Debug)]
pub(super) struct Sets {
    coded: [(Selection, SubsetCoding); 8],
    objects: [u8; 40],
    chosen: Selection,
    indices: [u32; 3],
    sequence: [u32; 2],
}

impl Default for Sets {
    fn default() -> Self {
        let coded = [
            (125, SubsetCoding::RelativeIndex),
            (300, SubsetCoding::Best),
            (70, SubsetCoding::BitPerObject),
            (100, SubsetCoding::CountAndIndex),
            (64, SubsetCoding::SentinelIndex),
            (300, SubsetCoding::RelativeIndex),
            (1, SubsetCoding::Best),
            (0, SubsetCoding::CountAndIndex),
        ]
        .map(|(len, coding)| (Selection::new(len), coding));
        let chosen = Selection::new(40);
        Self { coded, objects: [0; 40], chosen, indices: [0; 3], sequence: [1, 2] }
    }
}

/// The length of the array that the indices point into.
const COUNT: u32 = 1000;

impl Wire for Sets {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        for (selection, coding) in &mut self.coded {
            stream.selection(selection, *coding)?;
        }
        if S::READING {
            // The ones that are not sent keep their values otherwise.
            self.objects = [0; 40];
        }
        stream.named("objects").subset(
            &mut self.objects,
            &mut self.chosen,
            SubsetCoding::Best,
            |object, stream| stream.int(object, 1..=200),
        )?;
        let mut previous = None;
        for index in &mut self.indices {
            // After the end there is nothing.
            if previous == Some(COUNT) {
                *index = COUNT;
                continue;
            }
            stream.index(previous, index, COUNT)?;
            previous = Some(*index);
        }
        let [first, second] = &mut self.sequence;
        stream.int_relative(0, first)?;
        stream.int_relative(*first, second)
    }
}

impl Hostile for Sets {
    // The choice of `Best` and the last step of `int_relative` leave a writer its freedom.
    const IS_CANONICAL: bool = false;
}

#[derive(Default, PartialEq, Debug)]
pub(super) struct World {
    grid: [[i16; 2]; 2],
    players: Vec<Player>,
    nothing: (),
    root: Option<Box<Node>>,
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
        players + self.players.iter().map(held).sum::<usize>() + root
    }
}

impl Node {
    fn heap(&self) -> usize {
        let children = self.children.capacity() * size_of::<Self>();
        children + self.children.iter().map(Self::heap).sum::<usize>()
    }
}

#[derive(Default, PartialEq, Debug)]
pub(super) struct Everything {
    text: Text,
    sets: Sets,
    world: World,
    motion: Motion,
    varints: Varints,
    integers: Integers,
}

impl Wire for Everything {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.object(&mut self.text)?;
        stream.object(&mut self.sets)?;
        stream.object(&mut self.world)?;
        stream.object(&mut self.motion)?;
        stream.object(&mut self.varints)?;
        stream.object(&mut self.integers)
    }
}

impl Hostile for Everything {
    const IS_CANONICAL: bool = false;
    const IS_EXACT: bool = false;

    fn heap(&self) -> usize {
        self.text.heap() + self.world.heap()
    }

    fn agrees(&self, other: &Self) -> bool {
        let Self { text, sets, world, motion, varints, integers } = self;
        motion.agrees(&other.motion)
            && (text, sets, world) == (&other.text, &other.sets, &other.world)
            && (varints, integers) == (&other.varints, &other.integers)
    }
}
