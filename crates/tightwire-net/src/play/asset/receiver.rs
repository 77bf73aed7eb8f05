//! The client's side: offers of its server.

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

/// The offers of a server, and the bytes that came so far.
///
/// [`handle_offer`](Self::handle_offer) and [`handle_chunk`](Self::handle_chunk) take the server's
/// messages, [`accept`](Self::accept) and [`decline`](Self::decline) are the game's decisions,
/// [`poll_request`](Self::poll_request) gives the messages to send, and
/// [`poll_asset`](Self::poll_asset) the assets that are complete.
#[derive(Debug, Default)]
pub(crate) struct AssetReceiver {
    config: AssetReceiverConfig,
    downloads: Vec<Download>,
    /// Parts of assets that the last connection brought.
    kept: Vec<Download>,
    /// Requests that end an offer.
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

    /// Takes an offer of the server. The game decides about it, and `done` says what it has already
    /// from the last connection.
    ///
    /// # Errors
    ///
    /// [`AssetError`] if the asset is too large or too many are on offer; the server is informed.
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

    /// Requests an asset. `cached` is the beginning of it that the game has kept, or all of it; empty
    /// to go on with what the last connection brought.
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

    /// Declines an offer, or gives up an asset that is on its way.
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

    /// Takes bytes of an asset.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`] for an asset that was declined is harmless;
    /// [`AssetError::BadChunk`] no honest server causes.
    pub(crate) fn handle_chunk(&mut self, chunk: &AssetChunk) -> Result<AssetProgress, AssetError> {
        let id = chunk.id;
        let place = self.place(id)?;
        let download = &mut self.downloads[place];
        let has = download.bytes.len();
        let end = has.checked_add(chunk.bytes.len());
        let is_next = chunk.offset as usize == has && !chunk.bytes.is_empty();
        if !is_next || end.is_none_or(|end| end > download.requested as usize) {
            return Err(AssetError::BadChunk { id });
        }
        download.append(&chunk.bytes);
        let progress = download.progress();
        self.finish(place);
        Ok(progress)
    }

    /// Returns the next request to be sent: a few chunks are under way, of the asset that was
    /// offered first.
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
        // Whole chunks of the asset, so that the number under way is that of their boundaries.
        let end = (offset - offset % CHUNK).saturating_add(CHUNK).min(download.length);
        download.requested = end;
        Some(AssetRequest { id: download.id, offset, length: end - offset })
    }

    /// Returns the next asset that is complete, or why its bytes are not the offered ones.
    pub(crate) fn poll_asset(&mut self) -> Option<(AssetProgress, Result<Vec<u8>, AssetError>)> {
        self.complete.pop_front()
    }

    /// Keeps the parts of assets for the next connection, in which the server offers them again:
    /// those of at most the largest asset's bytes in all, the longest first.
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

    /// Iterates over the assets on offer, with the bytes that came so far.
    pub(crate) fn progress(&self) -> impl Iterator<Item = AssetProgress> {
        self.downloads.iter().map(Download::progress)
    }

    /// Returns the bytes of memory for parts of assets.
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

    /// Tells the server that an offer is over. A server that makes offers faster than they can be
    /// declined gets no message for each.
    fn end(&mut self, end: AssetRequest) {
        if self.ends.len() < MAX_OFFERS {
            self.ends.push_back(end);
        }
    }
}

impl Download {
    /// Returns the number of requested chunks that have not come as a whole.
    fn in_flight(&self) -> usize {
        let come = self.bytes.len() as u32;
        if come == self.requested {
            return 0;
        }
        (self.requested.div_ceil(CHUNK) - come / CHUNK) as usize
    }

    /// Appends bytes that came: memory grows with them, at most to the length of the asset.
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
