//! Assets that the server offers to players.

use std::collections::VecDeque;

use super::{Server, ServerEvent};
use crate::message::{Delivery, PeerId, SendError};
use crate::play::PlayerInput;
use crate::play::asset::{
    Asset, AssetChunk, AssetError, AssetOffer, AssetProgress, AssetRequest, AssetSender, OfferEnd,
};
use crate::reason::Reason;
use crate::transport::Transport;

/// The assets on offer to a player.
#[derive(Debug, Default)]
pub(super) struct PlayerAssets {
    sender: AssetSender,
    /// Assets that the player does not have yet, for the next connection.
    open: Vec<Asset>,
    /// Offers that were not sent yet.
    offers: VecDeque<AssetOffer>,
    chunk: AssetChunk,
    /// The chunk was not sent yet.
    is_chunk_pending: bool,
}

impl PlayerAssets {
    fn offer(&mut self, asset: &Asset) -> Result<(), AssetError> {
        let offer = self.sender.offer(asset)?;
        self.offers.push_back(offer);
        self.open.push(asset.clone());
        Ok(())
    }

    /// Offers everything that is open again, on a new connection.
    pub(super) fn start_over(&mut self) {
        self.sender = AssetSender::default();
        self.is_chunk_pending = false;
        self.offers.clear();
        for asset in core::mem::take(&mut self.open) {
            // The offer cannot fail: it was accepted before, and there are no more offers now.
            let _ = self.offer(&asset);
        }
    }

    fn close(&mut self, progress: &AssetProgress) {
        let place = self.open.iter().position(|asset| asset.hash() == progress.hash);
        if let Some(place) = place {
            self.open.remove(place);
        }
    }
}

impl<I: PlayerInput, T: Transport> Server<I, T> {
    /// Offers an asset to a peer, which pulls it in the background if it does not have it: behind
    /// snapshots and messages, with at most half of the rate. A [`ServerEvent::Asset`] tells the end.
    /// An offer lasts over a lost connection.
    ///
    /// # Errors
    ///
    /// [`AssetError`] if the asset is too large, its name is too long, or too many are on offer. An
    /// unknown peer is no error: it has just left.
    pub fn offer(&mut self, peer: PeerId, asset: &Asset) -> Result<(), AssetError> {
        match self.world.players.get_mut(&peer) {
            Some(player) => player.assets.offer(asset),
            None => Ok(()),
        }
    }

    /// Iterates over the assets on offer to a peer, with the bytes that were sent.
    pub fn assets(&self, peer: PeerId) -> impl Iterator<Item = AssetProgress> {
        let player = self.world.players.get(&peer);
        player.into_iter().flat_map(|player| player.assets.sender.progress())
    }

    /// Handles requests of players for parts of assets.
    pub(super) fn handle_asset_requests(&mut self) {
        while let Some(request) = self.session.drain::<AssetRequest>().next() {
            let connection = request.sender;
            let Some(peer) = self.world.player_of(connection) else { continue };
            let Some(player) = self.world.players.get_mut(&peer) else { continue };
            match player.assets.sender.handle_request(&request.message) {
                Ok(Some(end)) => {
                    let (progress, is_complete) = match end {
                        OfferEnd::Complete(progress) => (progress, true),
                        OfferEnd::Declined(progress) => (progress, false),
                    };
                    player.assets.close(&progress);
                    self.events.push_back(ServerEvent::Asset { peer, progress, is_complete });
                }
                Ok(None) | Err(AssetError::Unknown { .. }) => {}
                Err(error) => {
                    self.session.close(connection, &Reason::violation(&error.to_string()));
                }
            }
        }
    }

    /// Sends offers, and parts of assets within what snapshots and messages left of the budget.
    pub(super) fn send_assets(&mut self) {
        let Self { session, world, .. } = self;
        for player in world.players.values_mut() {
            let Some(connection) = player.connection else { continue };
            let assets = &mut player.assets;
            while let Some(offer) = assets.offers.front() {
                match session.send(connection, offer, ASSETS) {
                    Err(SendError::Blocked { .. }) => break,
                    _ => drop(assets.offers.pop_front()),
                }
            }
            loop {
                let budget = player.budget.background();
                if !assets.is_chunk_pending {
                    assets.is_chunk_pending = assets.sender.poll_chunk(budget, &mut assets.chunk);
                }
                if !assets.is_chunk_pending
                    || session.send(connection, &assets.chunk, ASSETS).is_err()
                {
                    break;
                }
                assets.is_chunk_pending = false;
                player.budget.spend(assets.chunk.len());
            }
        }
    }
}

/// Delivery of offers and chunks: no chunk comes before its offer.
const ASSETS: Delivery = Delivery::ReliableOrderedFragmented;
