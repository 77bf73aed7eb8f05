//! Checks of refused batches, full queues and pauses.

use core::time::Duration;

use crate::message::Delivery;

use super::batch;
use super::harness::{EndEvent, Harness};
use super::ledger::Ledger;
use super::{End, EndFault, Fault, Report};
use crate::reason::Reason;
use crate::transport::{Connection, NotSentError, Transport};

/// Time without an accepted batch after which all queues count as full.
const FULL_FOR: Duration = Duration::from_secs(1);

/// Maximum length of a frame without a batch to send.
const IDLE: Duration = Duration::from_millis(20);

/// Number of batches of each delivery to an end that pauses after each of them.
const PAUSED: u32 = 100;

/// Checks that batches that are too large or without a connection are refused, without harm.
pub(super) fn check_refusals<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let path = harness.path(end)?;
    let broken = |fault| Err(EndFault { end, fault });
    for delivery in Delivery::ALL {
        let limit = if delivery.fragments() { path.max_fragmented } else { path.max_datagram };
        let result = harness.send(end, delivery, 0, limit + 1);
        if !matches!(result, Err(NotSentError::TooLarge { .. })) {
            return broken(Fault::NotRefused { expected: "too large", result });
        }
    }
    let nobody = Connection(!harness.connection(end).0);
    let transport = harness.transport(end);
    let result = transport.send(nobody, Delivery::Reliable, &[1, 0, 7]);
    if result != Err(NotSentError::NotConnected(nobody)) {
        return broken(Fault::NotRefused { expected: "not connected", result });
    }
    if transport.path(nobody).is_some() {
        return broken(Fault::Path("`Some` for an unknown connection"));
    }
    transport.pause(nobody);
    transport.close(nobody, &Reason::Left);

    let mut ledger = Ledger::new(end, Delivery::Reliable);
    send(harness, &mut ledger, end, Delivery::Reliable, 100)?;
    wait_for(harness, &mut ledger, end)
}

/// Checks that the largest allowed batches arrive.
pub(super) fn check_largest<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let delivery = Delivery::ReliableOrderedFragmented;
    let most = harness.path(end)?.max_fragmented.min(harness.options.max_backlog);
    let mut ledger = Ledger::new(end, delivery);
    for length in [most / 2, most - 1, most] {
        if !send(harness, &mut ledger, end, delivery, length)? {
            // No other batch waits.
            let fault = Fault::Refused(delivery, NotSentError::Full { backlog: 0 });
            return Err(EndFault { end, fault });
        }
        wait_for(harness, &mut ledger, end)?;
    }
    Ok(())
}

/// Checks that an end that polls nothing blocks the other, and that every accepted batch arrives
/// later.
pub(super) fn check_full<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let broken = |fault| Err(EndFault { end, fault });
    for delivery in reliable() {
        let path = harness.path(end)?;
        let most = path.max_datagram * 4;
        let length =
            if delivery.fragments() { path.max_fragmented.min(most) } else { path.max_datagram };
        let mut ledger = Ledger::new(end, delivery);
        let mut last_accepted = harness.now();
        while harness.now() - last_accepted < FULL_FOR {
            harness.begin_frame();
            harness.poll_batches(end, nothing)?;
            while send(harness, &mut ledger, end, delivery, length)? {
                last_accepted = harness.now();
                let accepted = ledger.counts().bytes as usize;
                if accepted > harness.options.max_backlog {
                    return broken(Fault::Unbounded { delivery, accepted });
                }
            }
            harness.end_frame(IDLE);
        }
        if harness.path(end)?.backlog == 0 {
            return broken(Fault::Path("the backlog is 0, but batches are refused"));
        }
        wait_for(harness, &mut ledger, end)?;
    }
    Ok(())
}

