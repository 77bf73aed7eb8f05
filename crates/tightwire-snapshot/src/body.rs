//! The body of a packet: its updates as bytes. Receivers with equal baselines share bodies.

use alloc::vec::Vec;
use core::mem::take;

use super::check::{Check, Checksum};
use super::history::Versions;
use super::model::Model;
use super::protocol::Protocol;
use super::select::Candidate;
use super::trace::SpanRecord;
use super::update::{Baseline, ObjectUpdates, UpdateKind, reserved_updates};
use super::view::{BaselineId, View};
use super::{Level, modeled, packed};
use tightwire_core::stream::{ErrorKind, ReadError, ReadStream, WriteStream};

/// Size of the check that every body begins with, in bytes.
const CHECK: usize = 2;

/// Writes the body with the updates into `bytes`; returns whether it fits into `limit` bytes.
/// `model` is the model of the baseline packet, and becomes that of this packet. The check covers
/// the whole packet, and is filled in later.
pub(super) fn write(
    (protocol, level): (&Protocol, Level),
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    model: &mut Model,
    bytes: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    limit: usize,
) -> bool {
    let Some(room) = limit.checked_sub(CHECK) else { return false };
    bytes.clear();
    bytes.extend_from_slice(&[0; CHECK]);
    match level {
        Level::Packed => {
            let room = room.min(bound(protocol, updates));
            if scratch.len() < room {
                scratch.resize(room, 0);
            }
            let mut stream = WriteStream::new(&mut scratch[..room]);
            let Ok(()) = packed::code(&mut stream, protocol, updates, baseline, &mut model.packed);
            let Ok(packed) = stream.finish() else { return false };
            bytes.extend_from_slice(packed);
            true
        }
        Level::Modeled => {
            let state = model.modeled(protocol);
            modeled::write(protocol, updates, baseline, state, bytes, limit)
        }
    }
}

/// Returns an upper bound of the bytes of packed updates, so that a huge budget allocates no more
/// than that.
fn bound(protocol: &Protocol, updates: &ObjectUpdates) -> usize {
    let most = protocol.classes().iter().map(|class| class.max_bytes).max().unwrap_or(0);
    let groups: usize = protocol.classes().iter().map(|class| class.layout.groups.len()).sum();
    1024 + 4 * groups + updates.list.len() * (2 * most + 64) + updates.cells.len() * 4
}

/// Reads updates, and returns the check in the body. A trace records every part; its second value
/// is the byte of the packet at which the body begins.
pub(super) fn read(
    (protocol, level): (&Protocol, Level),
    bytes: &[u8],
    updates: &mut ObjectUpdates,
    baseline: &impl Baseline,
    model: &mut Model,
    mut trace: Option<(&mut SpanRecord, usize)>,
) -> Result<u16, ReadError> {
    updates.clear();
    let Some((check, bytes)) = bytes.split_first_chunk::<CHECK>() else {
        return Err(ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 });
    };
    if let Some((record, at)) = &mut trace {
        record.mark_check(8 * *at as u64);
    }
    let mut traced = trace.as_mut().map(|(record, at)| (&mut **record, 8 * (*at + CHECK) as u64));
    let read = match (level, &mut traced) {
        (Level::Packed, None) => {
            let mut stream = ReadStream::new(bytes);
            let read = packed::code(&mut stream, protocol, updates, baseline, &mut model.packed);
            read.and_then(|()| stream.finish())
        }
        (Level::Packed, Some((record, start))) => {
            let mut stream = ReadStream::new(bytes);
            let mut traced = record.stream(&mut stream, *start);
            let read = packed::code(&mut traced, protocol, updates, baseline, &mut model.packed);
            record.end((*start + stream.position()) as f64);
            read.and_then(|()| stream.finish())
        }
        (Level::Modeled, _) => {
            let state = model.modeled(protocol);
            modeled::read(protocol, bytes, updates, baseline, state, traced)
        }
    };
    if let Some((record, _)) = trace {
        match read {
            Ok(()) => record.fill(),
            Err(_) => record.refuse(),
        }
    }
    read.map_err(|error| ReadError { bit: error.bit + 8 * CHECK as u64, ..error })?;
    Ok(u16::from_le_bytes(*check))
}

