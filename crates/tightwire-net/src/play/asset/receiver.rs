//! Assets on the client: the server's offers, and their downloads.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::message::{AssetChunk, AssetOffer, AssetRequest};
use super::{AssetError, AssetProgress, CHUNK, MAX_CHUNKS_IN_FLIGHT, MAX_OFFERS};

/// Settings of an [`AssetReceiver`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AssetReceiverConfig {
    /// Largest asset in bytes; larger ones are declined.
    pub(crate) max_asset: u32,
}

impl Default for AssetReceiverConfig {
    fn default() -> Self {
        Self { max_asset: 64 << 20 }
    }
}

/// The offers of a server, and the bytes that have arrived.
///
/// [`handle_offer`](Self::handle_offer) and [`handle_chunk`](Self::handle_chunk) take the server's
/// messages, [`accept`](Self::accept) and [`decline`](Self::decline) are the game's decisions,
/// [`poll_request`](Self::poll_request) gives the messages to send, and
/// [`poll_asset`](Self::poll_asset) the complete assets.
#[derive(Debug, Default)]
pub(crate) struct AssetReceiver {
    config: AssetReceiverConfig,
    downloads: Vec<Download>,
    /// Incomplete assets from the last connection.
    kept: Vec<Download>,
    /// Requests to be sent that end an offer, since it was declined or is complete.
    ends: VecDeque<AssetRequest>,
    complete: VecDeque<(AssetProgress, Result<Vec<u8>, AssetError>)>,
}

struct Download {
    id: u32,
    name: Arc<str>,
    hash: u128,
    length: u32,
    is_accepted: bool,
    /// End of the requested bytes.
    requested: u32,
    bytes: Vec<u8>,
    hasher: Box<Xxh3>,
}

impl AssetReceiver {
    pub(crate) fn new(config: AssetReceiverConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// Handles an offer of the server, which the game accepts or declines. `done` is the number of
    /// bytes that are kept from the last connection.
    ///
    /// # Errors
    ///
    /// [`AssetError`] if the asset is too large, too many are on offer, or the id is on offer
    /// already. The first two are declined.
    pub(crate) fn handle_offer(&mut self, offer: &AssetOffer) -> Result<AssetProgress, AssetError> {
        let &AssetOffer { id, length, hash: [low, high], .. } = offer;
        let hash = u128::from(low) | (u128::from(high) << 64);
        let limit = self.config.max_asset;
        let error = if self.downloads.len() >= MAX_OFFERS {
            Some(AssetError::TooMany { limit: MAX_OFFERS })
        } else if length > limit {
            Some(AssetError::TooLarge { length: length.into(), limit: limit.into() })
        } else if self.downloads.iter().any(|download| download.id == id) {
            // Not declined: the first offer of this number stands.
            return Err(AssetError::BadOffer { id });
        } else {
            None
        };
        if let Some(error) = error {
            self.end(AssetRequest { id, offset: 0, length: 0 });
            return Err(error);
        }
        let name = Arc::from(&*offer.name);
        let is_kept = |kept: &Download| (kept.hash, kept.length) == (hash, length);
        let place = self.kept.iter().position(is_kept);
        let part = place.map(|place| self.kept.swap_remove(place));
        let (bytes, hasher) = match part {
            Some(part) => (part.bytes, part.hasher),
            None => (Vec::new(), Box::default()),
        };
        let requested = bytes.len() as u32;
        let download =
            Download { id, name, hash, length, is_accepted: false, requested, bytes, hasher };
        let progress = download.progress();
        self.downloads.push(download);
        Ok(progress)
    }

    /// Accepts an offer. `cached` is the beginning of the asset, or all of it, that the game has
    /// kept; if empty, the download continues after the bytes of the last connection.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`] if it is not on offer.
    pub(crate) fn accept(&mut self, id: u32, cached: Vec<u8>) -> Result<(), AssetError> {
        let place = self.place(id)?;
        let download = &mut self.downloads[place];
        if download.is_accepted {
            return Ok(());
        }
        download.is_accepted = true;
        if cached.len() > download.bytes.len() && cached.len() <= download.length as usize {
            download.hasher.reset();
            download.hasher.update(&cached);
            download.requested = cached.len() as u32;
            download.bytes = cached;
        }
        self.finish(place);
        Ok(())
    }

    /// Declines an offer, or cancels a download.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`] if it is not on offer.
    pub(crate) fn decline(&mut self, id: u32) -> Result<(), AssetError> {
        let place = self.place(id)?;
        self.downloads.remove(place);
        self.end(AssetRequest { id, offset: 0, length: 0 });
        Ok(())
    }

    /// Handles a chunk of an asset.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`], which is harmless, if the asset was declined.
    /// [`AssetError::BadChunk`] for bytes that were not requested, which no honest server sends.
    pub(crate) fn handle_chunk(&mut self, chunk: &AssetChunk) -> Result<AssetProgress, AssetError> {
        let id = chunk.id;
        let place = self.place(id)?;
        let download = &mut self.downloads[place];
        let received = download.bytes.len();
        let end = received.checked_add(chunk.bytes.len());
        let is_next = chunk.offset as usize == received && !chunk.bytes.is_empty();
        if !is_next || end.is_none_or(|end| end > download.requested as usize) {
            return Err(AssetError::BadChunk { id });
        }
        download.append(&chunk.bytes);
        let progress = download.progress();
        self.finish(place);
        Ok(progress)
    }

    /// Returns the next request to be sent. At most [`MAX_CHUNKS_IN_FLIGHT`] chunks are in flight,
    /// and assets are requested in the order of their offers.
    pub(crate) fn poll_request(&mut self) -> Option<AssetRequest> {
        if let Some(end) = self.ends.pop_front() {
            return Some(end);
        }
        let in_flight: usize = self.downloads.iter().map(Download::in_flight).sum();
        if in_flight >= MAX_CHUNKS_IN_FLIGHT {
            return None;
        }
        let mut wanted = self.downloads.iter_mut().filter(|download| download.is_accepted);
        let download = wanted.find(|download| download.requested < download.length)?;
        let offset = download.requested;
        // Requests end at chunk boundaries of the asset, by which `in_flight` counts.
        let end = (offset - offset % CHUNK).saturating_add(CHUNK).min(download.length);
        download.requested = end;
        Some(AssetRequest { id: download.id, offset, length: end - offset })
    }

    /// Returns the next complete asset, or an error if its bytes do not have the offered hash.
    pub(crate) fn poll_asset(&mut self) -> Option<(AssetProgress, Result<Vec<u8>, AssetError>)> {
        self.complete.pop_front()
    }

    /// Keeps incomplete assets for the next connection, in which the server offers them again. At
    /// most `max_asset` bytes are kept in all, the longest assets first.
    pub(crate) fn handle_disconnected(&mut self) {
        self.ends.clear();
        self.kept.append(&mut self.downloads);
        self.kept.retain(|part| !part.bytes.is_empty());
        self.kept.sort_by_key(|part| core::cmp::Reverse(part.bytes.len()));
        let mut room = self.config.max_asset as usize;
        self.kept.retain(|part| {
            let fits = part.bytes.len() <= room;
            room -= if fits { part.bytes.len() } else { 0 };
            fits
        });
    }

    /// Iterates over the assets on offer, with the number of bytes that have arrived.
    pub(crate) fn progress(&self) -> impl Iterator<Item = AssetProgress> {
        self.downloads.iter().map(Download::progress)
    }

    /// Returns the memory of incomplete assets, in bytes.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.downloads.iter().chain(&self.kept).map(|download| download.bytes.capacity()).sum()
    }

