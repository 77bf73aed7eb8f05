//! Assembly of a packet: header, then a body with the dirty objects that fit. The packet is then
//! recorded as sent.
//!
//! A [`Maker`] does all of it with the world as it is and the view of one receiver, so that threads
//! can make the packets of several receivers at once. Only the bodies, which receivers share, are
//! handed over afterwards, by [`Maker::settle`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::timer::Timer;
use super::{ReceiverId, Sender, Snapshot};
use crate::auto_level::{Cut, MadeSnapshot};
use crate::baseline::SenderBaseline;
use crate::bodies::{Bodies, Body, BodyRequest};
use crate::body;
use crate::header::Header;
use crate::relevancy::Relevancy;
use crate::select::{Candidate, Interest, Selection};
use crate::store::Store;
use crate::update::ObjectUpdates;
use crate::view::{SentObject, View};
use crate::{PacketLevel, Protocol};
use tightwire_core::stream::WriteStream;

/// The parts of a sender that packets are made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderParts<'s> {
    pub(super) protocol: &'s Protocol,
    pub(super) store: &'s Store,
    pub(super) relevancy: &'s Relevancy,
    pub(super) bodies: &'s Bodies,
    pub(super) epoch: u32,
    /// There are several receivers, which may share bodies.
    pub(super) is_shared: bool,
}

/// Memory of a thread that makes packets, one after the other.
#[derive(Debug, Default)]
pub(super) struct Maker {
    selection: Selection,
    updates: ObjectUpdates,
    scratch: Vec<u8>,
    /// Memory of bodies to code.
    pub(super) spares: Vec<Body>,
    /// Bodies that were coded since the last [`settle`](Self::settle).
    coded: Vec<Body>,
    /// Index in `coded` of the first body that the next receiver may share.
    first_shared: usize,
    /// Bodies that are no baseline of a receiver any more.
    released: Vec<u32>,
    /// Places of the bodies that were coded before the last `settle`.
    places: Vec<u32>,
    /// Time of coding bodies.
    pub(super) timer: Timer,
}

/// Limits of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketSize {
    /// Free bytes before the packet.
    pub(super) prefix: usize,
    /// The most bytes of the packet, without the prefix.
    pub(super) budget: usize,
}

/// A packet that was made, and recorded as sent except for its body.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadePacket {
    pub(super) is_complete: bool,
    /// The receiver has every object that it owns as it is in this tick.
    pub(super) is_owned_exact: bool,
    level: PacketLevel,
    body: BodyPlace,
}

impl MadePacket {
    /// Returns the packet, whose bytes are given, to be sent.
    pub(super) fn snapshot(self, bytes: &mut [u8]) -> Snapshot<'_> {
        let Self { is_complete, is_owned_exact, level, .. } = self;
        Snapshot { bytes, is_complete, is_owned_exact, level: level.into() }
    }
}

/// A body that fits into a packet.
struct FittingBody {
    place: BodyPlace,
    /// All dirty objects are in it.
    is_complete: bool,
    cut: Cut,
}

/// Place of a body.
#[derive(Clone, Copy, Debug)]
enum BodyPlace {
    /// In [`Bodies`].
    Listed(u32),
    /// Index in [`Maker::coded`].
    Coded(usize),
}

impl Sender {
    /// Makes the packet of this tick for a receiver, behind the prefix in `self.packet`; `None` if the receiver gets no packet.
    pub(super) fn make_snapshot(
        &mut self,
        receiver: ReceiverId,
        size: PacketSize,
        interest: Option<&mut Interest<'_>>,
    ) -> Option<MadePacket> {
        self.choose_levels();
        let (place, mut view) = self.take_view(receiver, size)?;
        // The view is taken out of `views` while its packet is made.
        let is_shared = self.views.iter().any(Option::is_some);
        let Self { protocol, store, relevancy, bodies, maker, packet, epoch, .. } = self;
        relevancy.update(protocol, store);
        bodies.take_spares(1, &mut maker.spares);
        let world = SenderParts { protocol, store, relevancy, bodies, epoch: *epoch, is_shared };
        let made = maker.make(world, &mut view, size, interest, packet);
        maker.settle(bodies);
        if let Some(made) = made {
            maker.record_body(bodies, &mut view, made);
        }
        self.views[place] = Some(view);
        self.is_sent |= made.is_some();
        made
    }