/// Returns the check at the start of the body, which is at byte `at` of the packet.
pub(super) fn sent_check(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..)?.first_chunk().map(|sum| u16::from_le_bytes(*sum))
}

/// Appends a body to the header of a packet, with the checksum of the packet.
pub(super) fn append(packet: &mut Vec<u8>, body: &[u8], checksum: Checksum) {
    packet.extend_from_slice(&checksum.short().to_le_bytes());
    packet.extend_from_slice(body.get(CHECK..).unwrap_or_default());
}

/// The bodies of packets that may become a baseline.
#[derive(Debug)]
pub(super) struct Bodies {
    list: Vec<Body>,
    free: Vec<u32>,
    /// Places of the list whose bodies are being coded.
    vacant: Vec<u32>,
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
    scratch: Vec<u8>,
}

/// Steps in which the reserved size of bodies grows, in bytes.
const BODY_STEP: usize = 512;

/// Number of updates that a sender has coded, at each level: the work that its snapshots took. What
/// receivers share counts once, and what was coded again to fit a budget counts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodedUpdates {
    /// Updates that were coded at the level [`Packed`](Level::Packed).
    pub packed: u64,
    /// Updates that were coded at the level [`Modeled`](Level::Modeled).
    pub modeled: u64,
}

/// Slot, kind, version and baseline of an object in a body.
type BodyObject = (u32, UpdateKind, Versions, BaselineId);

