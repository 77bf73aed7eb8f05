//! Programs that must not compile. Each kind has a counterpart that compiles, or a typing mistake
//! would pass for a refusal.
//!
//! A type that contains itself: a packet could overflow the stack of its reader.
//!
//! ```
//! # use tightwire::Wire;
//! #[derive(Wire, Default)]
//! struct Node<const N: usize> {
//!     next: Option<Box<Leaf<N>>>,
//! }
//! #[derive(Wire, Default)]
//! struct Leaf<const N: usize>;
//! tightwire::decode::<Node<3>>(&[0]);
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! #[derive(Wire, Default)]
//! struct Node {
//!     next: Option<Box<Node>>,
//! }
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! #[derive(Wire, Default)]
//! struct Node<const N: usize> {
//!     next: Option<Box<Node<N>>>,
//! }
//! tightwire::decode::<Node<3>>(&[0]);
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! #[derive(Wire, Default)]
//! struct Node<T> {
//!     value: T,
//!     next: Option<Box<Node<T>>>,
//! }
//! tightwire::decode::<Node<u8>>(&[0]);
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! #[derive(Wire, Default)]
//! enum Tree {
//!     #[default]
//!     Leaf,
//!     Fork(Forest),
//! }
//! #[derive(Wire, Default)]
//! struct Forest {
//!     #[wire(max_len = 2)]
//!     trees: Vec<Tree>,
//! }
//! ```
//!
//! A serialize function that changes the value that it writes; only a reader may change a value:
//!
//! ```
//! # use tightwire::{Stream, Target, Wire, at};
//! # struct Player { health: u8 }
//! # impl Wire for Player {
//! fn serialize<S: Stream>(mut player: Target<'_, S::Access, Self>, stream: &mut S) -> Result<(), S::Error> {
//!     at!(player.health).put(7);
//!     stream.int(at!(player.health), 0..=100)
//! }
//! # }
//! let player = Player { health: 77 };
//! assert_eq!(tightwire::encode(&player, &mut [0; 8]), Ok(&[77][..]));
//! ```
//!
//! ```compile_fail
//! # use tightwire::{Stream, Target, Wire, at};
//! # struct Player { health: u8 }
//! # impl Wire for Player {
//! fn serialize<S: Stream>(mut player: Target<'_, S::Access, Self>, stream: &mut S) -> Result<(), S::Error> {
//!     player.health = 7;
//!     stream.int(at!(player.health), 0..=100)
//! }
//! # }
//! ```
//!
//! A place that a reader could not read into:
//!
//! ```compile_fail
//! # use tightwire::{Stream, Target, Wire, at};
//! # struct Player { health: u8 }
//! # impl Wire for Player {
//! fn serialize<S: Stream>(player: Target<'_, S::Access, Self>, stream: &mut S) -> Result<(), S::Error> {
//!     stream.int(&player.health, 0..=100)
//! }
//! # }
//! ```
//!
//! Numbers that are not literals:
//!
//! ```
//! # use tightwire::Wire;
//! # const LOW: u8 = 3;
//! # const HIGH: u8 = 5;
//! # const BITS: u32 = 8;
//! # const STEP: f32 = 0.5;
//! #[derive(Wire)]
//! struct Packet {
//!     #[wire(range = LOW..=HIGH)]
//!     range: u8,
//!     #[wire(bits = BITS)]
//!     bits: u8,
//!     #[wire(min = -STEP, max = STEP, resolution = STEP)]
//!     float: f32,
//!     #[wire(unit = BITS)]
//!     unit: [f32; 3],
//! }
//! let buffer = [0; Packet::MAX_BYTES];
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! # const LOW: u8 = 3;
//! # const HIGH: u8 = 5;
//! #[derive(Wire)]
//! struct Packet {
//!     #[wire(range = HIGH..=LOW)]
//!     range: u8,
//! }
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! # const BITS: u32 = 8;
//! #[derive(Wire)]
//! struct Packet {
//!     #[wire(bits = BITS + 1)]
//!     bits: u8,
//! }
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! # const STEP: f32 = 0.5;
//! #[derive(Wire)]
//! struct Packet {
//!     #[wire(min = STEP, max = -STEP, resolution = STEP)]
//!     float: f32,
//! }
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! #[derive(Wire)]
//! struct Packet {
//!     #[wire(min = 0.0, max = 1.0, resolution = f32::NAN)]
//!     float: f32,
//! }
//! ```
//!
//! ```compile_fail
//! # use tightwire::Wire;
//! # const BITS: u32 = 8;
//! #[derive(Wire)]
//! struct Packet {
//!     #[wire(unit = BITS + 13)]
//!     unit: [f32; 3],
//! }
//! ```
//!
//! The size of a type without a worst case:
//!
//! ```compile_fail
//! # use tightwire::{Stream, Target, Wire};
//! # struct ByHand;
//! # impl Wire for ByHand {
//! #     fn serialize<S: Stream>(_: Target<'_, S::Access, Self>, _: &mut S) -> Result<(), S::Error> {
//! #         Ok(())
//! #     }
//! # }
//! #[derive(Wire)]
//! struct Packet {
//!     hand: ByHand,
//! }
//! let buffer = [0; Packet::MAX_BYTES];
//! ```