    /// Chooses the levels of the packets of this tick, before its first packet.
    pub(super) fn choose_levels(&mut self) {
        let Self { protocol, store, views, bodies, levels, .. } = self;
        levels.choose(protocol.config(), store.tick, views, bodies);
    }

    /// Takes the view of a receiver, with its place; `None` if the receiver gets no packet.
    pub(super) fn take_view(
        &mut self,
        receiver: ReceiverId,
        size: PacketSize,
    ) -> Option<(usize, Box<View>)> {
        let place = self.slot_of(receiver).filter(|_| size.budget >= MIN_BUDGET)?;
        let tick = self.store.tick;
        let mut view = self.views[place].take_if(|view| !view.has_sent(tick))?;
        if view.needs_resync() {
            view.resync(|body| self.bodies.release(body));
        }
        Some((place, view))
    }
}

impl Maker {
    /// Makes the packet of a receiver, and records it as sent, except for its body.
    pub(super) fn make(
        &mut self,
        world: SenderParts<'_>,
        view: &mut View,
        size: PacketSize,
        interest: Option<&mut Interest<'_>>,
        packet: &mut Vec<u8>,
    ) -> Option<MadePacket> {
        let SenderParts { protocol, store, relevancy, .. } = world;
        self.selection.collect(protocol, store, relevancy, view, interest);
        // The flag `is_complete` does not change the length of the header.
        let mut header = view.header(store.tick, world.epoch);
        let length = write_header(packet, view, &header, size.prefix)?;
        let room = size.budget.min(MAX_BUDGET).checked_sub(length)?;
        let FittingBody { place, is_complete, cut } = self.fitting_body(world, view, room)?;
        header.is_complete = is_complete;
        if !is_complete {
            write_header(packet, view, &header, size.prefix)?;
        }
        let body = self.body(world, place);
        let checksum = body.check.packet(&header, store.origin, &view.checksums)?;
        body::append(packet, &body.bytes, checksum);
        view.checksums.set(header.number, checksum);
        let chosen = &self.selection.chosen;
        let sent = view.sent(&header, chosen.len(), |body| self.released.push(body));
        let object =
            |&Candidate { slot, kind, version, .. }: &Candidate| SentObject { slot, kind, version };
        sent.objects.extend(chosen.iter().map(object));
        sent.ids.extend(chosen.iter().map(|candidate| candidate.id));
        for candidate in chosen {
            view.maybe_known_slots.set(candidate.slot, true);
            let status = &mut view.objects[candidate.slot as usize];
            status.sent = Some(store.tick);
            status.priority = 0;
        }
        let (bytes, level) = (packet.len() - size.prefix, header.level);
        let made = MadeSnapshot { tick: header.tick, level, cut, bytes, budget: size.budget };
        view.bandwidth.record(made, protocol.config().ticks_per_second);
        let is_owned_exact = view.owned_exact(store, is_complete);
        Some(MadePacket { is_complete, is_owned_exact, level, body: place })
    }

    /// Begins receivers that share no bodies with those before.
    #[cfg(feature = "parallel")]
    pub(super) fn begin_group(&mut self) {
        self.first_shared = self.coded.len();
    }

    /// Hands over the bodies that were coded, and those that are not needed any more.
    pub(super) fn settle(&mut self, bodies: &mut Bodies) {
        bodies.return_spares(&mut self.spares);
        self.places.clear();
        self.places.extend(self.coded.drain(..).map(|body| bodies.insert(body)));
        self.first_shared = 0;
        self.released.drain(..).for_each(|body| bodies.release(body));
    }

    /// Records the body of a packet that was made before the last [`settle`](Self::settle).
    pub(super) fn record_body(&self, bodies: &mut Bodies, view: &mut View, made: MadePacket) {
        let place = match made.body {
            BodyPlace::Listed(place) => Some(place),
            BodyPlace::Coded(index) => self.places.get(index).copied(),
        };
        if let Some(place) = place {
            bodies.retain(place);
            view.set_newest_body(place);
        }
    }

