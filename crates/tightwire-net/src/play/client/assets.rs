//! Assets that the server offers to this client.

use super::{Client, ClientEvent};
use crate::message::Delivery;
use crate::play::PlayerInput;
use crate::play::asset::{AssetChunk, AssetError, AssetOffer, AssetProgress};
use crate::transport::Transport;

impl<I: PlayerInput, T: Transport> Client<I, T> {
    /// Accepts the offer of an asset: its bytes come in the background, and a
    /// [`ClientEvent::Asset`] has them. `cached` is the beginning of the asset that the game has
    /// kept, or all of it; empty if it has none.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`] if it is not on offer.
    pub fn accept_asset(&mut self, id: u32, cached: Vec<u8>) -> Result<(), AssetError> {
        self.assets.accept(id, cached)
    }

    /// Declines the offer of an asset, or cancels its download.
    ///
    /// # Errors
    ///
    /// [`AssetError::Unknown`] if it is not on offer.
    pub fn decline_asset(&mut self, id: u32) -> Result<(), AssetError> {
        self.assets.decline(id)
    }

    /// Iterates over the assets on offer, with the bytes that came so far.
    pub fn assets(&self) -> impl Iterator<Item = AssetProgress> {
        self.assets.progress()
    }

    /// Handles offers and parts of assets.
    pub(super) fn handle_assets(&mut self) {
        let Self { session, assets, events, .. } = self;
        for offer in session.drain::<AssetOffer>() {
            match assets.handle_offer(&offer.message) {
                Ok(progress) => events.push_back(ClientEvent::AssetOffered(progress)),
                Err(error) => log::warn!("an asset of the server is declined: {error}"),
            }
        }
        let mut chunks = session.drain::<AssetChunk>();
        while let Some(chunk) = chunks.next_ref() {
            match assets.handle_chunk(chunk.message) {
                Ok(_) | Err(AssetError::Unknown { .. }) => {}
                Err(error) => log::warn!("a part of an asset is dropped: {error}"),
            }
        }
        while let Some((progress, bytes)) = assets.poll_asset() {
            events.push_back(ClientEvent::Asset { progress, bytes });
        }
    }

    /// Requests further parts of assets.
    pub(super) fn send_asset_requests(&mut self) {
        if self.session.server().is_none() {
            return;
        }
        while let Some(request) = self.request.take().or_else(|| self.assets.poll_request()) {
            if self.session.send(&request, Delivery::ReliableOrdered).is_err() {
                self.request = Some(request);
                break;
            }
        }
    }
}
