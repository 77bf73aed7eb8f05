//! The bodies of packets that may become a baseline. Receivers with equal baselines share bodies.

use alloc::vec::Vec;
use core::mem::{swap, take};

use super::PacketLevel;
use super::body::write;
use super::check::Check;
use super::history::Versions;
use super::model::Model;
use super::protocol::Protocol;
use super::select::Candidate;
use super::update::{Baseline, ObjectUpdates, UpdateKind, reserved_updates};
use super::view::{BaselineId, View};

/// The bodies of packets that may become a baseline.
#[derive(Debug)]
pub(super) struct Bodies {
    list: Vec<Body>,
    /// Free places of the list.
    free: Vec<u32>,
    /// Memory of bodies that are not used any more.
    spares: Vec<Body>,
    /// Bodies of this tick, which other receivers may share.
    recent: Vec<u32>,
    next_serial: u64,
    /// Number of times that updates were coded, for tests of sharing.
    #[cfg(test)]
    pub(super) coded: u64,
    /// Number of updates that were coded, at each level.
    pub(super) coded_updates: CodedUpdates,
    /// Model of a keyframe, before anything is learned.
    pristine: Model,
    max_updates: usize,
    /// Size of the longest body so far, in bytes, rounded up to [`BODY_STEP`]; all bodies reserve
    /// as much, so that in time none has to grow.
    max_body_bytes: usize,
}

/// Steps in which the reserved size of bodies grows, in bytes.
const BODY_STEP: usize = 512;

/// Bytes behind the end of a body that the coder of `Modeled` stores to while it codes.
const STORED_BEHIND: usize = 8;

/// Number of updates that a sender has coded, at each level: the work that its snapshots took. What
/// receivers share counts once, and what was coded again to fit a budget counts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodedUpdates {
    /// Updates that were coded at the level [`Packed`](crate::Level::Packed).
    pub packed: u64,
    /// Updates that were coded at the level [`Modeled`](crate::Level::Modeled).
    pub modeled: u64,
}

/// Slot, kind, version and baseline of an object in a body.
type BodyObject = (u32, UpdateKind, Versions, BaselineId);

/// A body, and the baseline and objects that it was coded from.
#[derive(Debug, Default)]
pub(super) struct Body {
    serial: u64,
    users: u32,
    pub(super) bytes: Vec<u8>,
    /// Number of updates in the body.
    updates: usize,
    /// Sums over the updates, for the checksum of the packet.
    pub(super) check: Check,
    /// Model as the body leaves it.
    model: Model,
    level: PacketLevel,
    baseline: Option<u64>,
    is_complete: bool,
    /// Whether `objects` and `baseline_objects` are filled in, so that other receivers can share
    /// the body.
    is_shared: bool,
    /// The limit in bytes that was too small for the body, whose bytes are then unusable; `None` if
    /// the body fits.
    too_long_for: Option<usize>,
    objects: Vec<BodyObject>,
    /// Baselines of the objects that the baseline packet updates. Only for `PacketLevel::Modeled`, whose
    /// prediction of the updated objects depends on their motion.
    baseline_objects: Vec<BaselineId>,
}

/// The input of a body; equal inputs give equal bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyRequest<'r> {
    pub(super) view: &'r View,
    pub(super) chosen: &'r [Candidate],
    pub(super) is_complete: bool,
    /// Whether there are other receivers that may share the body.
    pub(super) is_shared: bool,
}

impl<'r> BodyRequest<'r> {
    /// Returns the baselines of the objects that the baseline packet updates.
    fn baseline_objects(self) -> impl Iterator<Item = BaselineId> {
        let objects = self.view.baseline().map_or(&[][..], |baseline| &baseline.objects);
        objects.iter().map(move |object| self.view.objects[object.slot as usize].baseline_id())
    }

    /// Returns the chosen objects with their baselines.
    fn objects(self) -> impl Iterator<Item = BodyObject> + 'r {
        self.chosen.iter().map(move |&Candidate { slot, kind, version, .. }| {
            (slot, kind, version, self.view.objects[slot as usize].baseline_id())
        })
    }
}

impl Body {
    /// Makes room for another body in the same memory.
    fn reserve(&mut self, updates: usize, bytes: usize) {
        self.bytes.clear();
        self.objects.clear();
        self.baseline_objects.clear();
        self.bytes.reserve(bytes);
        self.objects.reserve(updates);
        self.baseline_objects.reserve(updates);
    }