    fn body<'b>(&'b self, world: SenderParts<'b>, place: BodyPlace) -> &'b Body {
        match place {
            BodyPlace::Listed(place) => world.bodies.get(place),
            BodyPlace::Coded(index) => &self.coded[index],
        }
    }

    /// Returns a body with as many dirty objects as fit.
    fn fitting_body(
        &mut self,
        world: SenderParts<'_>,
        view: &mut View,
        room: usize,
    ) -> Option<FittingBody> {
        let store = world.store;
        if self.selection.may_be_complete(store, view, room) {
            self.selection.choose_all();
            if let Some(place) = self.chosen_body(world, view, true, room) {
                return Some(FittingBody { place, is_complete: true, cut: Cut::default() });
            }
        }
        let allowance = view.allowance(store);
        let (mut count, mut has_large) = self.selection.rank(store, view, room);
        loop {
            self.selection.choose_first(count);
            if let Some(place) = self.chosen_body(world, view, false, room) {
                let cut = self.selection.cut(allowance);
                return Some(FittingBody { place, is_complete: false, cut });
            }
            if has_large {
                // The large object has its turn again later, and must not keep others waiting until
                // then.
                let large = self.selection.candidates.remove(0);
                view.objects[large.slot as usize].priority = 0;
                has_large = false;
            } else if count == 0 {
                return None;
            } else {
                count = count * 3 / 4;
            }
            count = count.min(self.selection.candidates.len());
        }
    }

    /// Returns the body with the chosen objects, if it fits: one that another receiver already got,
    /// or a new one.
    fn chosen_body(
        &mut self,
        world: SenderParts<'_>,
        view: &mut View,
        is_complete: bool,
        room: usize,
    ) -> Option<BodyPlace> {
        let SenderParts { protocol, store, bodies, is_shared, .. } = world;
        let Self { selection, updates, scratch, spares, coded, timer, .. } = self;
        let chosen = &selection.chosen;
        let request = BodyRequest { view, chosen, is_complete, is_shared };
        let serial = bodies.baseline_serial(view);
        let listed = bodies.find(request, serial, room).map(BodyPlace::Listed);
        let place = match listed.or_else(|| {
            let is_same = |&index: &usize| coded[index].is_of(request, serial, room);
            (self.first_shared..coded.len()).find(is_same).map(BodyPlace::Coded)
        }) {
            Some(place) => place,
            None => {
                push_updates(updates, store, chosen)?;
                let baseline = SenderBaseline::new(store, view, chosen);
                coded.push(timer.measure(|| {
                    bodies.code(protocol, request, updates, &baseline, scratch, spares, room)
                }));
                BodyPlace::Coded(coded.len() - 1)
            }
        };
        let (updates, body) = (chosen.len(), self.body(world, place));
        if !body.fits(room) {
            return None;
        }
        view.measure_updates(updates, body.bytes.len());
        Some(place)
    }
}

/// Writes the header at the start of the packet, behind the prefix, and returns its length in bytes.
fn write_header(
    packet: &mut Vec<u8>,
    view: &View,
    header: &Header,
    prefix: usize,
) -> Option<usize> {
    packet.clear();
    packet.resize(prefix + MAX_HEADER, 0);
    let mut stream = WriteStream::new(&mut packet[prefix..]);
    let Ok(()) =
        header.clone().serialize(&mut stream, header.number, |packet| view.summary(packet));
    let length = stream.finish().ok()?.len();
    packet.truncate(prefix + length);
    Some(length)
}

/// Replaces the updates by those of the chosen objects.
fn push_updates(updates: &mut ObjectUpdates, store: &Store, chosen: &[Candidate]) -> Option<()> {
    updates.clear();
    for &Candidate { id, kind, version, .. } in chosen {
        let current = store.history.newest(version)?;
        updates.push(id, current.class, kind, current.cells.unwrap_or_default());
    }
    Some(())
}

/// Smallest budget, in bytes: below, not even a packet without updates is sure to fit.
pub(super) const MIN_BUDGET: usize = 64;

/// Largest budget, in bytes: more is as good as no limit.
pub(super) const MAX_BUDGET: usize = 1 << 24;

/// Size of the longest header, in bytes.
const MAX_HEADER: usize = 64;
