//! Checks of how a connection ends.

use core::time::Duration;

use crate::message::Delivery;

use super::ledger::Ledger;
use super::limits::{nothing, reliable, send};
use super::stand::{Happened, Stand};
use super::{End, Fault, Report, Seen};
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
    stand: &mut Stand<A, B>,
    end: End,
    _: &mut Report,
) -> Result<(), Seen> {
    let other = end.other();
    let mut ledgers = reliable().map(|delivery| Ledger::new(end, delivery));
    send_batches(stand, &mut ledgers, end)?;

    let said = match end {
        End::Client => Reason::Left,
        End::Server => Reason::kicked("for a test; with more than a word"),
    };
    let connection = stand.connection(end);
    stand.transport(end).close(connection, &said);
    check_gone(stand, end)?;

    let closed = stand.now();
    let mut heard: Option<(Reason, Duration)> = None;
    while heard.as_ref().is_none_or(|(_, when)| stand.now() - *when < WATCHED) {
        stand.begin_frame();
        let now = stand.now();
        stand.poll_all(end, |_| Err(Fault::EventAfterClose))?;
        if now - closed > WATCHED {
            stand.poll_all(other, |happened| match happened {
                Happened::Batch(..) if heard.is_some() => Err(after_end(&ledgers)),
                _ if heard.is_some() => Err(Fault::NoSuchConnection("an event")),
                Happened::Connected(_) => Err(Fault::ConnectedTwice),
                Happened::Batch(delivery, batch) => {
                    let index = reliable().iter().position(|of| *of == delivery);
                    match index {
                        Some(index) => ledgers[index].handle_batch(batch),
                        None => nothing(delivery, batch),
                    }
                }
                Happened::Ended(reason) => {
                    heard = Some((reason, now));
                    Ok(())
                }
            })?;
        }
        if heard.is_none() && now - closed > stand.options.patience {
            return Err(Seen { end: other, fault: Fault::CloseNotHeard });
        }
        stand.end_frame(FRAME);
    }
    let fault = match heard {
        _ if !ledgers.iter().all(Ledger::is_complete) => after_end(&ledgers),
        Some((heard, _)) if heard != said => Fault::OtherReason { said, heard },
        _ => return check_gone(stand, other),
    };
    Err(Seen { end: other, fault })
}

/// Returns the fault for batches that did not come before the end of the connection.
fn after_end(ledgers: &[Ledger]) -> Fault {
    let arrived = ledgers.iter().map(|ledger| ledger.figures().arrived).sum();
    let sent = ledgers.iter().map(|ledger| ledger.figures().sent).sum();
    Fault::AfterEnd { arrived, sent }
}

/// Sends batches, and waits until they have arrived at an end that does not poll.
fn send_batches<A: Transport, B: Transport>(
    stand: &mut Stand<A, B>,
    ledgers: &mut [Ledger; 3],
    end: End,
) -> Result<(), Seen> {
    let (mut progress, mut settled) = ((usize::MAX, stand.now()), stand.now());
    while stand.now() - settled < SETTLING {
        // A batch in flight may not count as backlog.
        if ledgers.iter().any(|ledger| ledger.next() < BATCHES) || stand.path(end)?.backlog > 0 {
            settled = stand.now();
        }
        stand.begin_frame();
        stand.poll_batches(end, nothing)?;
        for (ledger, delivery) in ledgers.iter_mut().zip(reliable()) {
            while ledger.next() < BATCHES && send(stand, ledger, end, delivery, 100)? {}
        }
        stand.end_frame(FRAME);
        let backlog = stand.path(end)?.backlog;
        if backlog != progress.0 {
            progress = (backlog, stand.now());
        }
        if stand.now() - progress.1 > stand.options.patience {
            return Err(Seen { end, fault: Fault::Stuck(stand.options.patience) });
        }
    }
    Ok(())
}

/// Checks that the connection no longer exists at this end.
fn check_gone<A: Transport, B: Transport>(stand: &mut Stand<A, B>, end: End) -> Result<(), Seen> {
    let connection = stand.connection(end);
    let said = stand.send(end, Delivery::Reliable, 0, 12);
    let fault = if said != Err(NotSentError::NotConnected(connection)) {
        Fault::NotRefused { expected: "not connected", said }
    } else if stand.transport(end).path(connection).is_some() {
        Fault::Path("there is one of a connection that has ended")
    } else {
        return Ok(());
    };
    Err(Seen { end, fault })
}
