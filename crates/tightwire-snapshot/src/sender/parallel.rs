//! Packets of many receivers on all cores.
//!
//! The making of a packet reads the world, and writes to the view of its receiver and to memory of
//! its thread. Receivers that may share a body are of one group, which one thread takes in order, so
//! that no body is coded twice. Threads take groups as they finish others, and the calling thread
//! is one of them, so that nothing waits for a thread that wakes up late.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::take;
use std::sync::Mutex;

use super::all::SnapshotRequest;
use super::make::{MadePacket, Maker, PacketSize, SenderParts};
use super::{ReceiverId, Sender, Snapshot};
use crate::bodies::Body;
use crate::view::View;

/// A packet of a receiver, and its memory.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// Index of the request.
    request: usize,
    /// Place of the receiver.
    place: usize,
    size: PacketSize,
    /// The receiver's view, while the job runs.
    view: Option<Box<View>>,
    /// Serial of the body of the baseline packet; `None` without a baseline.
    baseline: Option<u64>,
    packet: Vec<u8>,
    made: Option<MadePacket>,
    /// Index of the maker that made the packet.
    maker: usize,
}

/// The work that threads take: groups of receivers with the same baseline.
struct Queue<G> {
    groups: G,
    /// Memory of the bodies to code.
    spares: Vec<Body>,
}

impl Sender {
    pub(super) fn snapshot_parallel(
        &mut self,
        requests: &[SnapshotRequest],
        prefix: usize,
        each: &mut impl FnMut(ReceiverId, Snapshot<'_>),
    ) {
        let (mut jobs, mut makers) = (take(&mut self.jobs), take(&mut self.makers));
        self.choose_levels();
        let count = self.begin_jobs(&mut jobs, requests, prefix);
        let running = &mut jobs[..count];
        running.sort_unstable_by_key(|job| (job.baseline, job.request));
        let Self { protocol, store, relevancy, bodies, epoch, .. } = self;
        relevancy.update(protocol, store);
        let mut spares = Vec::new();
        bodies.take_spares(count, &mut spares);
        makers.resize_with(rayon::current_num_threads().max(1), Maker::default);
        let is_shared = true;
        let world = SenderParts { protocol, store, relevancy, bodies, epoch: *epoch, is_shared };
        run(world, running, spares, &mut makers);
        for maker in &mut makers {
            maker.settle(&mut self.bodies);
        }
        running.sort_unstable_by_key(|job| job.request);
        for job in running {
            let Some(mut view) = job.view.take() else { continue };
            if let Some(made) = job.made {
                makers[job.maker].record_body(&mut self.bodies, &mut view, made);
                self.is_sent = true;
                each(view.receiver, made.snapshot(&mut job.packet));
            }
            self.views[job.place] = Some(view);
        }
        (self.jobs, self.makers) = (jobs, makers);
    }

    /// Takes the views of those receivers that get a packet; returns their number.
    fn begin_jobs(
        &mut self,
        jobs: &mut Vec<Job>,
        requests: &[SnapshotRequest],
        prefix: usize,
    ) -> usize {
        let mut count = 0;
        for (request, &SnapshotRequest { receiver, budget }) in requests.iter().enumerate() {
            let size = PacketSize { prefix, budget };
            let Some((place, view)) = self.take_view(receiver, size) else { continue };
            if jobs.len() == count {
                jobs.push(Job::default());
            }
            let job = &mut jobs[count];
            (job.request, job.place, job.size) = (request, place, size);
            job.baseline = self.bodies.baseline_serial(&view);
            job.view = Some(view);
            count += 1;
        }
        count
    }
}

/// Runs all jobs, with as many threads as there are makers.
fn run(world: SenderParts<'_>, jobs: &mut [Job], spares: Vec<Body>, makers: &mut [Maker]) {
    let is_same = |one: &Job, other: &Job| one.baseline == other.baseline;
    let threads = jobs.chunk_by(is_same).take(makers.len()).count();
    let queue = Mutex::new(Queue { groups: jobs.chunk_by_mut(is_same), spares });
    if let Some((first, others)) = makers.split_first_mut() {
        rayon::in_place_scope(|scope| {
            let queue = &queue;
            for (index, maker) in (1..threads).zip(others) {
                scope.spawn(move |_| work(world, queue, maker, index));
            }
            work(world, queue, first, 0);
        });
        if let Ok(queue) = queue.into_inner() {
            first.spares.extend(queue.spares);
        }
    }
}

/// Runs groups of jobs until there are no more.
fn work<'j>(
    world: SenderParts<'_>,
    queue: &Mutex<Queue<impl Iterator<Item = &'j mut [Job]>>>,
    maker: &mut Maker,
    index: usize,
) {
    loop {
        // A lock is poisoned if another thread panics, which the scope passes on.
        let Ok(mut queue) = queue.lock() else { return };
        let Some(group) = queue.groups.next() else { return };
        let more = group.len().saturating_sub(maker.spares.len()).min(queue.spares.len());
        let rest = queue.spares.len() - more;
        maker.spares.extend(queue.spares.drain(rest..));
        drop(queue);
        maker.begin_group();
        for job in group {
            let Some(view) = &mut job.view else { continue };
            job.made = maker.make(world, view, job.size, None, &mut job.packet);
            job.maker = index;
        }
    }
}
