//! Checks of unreliable batches to an end that takes no reliable ones.

use core::time::Duration;

use crate::message::Delivery;

use super::harness::{EndEvent, Harness};
use super::ledger::Ledger;
use super::limits::{nothing, send};
use super::{End, EndFault, Fault, Report};
use crate::transport::Transport;

/// Number of batches in a frame of a flood.
const AT_ONCE: usize = 64;

/// Maximum length of a frame without a batch to send.
const IDLE: Duration = Duration::from_millis(20);

/// Time within which batches must arrive, or be polled.
const SETTLING: Duration = Duration::from_secs(1);

/// The unreliable deliveries.
const UNRELIABLE: [Delivery; 2] = [Delivery::Unreliable, Delivery::UnreliableSequenced];

/// Checks that the batches of a flood to an end that polls nothing are not kept without limit.
pub(super) fn check_flood<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let receiver = end.other();
    let most = harness.options.max_unreliable;
    for delivery in UNRELIABLE {
        let length = harness.path(end)?.max_datagram;
        let mut ledger = Ledger::new(end, delivery);
        let (all, mut last) = (most.saturating_add(most / 2), harness.now());
        // Batches in flight do not count as kept: they have to arrive first.
        while harness.now() - last < SETTLING {
            harness.begin_frame();
            harness.poll_batches(end, nothing)?;
            for _ in 0..AT_ONCE {
                let is_more = (ledger.counts().bytes as usize) < all;
                if !is_more || !send(harness, &mut ledger, end, delivery, length)? {
                    break;
                }
                last = harness.now();
            }
            harness.end_frame(IDLE);
        }
        let (mut came, mut last) = (0, harness.now());
        while harness.now() - last < SETTLING {
            harness.begin_frame();
            harness.poll_batches(end, nothing)?;
            let now = harness.now();
            harness.poll_batches(receiver, |_, batch| {
                (came, last) = (came + batch.len(), now);
                ledger.handle_batch(batch)
            })?;
            harness.end_frame(IDLE);
        }
        if came > most {
            let fault = Fault::Unbounded { delivery, accepted: came };
            return Err(EndFault { end: receiver, fault });
        }
    }
    Ok(())
}

/// Checks that a pause holds no unreliable batch back.
pub(super) fn check_pause<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let receiver = end.other();
    let connection = harness.connection(receiver);
    let mut ledgers = UNRELIABLE.map(|delivery| Ledger::new(end, delivery));
    let mut reliable = Ledger::new(end, Delivery::Reliable);
    let start = harness.now();
    while let Some(missing) = ledgers.iter().position(|ledger| ledger.counts().arrived == 0) {
        if harness.now() - start > harness.options.timeout {
            let fault = Fault::HeldBack(UNRELIABLE[missing]);
            return Err(EndFault { end: receiver, fault });
        }
        harness.begin_frame();
        harness.transport(receiver).pause(connection);
        harness.poll_batches(end, nothing)?;
        harness.poll_all(receiver, |event| match event {
            EndEvent::Batch(Delivery::Unreliable, batch) => ledgers[0].handle_batch(batch),
            EndEvent::Batch(Delivery::UnreliableSequenced, batch) => ledgers[1].handle_batch(batch),
            EndEvent::Batch(delivery, _) => Err(Fault::NotPaused(delivery)),
            EndEvent::Connected(_) => Err(Fault::ConnectedTwice),
            EndEvent::Ended(reason) => Err(Fault::Ended(reason)),
        })?;
        // Behind a reliable batch that waits, and often enough that some are not lost.
        if reliable.next() == 0 {
            send(harness, &mut reliable, end, Delivery::Reliable, 100)?;
        }
        for (ledger, delivery) in ledgers.iter_mut().zip(UNRELIABLE) {
            send(harness, ledger, end, delivery, 100)?;
        }
        harness.end_frame(IDLE);
    }
    Ok(())
}
