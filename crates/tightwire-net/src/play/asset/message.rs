//! Messages about assets.
//!
//! Offers and chunks are sent as
//! [`ReliableOrderedFragmented`](crate::message::Delivery::ReliableOrderedFragmented), so that no
//! chunk comes before its offer, and requests as
//! [`ReliableOrdered`](crate::message::Delivery::ReliableOrdered).

use tightwire_core::Wire;

use super::{CHUNK, MAX_NAME};
use crate::message::Message;

/// A server's offer of an asset.
#[derive(Wire, Message, Clone, PartialEq, Eq, Debug, Default)]
#[message(name = "tightwire.AssetOffer")]
pub(crate) struct AssetOffer {
    pub(super) id: u32,
    #[wire(max_len = MAX_NAME)]
    pub(super) name: String,
    pub(super) length: u32,
    /// Lower and upper half of the asset's 128-bit hash.
    pub(super) hash: [u64; 2],
}

/// A client's request for bytes of an asset. A request of zero bytes ends the offer: if its offset
/// is the end of the asset, the client has all of the asset; otherwise the client declines it.
#[derive(Wire, Message, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[message(name = "tightwire.AssetRequest")]
pub(crate) struct AssetRequest {
    pub(super) id: u32,
    pub(super) offset: u32,
    #[wire(range = 0..=CHUNK)]
    pub(super) length: u32,
}

/// Bytes of an asset that the client requested. Several chunks may answer one request.
#[derive(Wire, Message, Clone, PartialEq, Eq, Debug, Default)]
#[message(name = "tightwire.AssetChunk")]
pub(crate) struct AssetChunk {
    pub(super) id: u32,
    pub(super) offset: u32,
    #[wire(max_len = CHUNK as usize)]
    pub(super) bytes: Vec<u8>,
}

impl AssetChunk {
    /// Largest overhead of a chunk on the wire, in bytes: everything except the asset's own bytes.
    pub(crate) const OVERHEAD: usize = 24;

    /// Largest size of the chunk on the wire, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + Self::OVERHEAD
    }
}
