//! Check of all deliveries at once, in both directions.

use core::time::Duration;

use crate::message::Delivery;

use super::batch;
use super::harness::Harness;
use super::ledger::Ledger;
use super::{End, EndFault, Fault, Report};
use crate::transport::{NotSentError, Path, Transport};

/// Time without progress after which missing unreliable batches count as lost.
const SETTLED: Duration = Duration::from_secs(2);

/// Maximum number of batches with the size of many datagrams; `SMALL` is the minimum number of
/// other batches between them.
const LARGE: u32 = 20;
const SMALL: u32 = 500;

/// All batches in one direction.
struct Flow {
    from: End,
    ledgers: [Ledger; Delivery::ALL.len()],
}

pub(super) fn check<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    _: End,
    report: &mut Report,
) -> Result<(), EndFault> {
    let options = harness.options;
    let mut flows = End::BOTH.map(Flow::new);
    let mut next_burst = harness.now();
    let mut progress = (0, harness.now());
    loop {
        harness.begin_frame();
        let now = harness.now();
        for end in End::BOTH {
            let flow = &mut flows[end.other() as usize];
            harness.poll_batches(end, |delivery, batch| {
                flow.ledgers[delivery as usize].handle_batch(batch)
            })?;
        }
        if now >= next_burst {
            next_burst = now + options.frame;
            for flow in &mut flows {
                flow.send(harness)?;
            }
        }
        harness.end_frame(options.frame);

        // While a large batch arrives in fragments, progress shows in its sender's backlog.
        let mut state = flows.iter().map(Flow::moved).sum::<u64>();
        for end in End::BOTH {
            state = batch::mix(state ^ harness.path(end)?.backlog as u64);
        }
        if state != progress.0 {
            progress = (state, now);
        }
        let quiet = now - progress.1;
        let is_sent = flows.iter().all(|flow| flow.is_sent(options.batches));
        let has_arrived = |all| flows.iter().all(|flow| flow.has_arrived(all));
        if is_sent && (has_arrived(true) || has_arrived(false) && quiet > SETTLED)
            || quiet > options.timeout
        {
            break;
        }
    }
    for flow in &flows {
        flow.check(options.batches, options.is_perfect)
            .map_err(|fault| EndFault { end: flow.from.other(), fault })?;
        for (counts, ledger) in report.deliveries.iter_mut().zip(&flow.ledgers) {
            counts.add(ledger.counts());
        }
    }
    Ok(())
}

impl Flow {
    fn new(from: End) -> Self {
        Self { from, ledgers: Delivery::ALL.map(|delivery| Ledger::new(from, delivery)) }
    }

    /// Returns a count that grows with every batch that is sent or arrives.
    fn moved(&self) -> u64 {
        self.ledgers.iter().map(|ledger| ledger.counts().sent + ledger.counts().arrived).sum()
    }

    fn is_sent(&self, batches: u32) -> bool {
        self.ledgers.iter().all(|ledger| ledger.next() >= batches)
    }

    /// Returns whether the reliable batches have arrived; with `all`, whether all have.
    fn has_arrived(&self, all: bool) -> bool {
        self.ledgers.iter().all(|ledger| ledger.is_complete() || !all && !ledger.is_reliable())
    }

    /// Sends a burst of each delivery, as far as there is room.
    fn send<A: Transport, B: Transport>(
        &mut self,
        harness: &mut Harness<A, B>,
    ) -> Result<(), EndFault> {
        let options = harness.options;
        let path = harness.path(self.from)?;
        for (ledger, delivery) in self.ledgers.iter_mut().zip(Delivery::ALL) {
            for _ in 0..options.burst {
                let number = ledger.next();
                if number >= options.batches {
                    break;
                }
                let length = length(delivery, number, &path, options.batches);
                match harness.send(self.from, delivery, number, length) {
                    Ok(()) => ledger.handle_sent(length),
                    Err(NotSentError::Full { .. }) => break,
                    Err(why) => {
                        let fault = Fault::Refused(delivery, why);
                        return Err(EndFault { end: self.from, fault });
                    }
                }
            }
        }
        Ok(())
    }

    fn check(&self, batches: u32, is_perfect: bool) -> Result<(), Fault> {
        for (ledger, delivery) in self.ledgers.iter().zip(Delivery::ALL) {
            if ledger.is_reliable() || is_perfect {
                ledger.check_complete()?;
            }
            if ledger.next() < batches {
                let backlog = ledger.counts().bytes as usize;
                return Err(Fault::Refused(delivery, NotSentError::Full { backlog }));
            }
        }
        Ok(())
    }
}

/// Returns the length of a batch: now and then several hundred kilobytes, if it may be fragmented.
fn length(delivery: Delivery, number: u32, path: &Path, batches: u32) -> usize {
    let every = (batches / LARGE).max(SMALL);
    if delivery.fragments() && number % every == every / 2 && !batch::is_tiny(number) {
        let length = 100_000 + batch::mix(number.into()) as usize % 300_000;
        return length.min(path.max_fragmented);
    }
    batch::length(delivery, number, path.max_datagram)
}
