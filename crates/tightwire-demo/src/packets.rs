//! A second decoder of a client's snapshots, besides the play layer: it counts the bits of fields,
//! and compares the states with the server's.

use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use tightwire::snapshot::{ReceiveError, Receiver, Trace};
use tightwire::{message, snapshot};

use super::compare::disagreements;
use super::packet::{FieldOps, PLAY_HEADER, add_fields};
use super::shared::{Shared, lock};
use super::tally::Tally;
use super::tap::Tapped;

/// Reads the frames that a [`Tap`](super::tap::Tap) hands out.
#[derive(Debug)]
pub(super) struct PacketReader {
    protocol: snapshot::Protocol,
    tapped: mpsc::Receiver<Tapped>,
    receiver: Receiver,
    /// Bits of the newest snapshot by field.
    trace: Trace,
    ops: FieldOps,
    /// Title of the packets in x-rays.
    title: String,
    last_xray: Duration,
}

impl PacketReader {
    pub(super) fn new(
        protocol: &snapshot::Protocol,
        tapped: mpsc::Receiver<Tapped>,
        title: String,
    ) -> Self {
        Self {
            protocol: protocol.clone(),
            tapped,
            receiver: Receiver::new(protocol),
            trace: Trace::new(),
            ops: FieldOps::new(),
            title,
            last_xray: Duration::ZERO,
        }
    }

    /// Begins with an empty world, as a new connection does.
    pub(super) fn start_over(&mut self) {
        self.receiver = Receiver::new(&self.protocol);
    }

    /// Returns the tick of the newest snapshot.
    pub(super) fn newest(&self) -> Option<f64> {
        self.receiver.newest().map(|newest| newest.tick.into())
    }

    /// Reads the frames since the last call. Those that are traced are counted by field.
    pub(super) fn read(
        &mut self,
        now: Duration,
        shared: &Shared,
        tally: &Mutex<Tally>,
        is_traced: bool,
    ) {
        while let Ok(tapped) = self.tapped.try_recv() {
            match tapped {
                Tapped::Inputs(bytes) => {
                    lock(tally).messages.entry("Input").or_default().up += bytes as u64;
                }
                Tapped::Snapshot(frame) => {
                    lock(tally).messages.entry("Snapshot").or_default().down += frame.len() as u64;
                    self.handle_snapshot(now, &frame, shared, tally, is_traced);
                }
            }
        }
    }

    fn handle_snapshot(
        &mut self,
        now: Duration,
        frame: &[u8],
        shared: &Shared,
        tally: &Mutex<Tally>,
        is_traced: bool,
    ) {
        let Some(packet) = frame.get(message::FRAME_PREFIX + PLAY_HEADER..) else {
            return lock(tally).refuse("a frame without a header");
        };
        let received = match is_traced {
            true => self.receiver.handle_snapshot_traced(packet, &mut self.trace),
            false => self.receiver.handle_snapshot(packet),
        };
        let received = match received {
            Ok(received) => received,
            // A newer snapshot overtook this one: no error.
            Err(ReceiveError::Late) => return,
            Err(refused) => return lock(tally).refuse(refused),
        };
        let state = Some(received).filter(|received| received.is_complete);
        let state = state.and_then(|received| shared.server_history.at(received.tick));
        let wrong = state.as_deref().map(|state| disagreements(&mut self.receiver, state));
        let mut tally = lock(tally);
        tally.snapshots += 1;
        tally.snapshot_bytes += packet.len() as u64;
        tally.changed += self.receiver.changes().len() as u64;
        tally.compared += u64::from(wrong.is_some());
        tally.disagreements += wrong.unwrap_or(0);
        if is_traced {
            add_fields(&mut tally.fields, &self.trace);
            drop(tally);
            self.publish_xray(now, frame, shared);
        }
    }

    /// Publishes the x-ray of a snapshot, a few times a second.
    fn publish_xray(&mut self, now: Duration, frame: &[u8], shared: &Shared) {
        if now < self.last_xray + BETWEEN_XRAYS {
            return;
        }
        self.last_xray = now;
        let xray = self.ops.xray(&self.title, now.as_secs_f64(), frame, &self.trace);
        if let Ok(json) = serde_json::to_string(&xray) {
            shared.live.publish_xray(json);
        }
    }
}

/// Time between x-rays: a person could not read them any faster.
const BETWEEN_XRAYS: Duration = Duration::from_millis(300);