/// A body, and the baseline and objects that it was coded from.
#[derive(Debug, Default)]
pub(super) struct Body {
    serial: u64,
    users: u32,
    bytes: Vec<u8>,
    /// Number of updates in the body.
    updates: usize,
    /// Sums over the updates, for the checksum of the packet.
    check: Check,
    /// Model as the body leaves it.
    model: Model,
    level: Level,
    baseline: Option<u64>,
    is_complete: bool,
    /// Whether `objects` and `baseline_objects` are filled in, so that other receivers can share
    /// the body.
    is_shared: bool,
    /// The limit in bytes that was too small for the body, whose bytes are then unusable; `None` if
    /// the body fits.
    too_long_for: Option<usize>,
    objects: Vec<BodyObject>,
    /// Baselines of the objects that the baseline packet updates. Only for `Level::Modeled`, whose
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
            && self.level == request.view.level
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
            vacant: Vec::new(),
            recent: Vec::new(),
            next_serial: 0,
            #[cfg(test)]
            coded: 0,
            coded_updates: CodedUpdates::default(),
            pristine: Model::default(),
            max_updates: 0,
            max_body_bytes: 0,
            scratch: Vec::new(),
        }
    }

    /// Begins a tick, which has no bodies yet.
    pub(super) fn begin_tick(&mut self) {
        while let Some(body) = self.recent.pop() {
            self.release(body);
        }
    }

    /// Finds a body of this tick with the same input. Returns `Some(None)` if such a body was coded
    /// and takes more than `room` bytes.
    pub(super) fn find(&self, request: BodyRequest<'_>, room: usize) -> Option<Option<u32>> {
        let baseline = self.baseline_serial(request.view);
        let found = self
            .recent
            .iter()
            .copied()
            .find(|&body| self.list[body as usize].is_of(request, baseline, room))?;
        let body = &self.list[found as usize];
        Some((body.too_long_for.is_none() && body.bytes.len() <= room).then_some(found))
    }

    /// Codes a body; `None` if it takes more than `limit` bytes.
    pub(super) fn make(
        &mut self,
        protocol: &Protocol,
        request: BodyRequest<'_>,
        updates: &mut ObjectUpdates,
        baseline: &impl Baseline,
        limit: usize,
    ) -> Option<u32> {
        let mut body = self.spare();
        let mut scratch = take(&mut self.scratch);
        self.code(&mut body, protocol, request, updates, baseline, &mut scratch, limit);
        self.scratch = scratch;
        self.insert(body)
    }

    /// Takes the memory of a body that is not used any more.
    pub(super) fn spare(&mut self) -> Body {
        if self.free.is_empty() {
            self.add_spares();
        }
        let mut body = match self.free.pop() {
            Some(place) => {
                self.vacant.push(place);
                take(&mut self.list[place as usize])
            }
            None => Body::default(),
        };
        body.reserve(self.max_updates, self.max_body_bytes);
        body
    }

    /// Makes all free bodies as large as one with this many updates and bytes, if none was so far.
    fn grow(&mut self, updates: usize, bytes: usize) {
        let updates = self.max_updates.max(reserved_updates(updates));
        let bytes = self.max_body_bytes.max(bytes.next_multiple_of(BODY_STEP));
        if (updates, bytes) != (self.max_updates, self.max_body_bytes) {
            (self.max_updates, self.max_body_bytes) = (updates, bytes);
            for &place in &self.free {
                self.list[place as usize].reserve(updates, bytes);
            }
        }
    }

    /// Adds memory for a quarter more bodies, so that an outage or two later none is missing.
    fn add_spares(&mut self) {
        for _ in 0..(self.list.len() / 4).max(1) {
            let mut body = Body::default();
            body.reserve(self.max_updates, self.max_body_bytes);
            if let Some(other) = self.list.last() {
                body.model.packed.clone_from(&other.model.packed);
            }
            self.free.push(self.list.len() as u32);
            self.list.push(body);
        }
    }

    /// Returns memory that was not used.
    #[cfg(feature = "parallel")]
    pub(super) fn put_back(&mut self, body: Body) {
        if let Some(place) = self.vacant.pop() {
            self.list[place as usize] = body;
            self.free.push(place);
        }
    }

    /// Codes a body that is not in the list yet. [`insert`](Self::insert) returns whether it fits
    /// into `limit` bytes.
    #[expect(clippy::too_many_arguments, reason = "the input, the limit and memory")]
    pub(super) fn code(
        &self,
        body: &mut Body,
        protocol: &Protocol,
        request: BodyRequest<'_>,
        updates: &mut ObjectUpdates,
        baseline: &impl Baseline,
        scratch: &mut Vec<u8>,
        limit: usize,
    ) {
        let before = request.view.baseline().and_then(|sent| self.list.get(sent.body? as usize));
        body.model.clone_from(before.map_or(&self.pristine, |baseline| &baseline.model));
        let level = request.view.level;
        let (model, bytes) = (&mut body.model, &mut body.bytes);
        let fits = write((protocol, level), updates, baseline, model, bytes, scratch, limit);
        body.too_long_for = (!fits).then_some(limit);
        body.level = level;
        body.is_shared = request.is_shared;
        body.is_complete = request.is_complete;
        body.updates = request.chosen.len();
        body.check = updates.check;
        body.baseline = self.baseline_serial(request.view);
        body.objects.clear();
        body.baseline_objects.clear();
        if request.is_shared {
            body.objects.extend(request.objects());
        }
        if request.is_shared && level == Level::Modeled {
            body.baseline_objects.extend(request.baseline_objects());
        }
    }

    /// Adds a coded body, for receivers of this tick; returns its place, or `None` if it did not fit
    /// into its limit.
    pub(super) fn insert(&mut self, mut body: Body) -> Option<u32> {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.list.push(Body::default());
            self.list.len() as u32 - 1
        });
        #[cfg(test)]
        {
            self.coded += 1;
        }
        match body.level {
            Level::Packed => self.coded_updates.packed += body.updates as u64,
            Level::Modeled => self.coded_updates.modeled += body.updates as u64,
        }
        let fits = body.too_long_for.is_none();
        if fits {
            body.serial = self.next_serial;
            self.next_serial += 1;
            self.grow(body.updates, body.bytes.len());
        }
        // A body that did not fit is kept, so that receivers with the same input do not code it
        // again.
        if fits || body.is_shared {
            body.users = 1;
            self.recent.push(place);
        } else {
            self.free.push(place);
        }
        self.list[place as usize] = body;
        fits.then_some(place)
    }

    pub(super) fn bytes(&self, body: u32) -> &[u8] {
        &self.list[body as usize].bytes
    }

    /// Returns the sums over the updates of a body.
    pub(super) fn check(&self, body: u32) -> Check {
        self.list[body as usize].check
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
            body.reserve(self.max_updates, self.max_body_bytes);
            self.free.push(place);
        }
    }

    /// Returns the serial number of the body of a receiver's baseline packet; `None` without a
    /// baseline. It is the same for receivers that share the body.
    pub(super) fn baseline_serial(&self, view: &View) -> Option<u64> {
        view.baseline().and_then(|baseline| Some(self.list[baseline.body? as usize].serial))
    }
}
