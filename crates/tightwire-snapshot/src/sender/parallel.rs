//! Packets of many receivers on all cores.
//!
//! Most of the time goes into collecting the dirty objects of a receiver and coding them. Both only
//! read the world, and write to memory of the receiver's own: its [`Job`]. Receivers that may share
//! a body are of one group, which one thread takes in order, so that none is coded twice. The
//! packets are then put together in order; a body that does not fit its budget is tried again
//! there.

use alloc::vec::Vec;
use core::mem::{swap, take};

use super::all::SnapshotRequest;
use super::make::{MAX_BUDGET, MIN_BUDGET, MadePacket, push_updates, write_header};
use super::{ReceiverId, Sender, Snapshot};
use crate::Protocol;
use crate::baseline::SenderBaseline;
use crate::body::{Bodies, Body, BodyRequest};
use crate::relevancy::Relevancy;
use crate::select::Selection;
use crate::store::Store;
use crate::update::ObjectUpdates;
use crate::view::View;

/// The first steps of a packet, and their memory.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// Index of the request.
    request: usize,
    budget: usize,
    /// The receiver's view, while the job runs.
    view: Option<View>,
    /// Serial of the body of the baseline packet; `None` without a baseline.
    baseline: Option<u64>,
    selection: Selection,
    updates: ObjectUpdates,
    header: Vec<u8>,
    scratch: Vec<u8>,
    body: Body,
    is_coded: bool,
}

/// The parts of a sender that all jobs read.
#[derive(Clone, Copy)]
struct SenderParts<'s> {
    protocol: &'s Protocol,
    store: &'s Store,
    relevancy: &'s Relevancy,
    bodies: &'s Bodies,
    epoch: u32,
}

impl Sender {
    pub(super) fn snapshot_parallel(
        &mut self,
        requests: &[SnapshotRequest],
        prefix: usize,
        each: &mut impl FnMut(ReceiverId, Snapshot<'_>),
    ) {
        let mut jobs = take(&mut self.jobs);
        let count = self.begin_jobs(&mut jobs, requests);
        let Self { protocol, store, relevancy, bodies, epoch, .. } = self;
        relevancy.update(protocol, store);
        let world = SenderParts { protocol, store, relevancy, bodies, epoch: *epoch };
        let running = &mut jobs[..count];
        running.sort_unstable_by_key(|job| (job.baseline, job.request));
        rayon::scope(|scope| {
            for group in running.chunk_by_mut(|one, other| one.baseline == other.baseline) {
                scope.spawn(move |_| run_group(world, group));
            }
        });
        running.sort_unstable_by_key(|job| job.request);
        for job in &mut *running {
            if let Some(view) = job.view.take() {
                let place = view.receiver.place as usize;
                self.views[place] = Some(view);
            }
            let body = take(&mut job.body);
            if job.is_coded {
                self.bodies.insert(body);
            } else {
                self.bodies.put_back(body);
            }
        }
        for job in running {
            let receiver = requests[job.request].receiver;
            if let Some(MadePacket { is_complete, is_owned_exact }) =
                self.end_job(receiver, job, prefix)
            {
                each(receiver, Snapshot { bytes: &mut self.packet, is_complete, is_owned_exact });
            }
        }
        self.jobs = jobs;
    }

    /// Takes the views of those receivers that get a packet; returns their number.
    fn begin_jobs(&mut self, jobs: &mut Vec<Job>, requests: &[SnapshotRequest]) -> usize {
        let mut count = 0;
        for (request, &SnapshotRequest { receiver, budget }) in requests.iter().enumerate() {
            let Some(place) = self.slot_of(receiver).filter(|_| budget >= MIN_BUDGET) else {
                continue;
            };
            let tick = self.store.tick;
            let Some(mut view) = self.views[place].take_if(|view| !view.has_sent(tick)) else {
                continue;
            };
            if view.needs_resync() {
                view.resync(|body| self.bodies.release(body));
            }
            if jobs.len() == count {
                jobs.push(Job::default());
            }
            let job = &mut jobs[count];
            (job.request, job.budget) = (request, budget.min(MAX_BUDGET));
            job.baseline = self.bodies.baseline_serial(&view);
            job.view = Some(view);
            job.body = self.bodies.spare();
            job.is_coded = false;
            count += 1;
        }
        count
    }

    /// Makes the packet of a job, whose body is already coded in most cases.
    fn end_job(
        &mut self,
        receiver: ReceiverId,
        job: &mut Job,
        prefix: usize,
    ) -> Option<MadePacket> {
        let place = self.slot_of(receiver)?;
        let mut view = self.views[place].take()?;
        swap(&mut self.selection, &mut job.selection);
        let made = self.make_collected(&mut view, job.budget, prefix);
        swap(&mut self.selection, &mut job.selection);
        self.views[place] = Some(view);
        self.is_sent |= made.is_some();
        made
    }
}

/// Runs the jobs of receivers with the same baseline.
fn run_group(world: SenderParts<'_>, group: &mut [Job]) {
    for place in 0..group.len() {
        let (done, rest) = group.split_at_mut(place);
        if let Some(job) = rest.first_mut() {
            job.run(world, done);
        }
    }
}

impl Job {
    /// Collects the dirty objects, and codes the first body to try, unless an equal one was coded
    /// before.
    fn run(&mut self, world: SenderParts<'_>, done: &[Self]) {
        let SenderParts { protocol, store, relevancy, bodies, epoch } = world;
        let Self { view, selection, updates, header, scratch, body, .. } = self;
        let Some(view) = view else { return };
        selection.collect(protocol, store, relevancy, view, None);
        let Some(length) = write_header(header, view, &view.header(store.tick, epoch), 0) else {
            return;
        };
        let Some(room) = self.budget.checked_sub(length) else { return };
        let is_complete = selection.may_be_complete(store, view, room);
        if is_complete {
            selection.choose_all();
        } else {
            let (count, _) = selection.rank(store, view, room);
            selection.choose_first(count);
        }
        let chosen = &selection.chosen;
        let request = BodyRequest { view, chosen, is_complete, is_shared: true };
        let is_there = |job: &Self| job.is_coded && job.body.is_of(request, self.baseline, room);
        if bodies.find(request, room).is_some() || done.iter().any(is_there) {
            return;
        }
        if push_updates(updates, store, chosen).is_some() {
            let baseline = SenderBaseline::new(store, view, chosen);
            bodies.code(body, protocol, request, updates, &baseline, scratch, room);
            self.is_coded = true;
        }
    }
}
