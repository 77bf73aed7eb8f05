//! The header of a packet: its sequence number, level and tick, and which packets are its baseline.
//!
//! The *baseline packet* is the newest acked packet. The states in all acked packets are the
//! baseline of the next packet. Both sides have to mean the same packets, although either may not
//! yet have the last packets of the other. Therefore each packet names its baseline packet, and
//! says which packets before that one are acked, as far back as the header of the baseline packet
//! did not settle it. Older packets are settled: a packet that is more than `MAX_LATE` packets
//! before the baseline packet when its ack comes counts as lost for good.

use super::PacketLevel;
use super::trace::{Mark, Marked};
use tightwire_core::stream::{ErrorKind, Stream};

/// Largest number of packets in flight: when so many follow the baseline packet, the sender
/// resyncs.
pub(super) const MAX_IN_FLIGHT: u32 = 96;

/// Number of packets before the baseline packet whose acks still count. It is the number of packets
/// that an ack covers, so that one ack that arrives covers all of them.
pub(super) const MAX_LATE: u32 = 32;

/// Number of packets that a header distinguishes: those up to [`MAX_LATE`] before the baseline of
/// the baseline packet, those from there to the baseline packet, and those in flight.
pub(super) const PACKET_WINDOW: usize = (2 * MAX_IN_FLIGHT + MAX_LATE).next_power_of_two() as usize;

/// Bits of the sequence number in the header.
const NUMBER_BITS: u32 = 12;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    /// Sequence number, counted per receiver.
    pub(super) number: u32,
    pub(super) tick: u32,
    /// Every object that is not updated is in its baseline state.
    pub(super) is_complete: bool,
    /// Level of the body.
    pub(super) level: PacketLevel,
    /// Epoch of the sender; only a keyframe contains it.
    pub(super) epoch: u32,
    /// Sequence number of the first packet since the sender's last resync.
    pub(super) start: u32,
    /// The baseline packet: the newest acked one. `None` in a keyframe.
    pub(super) baseline: Option<u32>,
    pub(super) acked: AckedPackets,
}

/// Set of acked packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct AckedPackets {
    /// The first packet that is not settled.
    pub(super) first: u32,
    bits: [u64; PACKET_WINDOW / 64],
}

/// Header of an earlier packet, as far as the headers of later ones refer to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderSummary {
    pub(super) tick: u32,
    pub(super) is_complete: bool,
    /// Sequence number of the first packet since the sender's last resync.
    pub(super) start: u32,
    pub(super) baseline: Option<u32>,
}

impl Header {
    /// Writes or reads the header. `newest` is the sequence number of the newest packet that the
    /// receiver has, or a later one; `summary` returns that of a packet that the receiver has.
    pub(super) fn serialize<S: Stream + Marked>(
        &mut self,
        stream: &mut S,
        newest: u32,
        summary: impl Fn(u32) -> Option<HeaderSummary>,
    ) -> Result<(), S::Error> {
        stream.mark(Mark::Number);
        let mut low = u64::from(self.number) & NUMBER_MASK;
        stream.bits(&mut low, NUMBER_BITS)?;
        if S::READING {
            self.number = nearest(newest, low as u32);
        }
        stream.bool(&mut self.is_complete)?;
        let mut is_modeled = self.level == PacketLevel::Modeled;
        stream.bool(&mut is_modeled)?;
        self.level = if is_modeled { PacketLevel::Modeled } else { PacketLevel::Packed };
        stream.mark(Mark::Baseline);
        let mut behind = self.baseline.map_or(0, |baseline| self.number.wrapping_sub(baseline));
        stream.int(&mut behind, 0..=MAX_IN_FLIGHT)?;
        if behind == 0 {
            return self.serialize_start(stream);
        }
        let baseline = self.number.wrapping_sub(behind);
        self.baseline = Some(baseline);
        let Some(baseline_summary) = summary(baseline) else { return refuse(stream) };
        self.start = baseline_summary.start;
        let before =
            baseline_summary.baseline.and_then(|number| Some((number, summary(number)?.tick)));
        let regular = expected_age(behind, (baseline, baseline_summary.tick), before);
        stream.mark(Mark::Tick);
        self.serialize_tick(stream, baseline_summary.tick, regular)?;
        self.acked.first = first_unsettled(baseline_summary);
        stream.mark(Mark::Acked);
        self.serialize_acked(stream, baseline)
    }

