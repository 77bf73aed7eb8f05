//! What an end sends: pieces of reliable batches until they are acknowledged, and the others once.

use core::time::Duration;
use std::collections::VecDeque;

use crate::message::Delivery;

use super::estimate::RoundTrip;
use super::frame::{Kind, LANES, LaneAck, WINDOW};
use super::pool::{Pool, cost};

/// Everything that waits to be sent or acknowledged.
#[derive(Debug)]
pub(super) struct Outgoing {
    lanes: [Lane; LANES.len()],
    /// The unreliable batches, and what to send them as.
    plain: VecDeque<(Kind, Vec<u8>)>,
    plain_cost: usize,
    /// What was sent and neither acknowledged nor given up, the oldest first: that is also the first
    /// whose time is over.
    flights: VecDeque<Flight>,
    /// To be sent again, as lane and number.
    lost: VecDeque<(usize, u32)>,
    /// The lane whose turn it is.
    turn: usize,
    rate: Rate,
    /// The bytes of reliable batches that wait, and what they cost to keep.
    backlog: usize,
    backlog_cost: usize,
}

/// The pieces of a reliable delivery, from the first that was not acknowledged.
#[derive(Debug, Default)]
struct Lane {
    first: u32,
    pieces: VecDeque<Piece>,
    /// How many of them were sent at least once.
    sent: usize,
}

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    is_last: bool,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Waiting,
    InFlight,
    Arrived,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    sent: Duration,
    lane: usize,
    number: u32,
}

/// How many bytes may be in flight: more with every acknowledgement, half of it after a loss, as TCP
/// does. Without that, a link with little bandwidth would carry little but repetitions.
#[derive(Debug)]
struct Rate {
    in_flight: usize,
    window: usize,
    /// Below that it grows fast.
    threshold: usize,
    /// One loss seldom comes alone: until then, others are taken as part of it.
    calm_until: Duration,
    /// The largest piece.
    piece: usize,
}

impl Outgoing {
    pub(super) fn new(piece: usize) -> Self {
        Self {
            lanes: Default::default(),
            plain: VecDeque::new(),
            plain_cost: 0,
            flights: VecDeque::new(),
            lost: VecDeque::new(),
            turn: 0,
            rate: Rate::new(piece),
            backlog: 0,
            backlog_cost: 0,
        }
    }

    /// The bytes of reliable batches that were not acknowledged.
    pub(super) fn backlog(&self) -> usize {
        self.backlog
    }

    /// What a batch more would cost in all. The small ones cost more than their bytes.
    pub(super) fn cost_with(&self, batch: usize) -> usize {
        let pieces = batch.div_ceil(self.rate.piece).max(1);
        self.backlog_cost + batch + pieces * cost(0)
    }

    /// Takes an unreliable batch, and drops the oldest that still wait beyond the limit. Says how many
    /// were dropped.
    pub(super) fn push_plain(
        &mut self,
        kind: Kind,
        batch: &[u8],
        limit: usize,
        pool: &mut Pool,
    ) -> u64 {
        self.plain.push_back((kind, pool.copy(batch)));
        self.plain_cost += cost(batch.len());
        let mut dropped = 0;
        while self.plain_cost > limit
            && let Some((_, batch)) = self.poll_plain()
        {
            pool.give(batch);
            dropped += 1;
        }
        dropped
    }

    /// Takes a reliable batch.
    pub(super) fn push(&mut self, lane: usize, batch: &[u8], pool: &mut Pool) {
        // A batch without bytes is still a batch.
        let count = batch.len().div_ceil(self.rate.piece).max(1);
        for index in 0..count {
            let start = index * self.rate.piece;
            let end = batch.len().min(start + self.rate.piece);
            let bytes = pool.copy(&batch[start..end]);
            self.backlog += bytes.len();
            self.backlog_cost += cost(bytes.len());
            let is_last = index + 1 == count;
            self.lanes[lane].pieces.push_back(Piece {
                bytes,
                is_last,
                progress: Progress::Waiting,
            });
        }
    }

    /// The next unreliable batch.
    pub(super) fn poll_plain(&mut self) -> Option<(Kind, Vec<u8>)> {
        let next = self.plain.pop_front()?;
        self.plain_cost -= cost(next.1.len());
        Some(next)
    }

    /// The next piece that may be sent now.
    pub(super) fn poll_piece(&mut self, now: Duration) -> Option<(Kind, &[u8])> {
        let (lane, number) = self.next_lost().or_else(|| self.next_new())?;
        let piece = self.lanes[lane].get_mut(number)?;
        piece.progress = Progress::InFlight;
        self.rate.in_flight += cost(piece.bytes.len());
        self.flights.push_back(Flight { sent: now, lane, number });
        let kind = Kind::Piece { delivery: LANES[lane], number, is_last: piece.is_last };
        Some((kind, &piece.bytes))
    }

    fn next_lost(&mut self) -> Option<(usize, u32)> {
        while let Some(&(lane, number)) = self.lost.front() {
            // Nobody needs it if it was acknowledged late.
            let piece = self.lanes[lane].get_mut(number);
            let piece = piece.filter(|piece| piece.progress == Progress::Waiting);
            let needed = piece.map(|piece| piece.bytes.len());
            if needed.is_some_and(|bytes| !self.rate.allows(bytes)) {
                return None;
            }
            self.lost.pop_front();
            if needed.is_some() {
                return Some((lane, number));
            }
        }
        None
    }