    /// Returns the estimated number of updates that are coded for the next packet, if it is like this
    /// one: one that the budget cuts is mostly tried twice.
    pub(super) fn work(&self) -> u64 {
        self.updates as u64 * if self.is_complete { 1 } else { 2 }
    }

    /// Whether the body fits into `room` bytes.
    pub(super) fn fits(&self, room: usize) -> bool {
        self.too_long_for.is_none() && self.bytes.len() <= room
    }

    /// Whether another body was coded from the same input, and both may be shared.
    fn is_equal(&self, other: &Self) -> bool {
        self.is_shared
            && other.is_shared
            && (self.level, self.baseline, self.is_complete)
                == (other.level, other.baseline, other.is_complete)
            && (self.too_long_for, &self.bytes) == (other.too_long_for, &other.bytes)
            && self.objects == other.objects
            && self.baseline_objects == other.baseline_objects
    }

    /// Whether the body was coded from the same input, whose baseline body has the serial number
    /// `baseline`. A body that did not fit is the same only if `room` is no larger than its limit
    /// was.
    pub(super) fn is_of(
        &self,
        request: BodyRequest<'_>,
        baseline: Option<u64>,
        room: usize,
    ) -> bool {
        self.is_shared
            && self.too_long_for.is_none_or(|tried| room <= tried)
            && self.level == request.view.packet_level
            && self.baseline == baseline
            && self.is_complete == request.is_complete
            && self
                .baseline_objects
                .iter()
                .copied()
                .zip(request.baseline_objects())
                .all(|(one, other)| one == other)
            && self.objects.len() == request.chosen.len()
            && self.objects.iter().copied().eq(request.objects())
    }
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            free: Vec::new(),
            spares: Vec::new(),
            recent: Vec::new(),
            next_serial: 0,
            #[cfg(test)]
            coded: 0,
            coded_updates: CodedUpdates::default(),
            pristine: Model::default(),
            max_updates: 0,
            max_body_bytes: 0,
        }
    }

    /// Begins a tick, which has no bodies yet.
    pub(super) fn begin_tick(&mut self) {
        while let Some(body) = self.recent.pop() {
            self.release(body);
        }
    }

    /// Finds a body of this tick that was coded from the same input, or did not fit into `room`
    /// bytes either.
    pub(super) fn find(
        &self,
        request: BodyRequest<'_>,
        baseline: Option<u64>,
        room: usize,
    ) -> Option<u32> {
        let is_same = |body: &u32| self.list[*body as usize].is_of(request, baseline, room);
        self.recent.iter().copied().find(is_same)
    }

    /// Takes the memory of all spare bodies, which are at least as many as `bodies`.
    pub(super) fn take_spares(&mut self, bodies: usize, spares: &mut Vec<Body>) {
        while self.spares.len() < bodies {
            self.add_spares();
        }
        move_all(&mut self.spares, spares);
    }

    /// Takes the memory of spare bodies back.
    pub(super) fn return_spares(&mut self, spares: &mut Vec<Body>) {
        move_all(spares, &mut self.spares);
    }

    /// Makes all spare bodies as large as one with this many updates and bytes, if none was so far.
    fn grow(&mut self, updates: usize, bytes: usize) {
        let updates = self.max_updates.max(reserved_updates(updates));
        let bytes = self.max_body_bytes.max((bytes + STORED_BEHIND).next_multiple_of(BODY_STEP));
        if (updates, bytes) != (self.max_updates, self.max_body_bytes) {
            (self.max_updates, self.max_body_bytes) = (updates, bytes);
            self.spares.iter_mut().for_each(|body| body.reserve(updates, bytes));
        }
    }

    /// Adds memory for a quarter more bodies, so that an outage or two later none is missing.
    fn add_spares(&mut self) {
        for _ in 0..(self.list.len() / 4).max(1) {
            let mut body = Body::default();
            body.reserve(self.max_updates, self.max_body_bytes);
            if let Some(other) = self.list.iter().find(|body| body.users > 0) {
                body.model.packed.clone_from(&other.model.packed);
            }
            self.spares.push(body);
        }
    }

    /// Codes a body, in memory of `spares` if there is some. The body may not fit into `limit` bytes.
    #[expect(clippy::too_many_arguments, reason = "the input, the limit and memory")]
    pub(super) fn code(
        &self,
        protocol: &Protocol,
        request: BodyRequest<'_>,
        updates: &mut ObjectUpdates,
        baseline: &impl Baseline,
        scratch: &mut Vec<u8>,
        spares: &mut Vec<Body>,
        limit: usize,
    ) -> Body {
        let mut body = spares.pop().unwrap_or_default();
        body.reserve(self.max_updates, self.max_body_bytes);
        let before = request.view.baseline().and_then(|sent| self.list.get(sent.body? as usize));
        body.model.clone_from(before.map_or(&self.pristine, |baseline| &baseline.model));
        let level = request.view.packet_level;
        let (model, bytes) = (&mut body.model, &mut body.bytes);
        let fits = write((protocol, level), updates, baseline, model, bytes, scratch, limit);
        body.too_long_for = (!fits).then_some(limit);
        body.level = level;
        body.is_shared = request.is_shared;
        body.is_complete = request.is_complete;
        body.updates = request.chosen.len();
        body.check = updates.check;
        body.baseline = self.baseline_serial(request.view);
        if request.is_shared {
            body.objects.extend(request.objects());
        }
        if request.is_shared && level == PacketLevel::Modeled {
            body.baseline_objects.extend(request.baseline_objects());
        }
        body
    }

    /// Adds a coded body, for receivers of this tick, and returns its place: that of an equal one, if
    /// another thread has coded it too.
    pub(super) fn insert(&mut self, mut body: Body) -> u32 {
        let equal = |&place: &u32| self.list[place as usize].is_equal(&body);
        if body.baseline.is_none()
            && let Some(place) = self.recent.iter().copied().find(equal)
        {
            self.spares.push(body);
            return place;
        }
        #[cfg(test)]
        {
            self.coded += 1;
        }
        match body.level {
            PacketLevel::Packed => self.coded_updates.packed += body.updates as u64,
            PacketLevel::Modeled => self.coded_updates.modeled += body.updates as u64,
        }
        let fits = body.too_long_for.is_none();
        if fits {
            body.serial = self.next_serial;
            self.next_serial += 1;
            self.grow(body.updates, body.bytes.len());
        }
        let place = self.free.pop().unwrap_or(self.list.len() as u32);
        if self.list.len() <= place as usize {
            self.list.push(Body::default());
        }
        body.users = 1;
        // A body that did not fit is kept, so that receivers with the same input do not code it
        // again.
        let is_kept = fits || body.is_shared;
        self.list[place as usize] = body;
        if is_kept {
            self.recent.push(place);
        } else {
            self.release(place);
        }
        place
    }

    pub(super) fn get(&self, body: u32) -> &Body {
        &self.list[body as usize]
    }

    /// Counts a receiver that may have the body as a baseline.
    pub(super) fn retain(&mut self, body: u32) {
        self.list[body as usize].users += 1;
    }

    /// Counts a receiver less; the last one frees the body.
    pub(super) fn release(&mut self, place: u32) {
        let body = &mut self.list[place as usize];
        body.users -= 1;
        if body.users == 0 {
            self.spares.push(take(body));
            self.free.push(place);
        }
    }

    /// Identifies the receivers that may share the next body: those for which this is equal. With a baseline
    /// it is the body of the baseline packet, without one that of the last packet.
    #[cfg(feature = "parallel")]
    pub(super) fn sharing_group(&self, view: &View) -> (Option<u64>, Option<u64>) {
        match self.baseline_serial(view) {
            Some(serial) => (Some(serial), None),
            None => (None, view.newest_body().map(|body| self.list[body as usize].serial)),
        }
    }

    /// Returns the serial number of the body of a receiver's baseline packet; `None` without a
    /// baseline. It is the same for receivers that share the body.
    pub(super) fn baseline_serial(&self, view: &View) -> Option<u64> {
        view.baseline().and_then(|baseline| Some(self.list[baseline.body? as usize].serial))
    }
}

/// Moves all bodies to another list, which is mostly empty.
fn move_all(from: &mut Vec<Body>, to: &mut Vec<Body>) {
    if to.is_empty() {
        swap(from, to);
    } else {
        to.append(from);
    }
}
