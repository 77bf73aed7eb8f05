//! Decoding of packets. Refuses a packet of another sender, and a damaged one.

use core::cell::Cell;

use super::{Received, Receiver};
use crate::ReceiveError;
use crate::baseline::ReceiverBaseline;
use crate::body;
use crate::check::Checksum;
use crate::header::Header;
use crate::trace::{SpanRecord, Trace};
use crate::update::UpdateKind;
use tightwire_core::stream::{ErrorKind, ReadError, ReadStream};

impl Receiver {
    /// Decodes a packet, and applies it to the world.
    pub(super) fn handle(
        &mut self,
        packet: &[u8],
        mut trace: Option<&mut Trace>,
    ) -> Result<Received, ReceiveError> {
        let mut header = Header::default();
        let mut stream = ReadStream::new(packet);
        let newest = self.world.next.saturating_sub(1);
        let has_baseline = Cell::new(true);
        let summary = |number| {
            let summary = self.world.packet(number).and_then(|packet| packet.summary);
            has_baseline.set(summary.is_some());
            summary
        };
        let read = match &mut trace {
            None => header.serialize(&mut stream, newest, summary),
            Some(trace) => trace.read_header(&mut header, &mut stream, newest, summary),
        };
        if let Err(error) = read {
            let is_late = header.number < self.world.next;
            return Err(match has_baseline.get() {
                _ if is_late && stream.position() > 12 => ReceiveError::Late,
                true => ReceiveError::Malformed(error),
                false => ReceiveError::UnknownBaseline,
            });
        }
        self.check_sender(&header)?;
        if header.number < self.world.next || header.start < self.world.start {
            return Err(ReceiveError::Late);
        }
        let at = (stream.position() as usize).div_ceil(8);
        check_padding(packet, stream.position())?;
        let record = trace.as_mut().map(|trace| (&mut trace.record, at));
        let read = self.read_body(&header, packet, at, record);
        if let Some(trace) = trace {
            trace.keep(body::sent_check(packet, at), &self.updates);
        }
        let checksum = read?;
        self.changes.clear();
        self.world.apply((&header, checksum), &self.updates, &mut self.model, &mut self.changes);
        Ok(Received { tick: header.tick, is_complete: header.is_complete })
    }

    /// Refuses a keyframe of another sender than that of the packets before.
    fn check_sender(&self, header: &Header) -> Result<(), ReceiveError> {
        let (Some(here), None) = (self.world.epoch, header.baseline) else { return Ok(()) };
        let sent = header.epoch;
        // A sender that got acks keeps its baseline until it resyncs, and then has another `start`.
        let is_other = here != sent
            || header.number >= self.world.next
                && header.start == self.world.start
                && self.world.has_baseline();
        if is_other { Err(ReceiveError::OtherSender { here, sent }) } else { Ok(()) }
    }

    /// Reads the body, which begins at byte `at`; returns the checksum of the packet.
    fn read_body(
        &mut self,
        header: &Header,
        packet: &[u8],
        at: usize,
        trace: Option<(&mut SpanRecord, usize)>,
    ) -> Result<Checksum, ReceiveError> {
        self.updates.clear();
        let baseline = ReceiverBaseline::new(&self.world, header);
        let learned = match baseline.baseline() {
            Some(baseline) => baseline.model.as_ref().ok_or(ReceiveError::UnknownBaseline)?,
            None => &self.pristine,
        };
        self.model.clone_from(learned);
        let body = packet.get(at..).unwrap_or_default();
        let Self { protocol, updates, model, .. } = self;
        let form = (&*protocol, header.level);
        let sent = body::read(form, body, updates, &baseline, model, trace).map_err(
            |ReadError { kind, bit }| {
                ReceiveError::Malformed(ReadError { kind, bit: bit + 8 * at as u64 })
            },
        )?;
        let check = updates.check_of_updates();
        let checksum = check.packet(header, self.world.origin, &self.world.checksums);
        // A packet of the baseline did not arrive: it is of another sender, or was for another
        // receiver.
        let checksum = checksum.ok_or(ReceiveError::UnknownBaseline)?;
        let computed = checksum.short();
        if sent != computed {
            return Err(ReceiveError::Check { at, sent, computed });
        }
        let mut added = 0;
        for update in self.updates.list.iter().filter(|update| update.kind != UpdateKind::Despawn) {
            let class = &self.protocol.classes()[usize::from(update.class)];
            let cells = self.updates.cells_of(update).unwrap_or_default();
            if self.value.len() < class.max_bytes {
                self.value.resize(class.max_bytes, 0);
            }
            if !class.layout.accepts(cells, &mut self.value) {
                return Err(ReceiveError::Object(update.id));
            }
            // An object with a baseline is there.
            let is_new = update.kind == UpdateKind::Full && !self.world.has(update.id);
            added += usize::from(is_new);
        }
        // Despawned objects keep their slots until the despawn is acked, while new objects have
        // theirs already.
        match self.world.len() + added > 2 * self.protocol.config().max_objects {
            true => Err(ReceiveError::TooManyObjects),
            false => Ok(checksum),
        }
    }
}

/// Refuses a header that is not padded with zeros to a whole byte.
fn check_padding(packet: &[u8], bit: u64) -> Result<(), ReceiveError> {
    let last = packet.get(bit as usize / 8).filter(|_| !bit.is_multiple_of(8));
    match last {
        Some(last) if last >> (bit % 8) != 0 => {
            Err(ReceiveError::Malformed(ReadError { kind: ErrorKind::Padding, bit }))
        }
        _ => Ok(()),
    }
}