    fn serialize_start<S: Stream + Marked>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.mark(Mark::Number);
        // After an outage the lowest bits are ambiguous.
        let mut number = u64::from(self.number);
        stream.bits(&mut number, u32::BITS)?;
        if S::READING {
            self.number = number as u32;
        }
        let mut since = self.number.wrapping_sub(self.start);
        stream.int(&mut since, 0..=MAX_IN_FLIGHT)?;
        let mut epoch = u64::from(self.epoch);
        stream.bits(&mut epoch, u32::BITS)?;
        stream.mark(Mark::Tick);
        let mut tick = u64::from(self.tick);
        stream.bits(&mut tick, u32::BITS)?;
        if S::READING {
            // The next sequence number must exist.
            if self.number == u32::MAX {
                return refuse(stream);
            }
            let Some(start) = self.number.checked_sub(since) else { return refuse(stream) };
            let (tick, epoch) = (tick as u32, epoch as u32);
            *self = Self { tick, epoch, start, baseline: None, ..self.clone() };
            self.acked = AckedPackets { first: start, ..AckedPackets::default() };
        }
        Ok(())
    }

    fn serialize_tick<S: Stream>(
        &mut self,
        stream: &mut S,
        baseline_tick: u32,
        regular: u32,
    ) -> Result<(), S::Error> {
        let mut age = self.tick.wrapping_sub(baseline_tick);
        let mut is_regular = age == regular;
        stream.bool(&mut is_regular)?;
        match is_regular {
            true => age = regular,
            false => stream.varint(&mut age)?,
        }
        match baseline_tick.checked_add(age) {
            Some(tick) if age > 0 => self.tick = tick,
            _ => return refuse(stream),
        }
        Ok(())
    }

    fn serialize_acked<S: Stream>(
        &mut self,
        stream: &mut S,
        baseline: u32,
    ) -> Result<(), S::Error> {
        let first = self.acked.first;
        let mut are_all_acked = (first..baseline).all(|packet| self.acked.contains(packet));
        stream.bool(&mut are_all_acked)?;
        for packet in first..baseline {
            let mut is_acked = are_all_acked || self.acked.contains(packet);
            if !are_all_acked {
                stream.bool(&mut is_acked)?;
            }
            self.acked.set(packet, is_acked);
        }
        self.acked.set(baseline, true);
        Ok(())
    }
}

const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

/// Returns the first packet that the baseline packet does not settle: it may still become known
/// after the baseline packet.
pub(super) fn first_unsettled(baseline: HeaderSummary) -> u32 {
    baseline.baseline.map_or(baseline.start, |baseline_of_baseline| {
        baseline_of_baseline.saturating_sub(MAX_LATE).max(baseline.start)
    })
}

/// Predicts the number of ticks from the baseline packet to a packet by the pace from the baseline
/// packet of that to the baseline packet: most senders send one packet a tick, or every few ticks.
fn expected_age(behind: u32, baseline: (u32, u32), before: Option<(u32, u32)>) -> u32 {
    let Some((number, tick)) = before else { return behind };
    let (packets, ticks) =
        (baseline.0.saturating_sub(number).max(1), baseline.1.saturating_sub(tick));
    (u64::from(behind) * u64::from(ticks) / u64::from(packets)).min(u64::from(u32::MAX)) as u32
}

/// Returns the number with these lowest bits that is nearest to `newest`.
fn nearest(newest: u32, low: u32) -> u32 {
    let half = 1 << (NUMBER_BITS - 1);
    let ahead = low.wrapping_sub(newest).wrapping_add(half) & NUMBER_MASK as u32;
    newest.saturating_add(ahead).checked_sub(half).unwrap_or(low)
}

fn refuse<S: Stream>(stream: &mut S) -> Result<(), S::Error> {
    let bit = stream.position();
    stream.refuse_at(ErrorKind::OutOfRange, bit)
}

impl AckedPackets {
    pub(super) fn contains(&self, packet: u32) -> bool {
        let (word, bit) = place(packet);
        self.bits[word] >> bit & 1 == 1
    }

    pub(super) fn set(&mut self, packet: u32, is_acked: bool) {
        let (word, bit) = place(packet);
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(is_acked) << bit;
    }
}

