//! The server's side: offers to one client.

use core::ops::Range;
use std::collections::VecDeque;

use super::message::{AssetChunk, AssetOffer, AssetRequest};
use super::{Asset, AssetError, AssetProgress, CHUNK, MAX_CHUNKS_IN_FLIGHT, MAX_NAME, MAX_OFFERS};

/// The assets on offer to one client.
///
/// [`offer`](Self::offer) gives the message to send, [`handle_request`](Self::handle_request) takes
/// the client's, and [`poll_chunk`](Self::poll_chunk) gives chunks, each within a budget: the caller
/// passes what other traffic leaves, so that no asset delays it.
#[derive(Debug, Default)]
pub(crate) struct AssetSender {
    offers: Vec<Offered>,
    /// Requested bytes that were not sent yet: the offer, and the rest of the chunk.
    requests: VecDeque<(u32, Range<u32>)>,
    next_id: u32,
}

#[derive(Debug)]
struct Offered {
    id: u32,
    asset: Asset,
    /// End of the bytes sent last.
    sent: u32,
}

/// End of an offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OfferEnd {
    /// The client has all of the asset.
    Complete(AssetProgress),
    /// The client does not want the asset, or has no room for it.
    Declined(AssetProgress),
}

impl AssetSender {
    /// Puts an asset on offer, and returns the message that says so.
    pub(crate) fn offer(&mut self, asset: &Asset) -> Result<AssetOffer, AssetError> {
        let length = asset.bytes.len() as u64;
        let limit = u64::from(u32::MAX);
        let size = u32::try_from(length).map_err(|_| AssetError::TooLarge { length, limit })?;
        if asset.name.len() > MAX_NAME {
            return Err(AssetError::NameTooLong { length: asset.name.len(), limit: MAX_NAME });
        }
        if self.offers.len() >= MAX_OFFERS {
            return Err(AssetError::TooMany { limit: MAX_OFFERS });
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        self.offers.push(Offered { id, asset: asset.clone(), sent: 0 });
        let hash = [asset.hash as u64, (asset.hash >> 64) as u64];
        Ok(AssetOffer { id, name: (*asset.name).into(), length: size, hash })
    }

    /// Takes a request of the client. Returns the end of the offer, if it is that.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`] is harmless; [`AssetError::BadRequest`] no honest client causes.
    pub(crate) fn handle_request(
        &mut self,
        request: &AssetRequest,
    ) -> Result<Option<OfferEnd>, AssetError> {
        let &AssetRequest { id, offset, length } = request;
        let place = self.offers.iter().position(|offered| offered.id == id);
        let place = place.ok_or(AssetError::Unknown { id })?;
        let offered = &self.offers[place];
        let size = offered.size();
        let end = offset.checked_add(length).filter(|end| *end <= size && length <= CHUNK);
        let end = end.ok_or(AssetError::BadRequest { id })?;
        if length > 0 {
            if self.requests.len() >= MAX_CHUNKS_IN_FLIGHT {
                return Err(AssetError::BadRequest { id });
            }
            self.requests.push_back((id, offset..end));
            return Ok(None);
        }
        self.requests.retain(|(other, _)| *other != id);
        let mut ended = self.offers.remove(place);
        let is_complete = offset == size;
        ended.sent = if is_complete { size } else { ended.sent };
        let progress = ended.progress();
        let end = if is_complete { OfferEnd::Complete } else { OfferEnd::Declined };
        Ok(Some(end(progress)))
    }

    /// Writes the next requested bytes into `chunk`, so that it takes at most `budget` bytes on the
    /// wire; `false` if nothing is requested or the budget is too small to be worth its headers.
    pub(crate) fn poll_chunk(&mut self, budget: usize, chunk: &mut AssetChunk) -> bool {
        let Some((id, range)) = self.requests.front_mut() else { return false };
        let room = budget.saturating_sub(AssetChunk::OVERHEAD);
        let wanted = range.len();
        if room < wanted.min(SMALLEST) {
            return false;
        }
        let start = range.start;
        let end = start.saturating_add(wanted.min(room) as u32);
        (chunk.id, chunk.offset) = (*id, start);
        chunk.bytes.clear();
        range.start = end;
        if range.start >= range.end {
            self.requests.pop_front();
        }
        let Some(offered) = self.offers.iter_mut().find(|offered| offered.id == chunk.id) else {
            return false;
        };
        let bytes = offered.asset.bytes.get(start as usize..end as usize);
        chunk.bytes.extend_from_slice(bytes.unwrap_or_default());
        offered.sent = end;
        true
    }

    /// Whether a client waits for bytes.
    #[cfg(test)]
    pub(crate) fn is_requested(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Iterates over the offers, with the number of bytes sent.
    pub(crate) fn progress(&self) -> impl Iterator<Item = AssetProgress> {
        self.offers.iter().map(Offered::progress)
    }
}

impl Offered {
    /// Returns the bytes of the asset, which an offer has fewer than 2^32 of.
    fn size(&self) -> u32 {
        u32::try_from(self.asset.bytes.len()).unwrap_or(u32::MAX)
    }

    fn progress(&self) -> AssetProgress {
        let Asset { name, hash, .. } = &self.asset;
        let (length, done) = (self.size(), self.sent);
        AssetProgress { id: self.id, name: name.clone(), hash: *hash, length, done }
    }
}

/// Fewest bytes of a piece of a chunk: with less, the headers would be a tenth.
const SMALLEST: usize = 256;