    fn place(&self, id: u32) -> Result<usize, AssetError> {
        let place = self.downloads.iter().position(|download| download.id == id);
        place.ok_or(AssetError::Unknown { id })
    }

    /// Hands out a download that is complete.
    fn finish(&mut self, place: usize) {
        let Some(download) = self.downloads.get(place) else { return };
        if !download.is_accepted || download.bytes.len() < download.length as usize {
            return;
        }
        let download = self.downloads.remove(place);
        let (id, length) = (download.id, download.length);
        let is_whole = download.hasher.digest128() == download.hash;
        let progress = download.progress();
        let result = if is_whole { Ok(download.bytes) } else { Err(AssetError::Corrupt { id }) };
        self.complete.push_back((progress, result));
        self.end(AssetRequest { id, offset: length, length: 0 });
    }

    /// Queues the request that ends an offer. The queue is bounded: a server that offers faster
    /// than the client declines does not get an answer to each offer.
    fn end(&mut self, end: AssetRequest) {
        if self.ends.len() < MAX_OFFERS {
            self.ends.push_back(end);
        }
    }
}

impl Download {
    /// Returns the number of requested chunks that have not arrived whole.
    fn in_flight(&self) -> usize {
        let received = self.bytes.len() as u32;
        if received == self.requested {
            return 0;
        }
        (self.requested.div_ceil(CHUNK) - received / CHUNK) as usize
    }

    /// Appends received bytes. Memory grows with them, at most to the length of the asset, so that
    /// an offer alone takes no memory.
    fn append(&mut self, bytes: &[u8]) {
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            let capacity = needed.max(self.bytes.capacity() * 2).min(self.length as usize);
            self.bytes.reserve_exact(capacity.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(bytes);
        self.hasher.update(bytes);
    }

    fn progress(&self) -> AssetProgress {
        let (id, name, done) = (self.id, self.name.clone(), self.bytes.len() as u32);
        AssetProgress { id, name, hash: self.hash, length: self.length, done }
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.progress().fmt(f)
    }
}
