//! Sending: from the application to batches.

use super::batch::max_body;
use super::header::{Header, Sizes};
use super::{Bound, Delivery, Message, MessageEvent, Messenger, PeerId, Route, SendError};
use tightwire_core::bytes::Packing;
use tightwire_core::stream::{WriteError, check};

/// Result of sending a message to many peers.
#[derive(Clone, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct SentTo {
    /// Number of peers whose batches have the message.
    pub sent: usize,
    /// Number of peers that did not get the message.
    pub refused: usize,
    /// The error of the first peer that did not get the message; `None` if all did.
    pub first_error: Option<SendError>,
}

impl<C: 'static> Messenger<C> {
    /// Sends a message to one peer: writes it directly into the peer's batch. A message to [this
    /// side](PeerId::LOCAL) waits for its stage, which is in the next frame if it has already run;
    /// [`send_local`](Self::send_local) is the faster way there.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # use std::time::Duration;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::builder(MessengerConfig::default())
    /// #     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
    /// #     .build()?;
    /// let peer = messenger.add_peer(1200);
    /// messenger.send(peer, &Jump, Delivery::Reliable)?;
    /// assert_eq!(messenger.message_stats::<Jump>().unwrap().sent.bytes, 5);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent. The batches are unchanged.
    pub fn send<M: Message>(
        &mut self,
        to: PeerId,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        self.send_one(None, to, message, route.into())
    }

    /// Sends a message to many peers: writes it once, and copies it into the batch of each. Peers
    /// that cannot take it are skipped and counted.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # use std::time::Duration;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::builder(MessengerConfig::default())
    /// #     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
    /// #     .build()?;
    /// let peers = [500, 1200, 1300].map(|mtu| messenger.add_peer(mtu));
    /// messenger.remove_peer(peers[2]);
    /// let sent = messenger.send_to(peers, &Jump, Delivery::Reliable)?;
    /// assert_eq!((sent.sent, sent.refused), (2, 1));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SendError`] if the message was sent to no peer, since it is not registered or cannot be
    /// written.
    pub fn send_to<M: Message>(
        &mut self,
        recipients: impl IntoIterator<Item = PeerId>,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<SentTo, SendError> {
        let mut recipients = recipients.into_iter();
        self.send_each(None, message, route.into(), |_| recipients.next())
    }

    /// Sends a message to every peer but one, or to all of them; not to this side.
    ///
    /// ```
    /// # use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};
    /// # use tightwire::message::{Messenger, MessengerConfig};
    /// # use std::time::Duration;
    /// # #[derive(Wire, Message, Default)]
    /// # struct Jump;
    /// # let mut messenger = Messenger::builder(MessengerConfig::default())
    /// #     .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
    /// #     .build()?;
    /// let peers = [500, 1200, 1300].map(|mtu| messenger.add_peer(mtu));
    /// let sent = messenger.broadcast(Some(peers[0]), &Jump, Delivery::Reliable)?;
    /// assert_eq!(sent.sent, 2);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send_to`](Self::send_to).
    pub fn broadcast<M: Message>(
        &mut self,
        except: Option<PeerId>,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<SentTo, SendError> {
        let mut place = 0;
        self.send_each(None, message, route.into(), |messenger| {
            loop {
                let peer = messenger.peers.at(place)?;
                place += 1;
                match peer {
                    Some(peer) if Some(peer) != except => return Some(peer),
                    _ => {}
                }
            }
        })
    }

    /// Sends to one peer; with the application's state, a message to this side can be handled at
    /// once.
    pub(super) fn send_one<M: Message>(
        &mut self,
        state: Option<&mut C>,
        to: PeerId,
        message: &M,
        route: Route,
    ) -> Result<(), SendError> {
        let number = self.number_for::<M>(route)?;
        let event = || MessageEvent { peer: to, message: M::NAME, route, size: None };
        self.ask_before_send(event)?;
        let size = if to == PeerId::LOCAL {
            self.send_to_self(state, number, message, route, None)?
        } else {
            Some(self.write(to, number, message, route)?)
        };
        self.after_send(event, size);
        Ok(())
    }

    /// Sends to each peer that `next` returns; the state is as for [`send_one`](Self::send_one).
    pub(super) fn send_each<M: Message>(
        &mut self,
        mut state: Option<&mut C>,
        message: &M,
        route: Route,
        mut next: impl FnMut(&Self) -> Option<PeerId>,
    ) -> Result<SentTo, SendError> {
        let number = self.number_for::<M>(route)?;
        let mut result = SentTo::default();
        let mut copies = 0;
        // Written for the first recipient that needs it; kept for messages that its handler sends.
        let mut written: Option<Vec<u8>> = None;
        while let Some(to) = next(self) {
            // Fast path for nearly all of many recipients: the time of a broadcast is this loop.
            // All else takes the slow path.
            if let (Some(bytes), None) = (&written, &self.hooks)
                && let Some(peer) = self.peers.get_mut(to)
                && peer.append_quickly(number, bytes, route.delivery, &self.config)
            {
                result.sent += 1;
                copies += 1;
                continue;
            }
            let event = || MessageEvent { peer: to, message: M::NAME, route, size: None };
            let is_handled_now = |messenger: &mut Self, has_state: bool| {
                to == PeerId::LOCAL && has_state && messenger.is_handled_now(number, route)
            };
            let sent = match self.ask_before_send(event) {
                Err(vetoed) => Err(vetoed),
                Ok(()) if is_handled_now(self, state.is_some()) => {
                    self.send_to_self(state.as_deref_mut(), number, message, route, None)
                }
                Ok(()) => {
                    let bytes = match written.take() {
                        Some(bytes) => Ok(bytes),
                        None => self.write_once(number, message, route),
                    };
                    match bytes {
                        Ok(bytes) => {
                            let sent = if to == PeerId::LOCAL {
                                self.send_to_self(None, number, message, route, Some(&bytes))
                            } else {
                                self.copy(to, number, &bytes, M::NAME, route).map(Some)
                            };
                            copies += u64::from(sent.is_ok() && to != PeerId::LOCAL);
                            written = Some(bytes);
                            sent
                        }
                        // A message that cannot be written is sent to no other peer either.
                        Err(error) if result.sent == 0 => return Err(error),
                        Err(error) => Err(error),
                    }
                }
            };
            match sent {
                Ok(size) => {
                    result.sent += 1;
                    self.after_send(event, size);
                }
                Err(error) => {
                    result.refused += 1;
                    result.first_error.get_or_insert(error);
                }
            }
        }
        if let Some(entry) = self.registry.entry(number) {
            let length = written.as_ref().map_or(0, Vec::len) as u64;
            entry.stats.sent.messages += copies;
            entry.stats.sent.bytes += copies * length;
        }
        if let Some(scratch) = written {
            self.scratch = scratch;
        }
        Ok(result)
    }

    fn number_for<M: Message>(&self, route: Route) -> Result<u8, SendError> {
        self.check_route(M::NAME, route)?;
        self.registry.number::<M>().ok_or(SendError::NotRegistered { message: M::NAME })
    }

    /// Checks the channel and the binding of a message.
    pub(super) fn check_route(&self, message: &'static str, route: Route) -> Result<(), SendError> {
        if usize::from(route.channel) >= self.config.channels {
            return Err(SendError::UnknownChannel { message, channel: route.channel });
        }
        if let Some(Bound::Object(object)) = route.bound
            && object > Bound::MAX_OBJECT
        {
            return Err(SendError::UnknownObject { message, object });
        }
        Ok(())
    }

    pub(super) fn ask_before_send(
        &mut self,
        event: impl Fn() -> MessageEvent,
    ) -> Result<(), SendError> {
        if self.hooks.as_mut().is_some_and(|hooks| !hooks.before_send(&event())) {
            return Err(SendError::Vetoed { message: event().message });
        }
        Ok(())
    }

    pub(super) fn after_send(&mut self, event: impl Fn() -> MessageEvent, size: Option<usize>) {
        if let Some(hooks) = &mut self.hooks {
            hooks.after_send(&MessageEvent { size, ..event() });
        }
    }

    /// Returns the room that a message needs: at most `limit` if it fits there.
    fn room_for<M: Message>(&self, message: &M, limit: usize) -> usize {
        let most = M::MAX_BITS.div_ceil(8);
        // The maximum size of a small type will do, which saves a run of its serialize function.
        if self.config.packing == Packing::Bits && most <= SMALL.min(limit as u64) {
            return most as usize;
        }
        match self.config.packing.encode(message, &mut []) {
            Err(WriteError::Full { needed_bits, .. }) => needed_bits.div_ceil(8) as usize,
            // The message takes no bytes, or is refused when it is written.
            _ => 0,
        }
    }

    /// Writes a message into the batch of a peer, and returns the bytes of its body.
    fn write<M: Message>(
        &mut self,
        to: PeerId,
        number: u8,
        message: &M,
        route: Route,
    ) -> Result<usize, SendError> {
        let delivery = route.delivery;
        let limit = max_body(route, self.peers.open_mut(to, delivery)?.limit(delivery));
        let room = self.room_for(message, limit.unwrap_or(0));
        let Self { peers, pool, config, registry, .. } = self;
        let peer = peers.open_mut(to, delivery)?;
        if limit.is_none_or(|limit| room > limit) {
            return Err(too_large(message, delivery, room, limit.unwrap_or(0)));
        }
        let header_len = Sizes::of(delivery).header() + Bound::size_of(route.bound);
        let batch = peer.batch(to, delivery, header_len + room, pool, config)?;
        let size = match batch.write(message, room, config.packing, pool, (number, route)) {
            Ok(size) => size,
            Err(error) => {
                peer.reopen(pool);
                return Err(not_written(message, error));
            }
        };
        peer.count_sent(number, header_len + size);
        if let Some(entry) = registry.entry(number) {
            entry.stats.sent.add(header_len + size);
        }
        Ok(size)
    }

    /// Writes a message with its header, for many peers.
    pub(super) fn write_once<M: Message>(
        &mut self,
        number: u8,
        message: &M,
        route: Route,
    ) -> Result<Vec<u8>, SendError> {
        let delivery = route.delivery;
        let sizes = Sizes::of(delivery);
        let start = sizes.header() + Bound::size_of(route.bound);
        // No more than any peer could get.
        let most = if delivery.fragments() { self.config.max_fragmented } else { usize::MAX };
        let limit = max_body(route, most).unwrap_or(0);
        let room = self.room_for(message, limit);
        if room > limit {
            return Err(too_large(message, delivery, room, limit));
        }
        let mut bytes = core::mem::take(&mut self.scratch);
        bytes.clear();
        bytes.resize(start + room, 0);
        match self.config.packing.encode(message, &mut bytes[start..]) {
            Ok(body) => {
                let size = body.len();
                bytes.truncate(start + size);
                sizes.put_header(&mut bytes, Header::new(number, route, size));
                Bound::put(route.bound, &mut bytes[sizes.header()..]);
                Ok(bytes)
            }
            Err(error) => {
                self.scratch = bytes;
                Err(not_written(message, error))
            }
        }
    }

    /// Copies a written message into the batch of a peer.
    pub(super) fn copy(
        &mut self,
        to: PeerId,
        number: u8,
        bytes: &[u8],
        message: &'static str,
        route: Route,
    ) -> Result<usize, SendError> {
        let Self { peers, pool, config, .. } = self;
        let header_len = Sizes::of(route.delivery).header() + Bound::size_of(route.bound);
        let size = bytes.len() - header_len;
        let peer = peers.open_mut(to, route.delivery)?;
        let limit = max_body(route, peer.limit(route.delivery));
        if limit.is_none_or(|limit| size > limit) {
            let (delivery, limit) = (route.delivery, limit.unwrap_or(0));
            return Err(SendError::TooLarge { message, delivery, size, limit });
        }
        peer.batch(to, route.delivery, bytes.len(), pool, config)?.append(bytes, pool);
        peer.count_sent(number, bytes.len());
        Ok(size)
    }
}

/// Returns the error for a message that takes more than `limit` bytes: it may be invalid at any
/// size.
#[cold]
fn too_large<M: Message>(message: &M, delivery: Delivery, size: usize, limit: usize) -> SendError {
    match check(message) {
        Ok(()) => SendError::TooLarge { message: M::NAME, delivery, size, limit },
        Err(error) => not_written(message, error),
    }
}

/// Names the field and the value that cannot be written.
#[cold]
pub(super) fn not_written<M: Message>(message: &M, error: WriteError) -> SendError {
    SendError::NotWritten { message: M::NAME, error: error.explain(message) }
}

/// Bytes of a type up to which its maximum size is taken for its size.
const SMALL: u64 = 256;
