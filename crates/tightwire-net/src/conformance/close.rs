//! Checks of how a connection ends.

use core::time::Duration;

use crate::message::Delivery;

use super::harness::{EndEvent, Harness};
use super::ledger::Ledger;
use super::limits::{nothing, reliable, send};
use super::{End, EndFault, Fault, Report};
use crate::reason::Reason;
use crate::transport::{NotSentError, Transport};

/// Number of batches of each reliable delivery before the close.
const BATCHES: u32 = 50;

/// Maximum length of a frame.
const FRAME: Duration = Duration::from_millis(20);

/// Time after which sent batches have arrived, also if they were lost a few times.
const SETTLING: Duration = Duration::from_secs(5);

/// Time for which the other end does not poll while the connection ends, and then is watched.
const WATCHED: Duration = Duration::from_secs(1);

/// Checks that the reason arrives once, behind the batches before it, and that the closing end gets
/// no event.
pub(super) fn check<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), EndFault> {
    let other = end.other();
    let mut ledgers = reliable().map(|delivery| Ledger::new(end, delivery));
    send_batches(harness, &mut ledgers, end)?;

    let sent = match end {
        End::Client => Reason::Left,
        End::Server => Reason::kicked("for a test; with more than a word"),
    };
    let connection = harness.connection(end);
    harness.transport(end).close(connection, &sent);
    check_disconnected(harness, end)?;

    let closed = harness.now();
    let mut received: Option<(Reason, Duration)> = None;
    while received.as_ref().is_none_or(|(_, when)| harness.now() - *when < WATCHED) {
        harness.begin_frame();
        let now = harness.now();
        harness.poll_all(end, |_| Err(Fault::EventAfterClose))?;
        if now - closed > WATCHED {
            harness.poll_all(other, |event| match event {
                EndEvent::Batch(..) if received.is_some() => Err(after_end(&ledgers)),
                _ if received.is_some() => Err(Fault::NoSuchConnection("an event")),
                EndEvent::Connected(_) => Err(Fault::ConnectedTwice),
                EndEvent::Batch(delivery, batch) => {
                    let index = reliable().iter().position(|of| *of == delivery);
                    match index {
                        Some(index) => ledgers[index].handle_batch(batch),
                        None => nothing(delivery, batch),
                    }
                }
                EndEvent::Ended(reason) => {
                    received = Some((reason, now));
                    Ok(())
                }
            })?;
        }
        if received.is_none() && now - closed > harness.options.timeout {
            return Err(EndFault { end: other, fault: Fault::CloseNotHeard });
        }
        harness.end_frame(FRAME);
    }
    let fault = match received {
        _ if !ledgers.iter().all(Ledger::is_complete) => after_end(&ledgers),
        Some((received, _)) if received != sent => Fault::OtherReason { sent, received },
        _ => return check_disconnected(harness, other),
    };
    Err(EndFault { end: other, fault })
}

/// Returns the fault for batches that did not come before the end of the connection.
fn after_end(ledgers: &[Ledger]) -> Fault {
    let arrived = ledgers.iter().map(|ledger| ledger.counts().arrived).sum();
    let sent = ledgers.iter().map(|ledger| ledger.counts().sent).sum();
    Fault::AfterEnd { arrived, sent }
}

/// Sends batches, and waits until they have arrived at an end that does not poll.
fn send_batches<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    ledgers: &mut [Ledger; 3],
    end: End,
) -> Result<(), EndFault> {
    let (mut progress, mut settled) = ((usize::MAX, harness.now()), harness.now());
    while harness.now() - settled < SETTLING {
        // A batch in flight may not count as backlog.
        if ledgers.iter().any(|ledger| ledger.next() < BATCHES) || harness.path(end)?.backlog > 0 {
            settled = harness.now();
        }
        harness.begin_frame();
        harness.poll_batches(end, nothing)?;
        for (ledger, delivery) in ledgers.iter_mut().zip(reliable()) {
            while ledger.next() < BATCHES && send(harness, ledger, end, delivery, 100)? {}
        }
        harness.end_frame(FRAME);
        let backlog = harness.path(end)?.backlog;
        if backlog != progress.0 {
            progress = (backlog, harness.now());
        }
        if harness.now() - progress.1 > harness.options.timeout {
            return Err(EndFault { end, fault: Fault::Stuck(harness.options.timeout) });
        }
    }
    Ok(())
}

/// Checks that the connection no longer exists at this end.
fn check_disconnected<A: Transport, B: Transport>(
    harness: &mut Harness<A, B>,
    end: End,
) -> Result<(), EndFault> {
    let connection = harness.connection(end);
    let result = harness.send(end, Delivery::Reliable, 0, 12);
    let fault = if result != Err(NotSentError::NotConnected(connection)) {
        Fault::NotRefused { expected: "not connected", result }
    } else if harness.transport(end).path(connection).is_some() {
        Fault::Path("`Some` for a connection that has ended")
    } else {
        return Ok(());
    };
    Err(EndFault { end, fault })
}
