//! Messages of this layer, beside those of the game.

use tightwire_core::schema::ObjectId;
use tightwire_derive::{Message, Wire};

use super::asset::{AssetChunk, AssetOffer, AssetRequest};
use super::resume::ResumeTicket;
use crate::message::MessengerBuilder;

/// Message of the server: whether the client owns an object. Delivered reliably and in order, so
/// that the last one counts.
#[derive(Wire, Message, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[message(name = "tightwire.Ownership")]
pub(super) struct Ownership {
    pub(super) id: ObjectId,
    /// The client that gets this message owns the object.
    pub(super) is_owned: bool,
    /// The spawn that the client predicted, if the object is of a step function.
    pub(super) spawned: Option<SpawnKey>,
}

/// Identity of a spawn on both sides.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SpawnKey {
    pub(super) tick: u32,
    /// Number of objects that spawned before in the tick, or a number that the game gave.
    pub(super) ordinal: u16,
}

/// Registers the messages of this layer.
pub(super) fn register(builder: MessengerBuilder<()>) -> MessengerBuilder<()> {
    let builder = builder.queue::<Ownership>().queue::<ResumeTicket>();
    builder.queue::<AssetOffer>().queue::<AssetRequest>().queue::<AssetChunk>()
}
