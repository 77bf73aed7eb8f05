//! Checks of unreliable batches to an end that takes no reliable ones.

use core::time::Duration;

use crate::message::Delivery;

use super::ledger::Ledger;
use super::limits::{nothing, send};
use super::stand::{Happened, Stand};
use super::{End, Fault, Report, Seen};
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
    stand: &mut Stand<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), Seen> {
    let receiver = end.other();
    let most = stand.options.most_unreliable;
    for delivery in UNRELIABLE {
        let length = stand.path(end)?.max_datagram;
        let mut ledger = Ledger::new(end, delivery);
        let (all, mut last) = (most.saturating_add(most / 2), stand.now());
        // Batches in flight do not count as kept: they have to arrive first.
        while stand.now() - last < SETTLING {
            stand.begin_frame();
            stand.poll_batches(end, nothing)?;
            for _ in 0..AT_ONCE {
                let is_more = (ledger.figures().bytes as usize) < all;
                if !is_more || !send(stand, &mut ledger, end, delivery, length)? {
                    break;
                }
                last = stand.now();
            }
            stand.end_frame(IDLE);
        }
        let (mut came, mut last) = (0, stand.now());
        while stand.now() - last < SETTLING {
            stand.begin_frame();
            stand.poll_batches(end, nothing)?;
            let now = stand.now();
            stand.poll_batches(receiver, |_, batch| {
                (came, last) = (came + batch.len(), now);
                ledger.handle_batch(batch)
            })?;
            stand.end_frame(IDLE);
        }
        if came > most {
            let fault = Fault::Unbounded { delivery, accepted: came };
            return Err(Seen { end: receiver, fault });
        }
    }
    Ok(())
}

/// Checks that a pause holds no unreliable batch back.
pub(super) fn check_pause<A: Transport, B: Transport>(
    stand: &mut Stand<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), Seen> {
    let receiver = end.other();
    let connection = stand.connection(receiver);
    let mut ledgers = UNRELIABLE.map(|delivery| Ledger::new(end, delivery));
    let mut reliable = Ledger::new(end, Delivery::Reliable);
    let start = stand.now();
    while let Some(missing) = ledgers.iter().position(|ledger| ledger.figures().arrived == 0) {
        if stand.now() - start > stand.options.patience {
            let fault = Fault::HeldBack(UNRELIABLE[missing]);
            return Err(Seen { end: receiver, fault });
        }
        stand.begin_frame();
        stand.transport(receiver).pause(connection);
        stand.poll_batches(end, nothing)?;
        stand.poll_all(receiver, |happened| match happened {
            Happened::Batch(Delivery::Unreliable, batch) => ledgers[0].handle_batch(batch),
            Happened::Batch(Delivery::UnreliableSequenced, batch) => ledgers[1].handle_batch(batch),
            Happened::Batch(delivery, _) => Err(Fault::NotPaused(delivery)),
            Happened::Connected(_) => Err(Fault::ConnectedTwice),
            Happened::Ended(reason) => Err(Fault::Ended(reason)),
        })?;
        // Behind a reliable batch that waits, and often enough that some are not lost.
        if reliable.next() == 0 {
            send(stand, &mut reliable, end, Delivery::Reliable, 100)?;
        }
        for (ledger, delivery) in ledgers.iter_mut().zip(UNRELIABLE) {
            send(stand, ledger, end, delivery, 100)?;
        }
        stand.end_frame(IDLE);
    }
    Ok(())
}