    fn next_new(&mut self) -> Option<(usize, u32)> {
        // What was lost goes first.
        if !self.lost.is_empty() {
            return None;
        }
        for _ in 0..LANES.len() {
            let index = self.turn;
            self.turn = (self.turn + 1) % LANES.len();
            let lane = &mut self.lanes[index];
            let Some(piece) = lane.pieces.get(lane.sent) else { continue };
            if lane.sent >= WINDOW as usize {
                continue;
            }
            if !self.rate.allows(piece.bytes.len()) {
                return None;
            }
            let number = lane.first.wrapping_add(lane.sent as u32);
            lane.sent += 1;
            return Some((index, number));
        }
        None
    }

    /// Takes what the other end says of a lane. Says whether anything new has arrived.
    pub(super) fn handle_ack(&mut self, lane: usize, ack: &LaneAck, pool: &mut Pool) -> bool {
        let Self { lanes, rate, backlog, backlog_cost, .. } = self;
        let lane = &mut lanes[lane];
        let below = ack.next.wrapping_sub(lane.first);
        // An older acknowledgement that was overtaken says nothing new, and would be read as one of
        // numbers far ahead.
        if below as usize > lane.sent {
            return false;
        }
        let mut is_progress = false;
        for (index, piece) in lane.pieces.iter_mut().enumerate().take(lane.sent) {
            let has_come = match index.checked_sub(below as usize) {
                None => true,
                Some(bit) => {
                    let Some(word) = ack.beyond.get(bit / 64) else { break };
                    word >> (bit % 64) & 1 == 1
                }
            };
            if has_come && piece.progress != Progress::Arrived {
                is_progress = true;
                let length = piece.bytes.len();
                if piece.progress == Progress::InFlight {
                    rate.handle_arrival(length);
                }
                piece.progress = Progress::Arrived;
                *backlog -= length;
                *backlog_cost -= cost(length);
                pool.give(core::mem::take(&mut piece.bytes));
            }
        }
        while lane.pieces.front().is_some_and(|piece| piece.progress == Progress::Arrived) {
            lane.pieces.pop_front();
            lane.first = lane.first.wrapping_add(1);
            lane.sent -= 1;
        }
        is_progress
    }

    /// Takes as lost what was not acknowledged for too long.
    pub(super) fn handle_time(&mut self, now: Duration, round_trip: &mut RoundTrip) {
        let wait = round_trip.wait();
        let mut has_lost = false;
        while let Some(&Flight { sent, lane, number }) = self.flights.front() {
            let piece = self.lanes[lane].get_mut(number);
            let piece = piece.filter(|piece| piece.progress == Progress::InFlight);
            if piece.is_some() && now < sent + wait {
                break;
            }
            self.flights.pop_front();
            if let Some(piece) = piece {
                piece.progress = Progress::Waiting;
                self.rate.in_flight -= cost(piece.bytes.len());
                self.lost.push_back((lane, number));
                has_lost = true;
            }
        }
        if has_lost && now >= self.rate.calm_until {
            self.rate.handle_loss();
            round_trip.handle_silence();
            self.rate.calm_until = now + wait;
        }
    }

    /// When the next piece counts as lost.
    pub(super) fn next_time(&self, round_trip: &RoundTrip) -> Option<Duration> {
        self.flights.front().map(|flight| flight.sent + round_trip.wait())
    }
}

impl Lane {
    /// A piece that was sent and not yet forgotten.
    fn get_mut(&mut self, number: u32) -> Option<&mut Piece> {
        let index = number.wrapping_sub(self.first) as usize;
        self.pieces.get_mut(index)
    }
}

impl Rate {
    /// The least that may be in flight, in pieces: a link that loses by chance and not for want of
    /// bandwidth stays usable.
    const LEAST: usize = 32;
    const MOST: usize = 1 << 20;

    fn new(piece: usize) -> Self {
        let window = cost(piece) * Self::LEAST;
        let threshold = usize::MAX;
        Self { in_flight: 0, window, threshold, calm_until: Duration::ZERO, piece }
    }

    fn allows(&self, bytes: usize) -> bool {
        self.in_flight == 0 || self.in_flight + cost(bytes) <= self.window
    }

    fn handle_arrival(&mut self, bytes: usize) {
        self.in_flight -= cost(bytes);
        let more = match self.window < self.threshold {
            true => cost(bytes),
            false => cost(bytes) * cost(self.piece) / self.window,
        };
        self.window = (self.window + more).min(Self::MOST.max(cost(self.piece) * Self::LEAST));
    }

    fn handle_loss(&mut self) {
        self.window = (self.window / 2).max(cost(self.piece) * Self::LEAST);
        self.threshold = self.window;
    }
}

/// What an unreliable delivery is sent as.
pub(super) fn plain_kind(delivery: Delivery) -> Kind {
    match delivery {
        Delivery::UnreliableSequenced => Kind::UnreliableSequenced,
        _ => Kind::Unreliable,
    }
}
