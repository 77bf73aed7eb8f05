//! How a connection ends.

use core::time::Duration;

use crate::message::Delivery;

use super::ledger::Ledger;
use super::limits::{nothing, reliable, send};
use super::stand::{Happened, Stand};
use super::{End, Fault, Report, Seen};
use crate::reason::Reason;
use crate::transport::{NotSentError, Transport};

/// How many batches of each reliable delivery come before the end.
const BATCHES: u32 = 50;

/// The longest frame.
const FRAME: Duration = Duration::from_millis(20);

/// What was sent has arrived by then, also if it was lost a few times.
const SETTLING: Duration = Duration::from_secs(5);

/// How long the other end looks away while the connection ends, and how long it is watched then.
const WATCHED: Duration = Duration::from_secs(1);

/// The reason arrives once, behind what had arrived; the end that closed hears nothing.
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

/// The connection ended before everything was handed out.
fn after_end(ledgers: &[Ledger]) -> Fault {
    let arrived = ledgers.iter().map(|ledger| ledger.figures().arrived).sum();
    let sent = ledgers.iter().map(|ledger| ledger.figures().sent).sum();
    Fault::AfterEnd { arrived, sent }
}

/// Sends batches, and waits until they have arrived at an end that does not look.
fn send_batches<A: Transport, B: Transport>(
    stand: &mut Stand<A, B>,
    ledgers: &mut [Ledger; 3],
    end: End,
) -> Result<(), Seen> {
    let (mut progress, mut settled) = ((usize::MAX, stand.now()), stand.now());
    while stand.now() - settled < SETTLING {
        // What is on its way may not be counted.
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

/// There is no connection any more.
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
