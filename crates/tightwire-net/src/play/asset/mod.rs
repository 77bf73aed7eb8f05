//! Assets: large files that a server sends in the background of a game.
//!
//! Clients pull assets. The server offers an asset by name, length and hash. A client that lacks
//! the asset requests chunks, a few at a time, and the server sends them in the bandwidth that the
//! game leaves. Therefore both sides know the progress, a client resumes where it was disconnected,
//! and an asset that the client already has costs one message.

mod message;
mod receiver;
mod sender;

pub(crate) use message::{AssetChunk, AssetOffer, AssetRequest};
pub(crate) use receiver::{AssetReceiver, AssetReceiverConfig};
pub(crate) use sender::{AssetSender, OfferEnd};

use core::fmt;
use std::sync::Arc;

/// Bytes that a server can offer to clients. Clones share the bytes.
///
/// ```
/// use tightwire::play::Asset;
///
/// let level = Asset::new("level 3", vec![7; 100_000]);
/// assert_eq!((level.name(), level.bytes().len()), ("level 3", 100_000));
/// assert_eq!(level.hash(), Asset::new("same bytes", vec![7; 100_000]).hash());
/// ```
#[derive(Clone)]
pub struct Asset {
    name: Arc<str>,
    bytes: Arc<[u8]>,
    hash: u128,
}

/// Progress of an asset's transfer, as far as the server or the client knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AssetProgress {
    /// Number of the offer within its connection.
    pub id: u32,
    /// Name that the server gave to the asset.
    pub name: Arc<str>,
    /// 128-bit XXH3 of the asset, by which a client finds the asset in its cache.
    pub hash: u128,
    /// Length of the asset, in bytes.
    pub length: u32,
    /// Bytes that the client has, as far as this side knows.
    pub done: u32,
}

/// Reason why an asset cannot be offered or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AssetError {
    /// The asset is larger than allowed.
    TooLarge {
        /// Bytes of the asset.
        length: u64,
        /// Largest number of bytes.
        limit: u64,
    },
    /// The name has more bytes than allowed.
    NameTooLong {
        /// Bytes of the name.
        length: usize,
        /// Largest number of bytes.
        limit: usize,
    },
    /// Too many offers are open.
    TooMany {
        /// Largest number of open offers.
        limit: usize,
    },
    /// There is no offer with this number, or it is over.
    Unknown {
        /// Number of the offer.
        id: u32,
    },
    /// The peer requested bytes that the asset does not have, or more at once than allowed.
    BadRequest {
        /// Number of the offer.
        id: u32,
    },
    /// The peer offered an asset under the number of another offer that is still open.
    BadOffer {
        /// Number of the offer.
        id: u32,
    },
    /// The peer sent bytes that were not requested.
    BadChunk {
        /// Number of the offer.
        id: u32,
    },
    /// The received bytes do not have the hash of the offer.
    Corrupt {
        /// Number of the offer.
        id: u32,
    },
}

impl Asset {
    /// Creates an asset, and computes its hash.
    #[must_use]
    pub fn new(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { name: name.into(), hash: xxhash_rust::xxh3::xxh3_128(&bytes), bytes }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the 128-bit XXH3 of the bytes.
    #[must_use]
    pub fn hash(&self) -> u128 {
        self.hash
    }
}

impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asset")
            .field("name", &self.name)
            .field("length", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for AssetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { length, limit } => {
                write!(f, "the asset has {length} bytes: at most {limit} are allowed")
            }
            Self::NameTooLong { length, limit } => {
                write!(f, "the name of the asset has {length} bytes: at most {limit} are allowed")
            }
            Self::TooMany { limit } => {
                write!(f, "{limit} assets are on offer already: wait until one is complete")
            }
            Self::Unknown { id } => write!(f, "asset {id} is not on offer"),
            Self::BadRequest { id } => {
                write!(
                    f,
                    "asset {id}: the request is for bytes that it does not have, or for too many at once"
                )
            }
            Self::BadOffer { id } => write!(f, "asset {id} is on offer already"),
            Self::BadChunk { id } => write!(f, "asset {id}: bytes arrived that were not requested"),
            Self::Corrupt { id } => {
                write!(f, "asset {id}: the received bytes do not have the hash of the offer")
            }
        }
    }
}

impl core::error::Error for AssetError {}

/// Largest chunk that can be requested, in bytes.
const CHUNK: u32 = 16 << 10;

/// Largest number of chunks that are requested and not yet received.
const MAX_CHUNKS_IN_FLIGHT: usize = 4;

/// Largest number of open offers of a peer.
const MAX_OFFERS: usize = 64;

/// Largest length of a name, in bytes.
const MAX_NAME: usize = 255;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
