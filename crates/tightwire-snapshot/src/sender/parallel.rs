//! Packets of many receivers on all cores.
//!
//! The making of a packet reads the world, and writes to the view of its receiver and to memory of
//! its thread. Receivers that may share a body are of one group, which one thread takes in order, so
//! that no body is coded twice. Each thread has a share of the groups, mostly the same receivers in
//! every tick, whose views are then in the cache of its core; when it has finished these, it takes
//! from the shares of others. The calling thread is one of them, so that nothing waits for a thread
//! that wakes up late.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::take;
use core::slice::ChunkByMut;
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
    group: SharingKey,
    /// Index of the first request of the group.
    first: usize,
    packet: Vec<u8>,
    made: Option<MadePacket>,
    /// Index of the maker that made the packet.
    maker: usize,
}

/// Receivers that may share a body: serial of the body of the baseline packet, which is `None`
/// without a baseline; then that of the last packet too. Receivers without a baseline that had
/// different packets rarely share the next one; if they do, [`Bodies::insert`] finds out.
///
/// [`Bodies::insert`]: crate::bodies::Bodies::insert
type SharingKey = (Option<u64>, Option<u64>);

/// The groups of a thread.
type Share<'j> = ChunkByMut<'j, Job, fn(&Job, &Job) -> bool>;

/// The work that threads take, by groups.
struct Queue<'j> {
    /// For each thread.
    shares: Vec<Share<'j>>,
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
        running.sort_unstable_by_key(|job| (job.group, job.request));
        for group in running.chunk_by_mut(is_same) {
            let first = group[0].request;
            group.iter_mut().for_each(|job| job.first = first);
        }
        // In the order of the requests, which stays from tick to tick.
        running.sort_unstable_by_key(|job| (job.first, job.request));
        let Self { protocol, store, relevancy, bodies, epoch, .. } = self;
        relevancy.update(protocol, store);
        let mut spares = Vec::new();
        bodies.take_spares(count, &mut spares);
        makers.resize_with(rayon::current_num_threads().max(1), Maker::default);
        makers.iter_mut().for_each(|maker| maker.timer.clock = self.maker.timer.clock);
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
            job.group = self.bodies.sharing_group(&view);
            job.view = Some(view);
            count += 1;
        }
        count
    }
}

/// Whether two jobs are of one group.
fn is_same(one: &Job, other: &Job) -> bool {
    one.group == other.group
}

/// Runs all jobs, with as many threads as there are makers.
fn run(world: SenderParts<'_>, jobs: &mut [Job], spares: Vec<Body>, makers: &mut [Maker]) {
    let threads = jobs.chunk_by(is_same).take(makers.len()).count();
    let queue = Mutex::new(Queue { shares: shares(jobs, threads.max(1)), spares });
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

/// Divides the groups, with about as many jobs for each thread.
fn shares(mut jobs: &mut [Job], threads: usize) -> Vec<Share<'_>> {
    let mut shares = Vec::with_capacity(threads);
    for left in (1..=threads).rev() {
        let mut end = jobs.len().div_ceil(left);
        while end > 0 && end < jobs.len() && is_same(&jobs[end - 1], &jobs[end]) {
            end += 1;
        }
        let (share, rest) = take(&mut jobs).split_at_mut(end);
        shares.push(share.chunk_by_mut(is_same as fn(&Job, &Job) -> bool));
        jobs = rest;
    }
    shares
}

impl<'j> Queue<'j> {
    /// Takes a group of the thread at an index, or of another one.
    fn take(&mut self, index: usize) -> Option<&'j mut [Job]> {
        let own = self.shares.get_mut(index).and_then(Iterator::next);
        // From the end, to which the other thread comes last.
        own.or_else(|| self.shares.iter_mut().find_map(DoubleEndedIterator::next_back))
    }
}

/// Runs groups of jobs until there are no more.
fn work(world: SenderParts<'_>, queue: &Mutex<Queue<'_>>, maker: &mut Maker, index: usize) {
    loop {
        // A lock is poisoned if another thread panics, which the scope passes on.
        let Ok(mut queue) = queue.lock() else { return };
        let Some(group) = queue.take(index) else { return };
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