fn place(packet: u32) -> (usize, u32) {
    let place = packet as usize % PACKET_WINDOW;
    (place / 64, (place % 64) as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tightwire_core::stream::{ReadStream, WriteStream};

    fn summary(baseline: Option<u32>) -> impl Fn(u32) -> Option<HeaderSummary> {
        move |packet| {
            Some(HeaderSummary { tick: packet * 2, is_complete: true, start: 3, baseline })
        }
    }

    fn round_trip(
        header: &Header,
        newest: u32,
        baseline_of_baseline: Option<u32>,
    ) -> (Header, usize) {
        let mut buffer = [0; 64];
        let mut writer = WriteStream::new(&mut buffer);
        let Ok(()) = header.clone().serialize(&mut writer, newest, summary(baseline_of_baseline));
        let bytes = writer.finish().unwrap();
        let mut read = Header::default();
        read.serialize(&mut ReadStream::new(bytes), newest, summary(baseline_of_baseline)).unwrap();
        (read, bytes.len())
    }

    #[test]
    fn a_header_round_trips_with_its_acked_packets() {
        let mut acked = AckedPackets { first: 100 - MAX_LATE, ..AckedPackets::default() };
        (acked.first..=106)
            .filter(|packet| packet % 3 != 0)
            .for_each(|packet| acked.set(packet, true));
        let header = Header {
            number: 112,
            tick: 999,
            is_complete: true,
            level: PacketLevel::Modeled,
            epoch: 0,
            start: 3,
            baseline: Some(106),
            acked,
        };
        assert_eq!(round_trip(&header, 111, Some(100)), (header.clone(), 10));
    }

    #[test]
    fn a_header_without_loss_takes_three_bytes() {
        let mut acked = AckedPackets { first: 100 - MAX_LATE, ..AckedPackets::default() };
        (acked.first..=106).for_each(|packet| acked.set(packet, true));
        let header = Header {
            number: 112,
            tick: 224,
            is_complete: true,
            level: PacketLevel::Modeled,
            epoch: 0,
            start: 3,
            baseline: Some(106),
            acked,
        };
        assert_eq!(round_trip(&header, 111, Some(100)), (header, 3));
    }

    #[test]
    fn a_keyframe_has_no_baseline() {
        let acked = AckedPackets { first: 5, ..AckedPackets::default() };
        let header = Header {
            number: 7,
            tick: 99,
            is_complete: false,
            level: PacketLevel::Packed,
            epoch: 0xface_0ff0,
            start: 5,
            baseline: None,
            acked,
        };
        assert_eq!(round_trip(&header, 5, None).0, header);
    }

    #[test]
    fn the_bytes_of_headers_are_as_documented() {
        let mut acked = AckedPackets { first: 100 - MAX_LATE, ..AckedPackets::default() };
        (acked.first..=106).for_each(|packet| acked.set(packet, true));
        let bytes = |is_complete, level| {
            let (mut buffer, acked) = ([0; 64], acked.clone());
            let (number, tick, baseline) = (112, 224, Some(106));
            let mut header =
                Header { number, tick, is_complete, level, epoch: 0, start: 3, baseline, acked };
            let mut writer = WriteStream::new(&mut buffer);
            let Ok(()) = header.serialize(&mut writer, 111, summary(Some(100)));
            <[u8; 3]>::try_from(writer.finish().unwrap()).unwrap()
        };
        // 12 bits of the number, complete, level, 7 bits of the distance to the baseline packet,
        // the regular tick, and that all are acked.
        assert_eq!(bytes(false, PacketLevel::Packed), [0x70, 0x80, 0x61]);
        assert_eq!(bytes(true, PacketLevel::Packed), [0x70, 0x90, 0x61]);
        assert_eq!(bytes(false, PacketLevel::Modeled), [0x70, 0xa0, 0x61]);
        assert_eq!(bytes(true, PacketLevel::Modeled), [0x70, 0xb0, 0x61]);
    }

    #[test]
    fn the_last_sequence_number_is_refused() {
        let read = |number| {
            let (mut buffer, acked) =
                ([0; 64], AckedPackets { first: number, ..AckedPackets::default() });
            let mut header = Header { number, tick: 99, start: number, acked, ..Header::default() };
            let mut writer = WriteStream::new(&mut buffer);
            let Ok(()) = header.serialize(&mut writer, 0, summary(None));
            let mut stream = ReadStream::new(writer.finish().unwrap());
            Header::default().serialize(&mut stream, 0, summary(None)).map_err(|error| error.kind)
        };
        assert_eq!(read(u32::MAX), Err(ErrorKind::OutOfRange));
        assert_eq!(read(u32::MAX - 1), Ok(()));
    }

    #[test]
    fn sequence_numbers_are_restored_from_their_low_bits() {
        for newest in [0u32, 5, 2047, 2048, 4095, 4096, 1_000_000] {
            for number in newest.saturating_sub(2000)..newest + 2000 {
                assert_eq!(nearest(newest, number & NUMBER_MASK as u32), number, "{newest}");
            }
        }
    }
}