/// Checks that a pause holds reliable batches back until the next input, and loses none.
pub(super) fn check_pause<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let receiver = end.other();
    let connection = harness.connection(receiver);
    let max_datagram = harness.path(end)?.max_datagram;
    let mut ledgers = reliable().map(|delivery| (delivery, Ledger::new(end, delivery)));
    let mut last_arrival = harness.now();
    while ledgers.iter().any(|(_, ledger)| ledger.next() < PAUSED || !ledger.is_complete()) {
        harness.begin_frame();
        harness.poll_batches(end, nothing)?;
        let mut is_paused = false;
        while let Some(event) = harness.poll(receiver)? {
            let broken = |fault| EndFault { end: receiver, fault };
            let EndEvent::Batch(delivery, batch) = event else {
                return Err(broken(Fault::NoSuchConnection("an event")));
            };
            let Some((_, ledger)) = ledgers.iter_mut().find(|(of, _)| *of == delivery) else {
                return Err(broken(Fault::Changed { delivery, size: batch.len() }));
            };
            if is_paused {
                return Err(broken(Fault::NotPaused(delivery)));
            }
            ledger.handle_batch(batch).map_err(broken)?;
            harness.transport(receiver).pause(connection);
            is_paused = true;
            last_arrival = harness.now();
        }
        for (delivery, ledger) in &mut ledgers {
            let length = batch::length(*delivery, ledger.next(), max_datagram);
            if ledger.next() < PAUSED {
                send(harness, ledger, end, *delivery, length)?;
            }
        }
        harness.end_frame(IDLE);
        if harness.now() - last_arrival > harness.options.timeout {
            let lost = ledgers.iter().try_for_each(|(_, ledger)| ledger.check_complete());
            let fault = lost.err().unwrap_or(Fault::Stuck(harness.options.timeout));
            return Err(EndFault { end: receiver, fault });
        }
    }
    Ok(())
}

/// Returns the reliable deliveries.
pub(super) fn reliable() -> [Delivery; 3] {
    [Delivery::Reliable, Delivery::ReliableOrdered, Delivery::ReliableOrderedFragmented]
}

/// Sends the next batch; returns `false` if there is no room.
pub(super) fn send<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    ledger: &mut Ledger,
    end: End,
    delivery: Delivery,
    length: usize,
) -> Result<bool, EndFault> {
    let length = match batch::is_tiny(ledger.next()) {
        // The smallest batches have a fixed length.
        true => batch::length(delivery, ledger.next(), length),
        false if delivery.fragments() => length.min(harness.path(end)?.max_fragmented),
        false => length.min(harness.path(end)?.max_datagram),
    };
    match harness.send(end, delivery, ledger.next(), length) {
        Ok(()) => {
            ledger.handle_sent(length);
            Ok(true)
        }
        Err(NotSentError::Full { .. }) => Ok(false),
        Err(why) => Err(EndFault { end, fault: Fault::Refused(delivery, why) }),
    }
}

/// Refuses every batch, for an end to which none was sent.
pub(super) fn nothing(delivery: Delivery, batch: &[u8]) -> Result<(), Fault> {
    Err(Fault::Changed { delivery, size: batch.len() })
}

/// Waits until every batch of a ledger has arrived and is acked.
fn wait_for<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    ledger: &mut Ledger,
    end: End,
) -> Result<(), EndFault> {
    let receiver = end.other();
    let mut progress = ((0, 0), harness.now());
    while !ledger.is_complete() || harness.path(end)?.backlog > 0 {
        harness.begin_frame();
        harness.poll_batches(end, nothing)?;
        harness.poll_batches(receiver, |_, batch| ledger.handle_batch(batch))?;
        harness.end_frame(IDLE);
        // A large batch arrives in fragments.
        let state = (ledger.counts().arrived, harness.path(end)?.backlog);
        if state != progress.0 {
            progress = (state, harness.now());
        }
        if harness.now() - progress.1 > harness.options.timeout {
            ledger.check_complete().map_err(|fault| EndFault { end: receiver, fault })?;
            let fault = Fault::Path("the backlog is not 0, but everything arrived");
            return Err(EndFault { end, fault });
        }
    }
    Ok(())
}
