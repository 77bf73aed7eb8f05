//! The header of a packet: its sequence number and tick, and which packets are its baseline.
//!
//! Acked packets are called *known* in this file, and the newest of them is the *base*, the
//! baseline packet. The states in known packets are the baseline of the next packet. Both sides
//! have to mean the same packets, although either may not yet have the last packets of the other.
//! Therefore each packet names its base, and says which packets before the base are known, as far
//! back as the base itself did not settle that. Older packets are settled: a packet that is more
//! than `LATE` packets before the base when its ack comes counts as lost for good.

use super::trace::{Mark, Marked};
use tightwire_core::stream::{ErrorKind, Stream};

/// Largest number of packets in flight: when so many follow the base, the sender resyncs.
pub(super) const IN_FLIGHT: u32 = 96;

/// Number of packets before the base whose acks still count. It is the number of packets that an
/// ack covers, so that one ack that arrives covers all of them.
pub(super) const LATE: u32 = 32;

/// Number of packets that are told apart: those before the base of the base that are not settled,
/// then up to the base, then those in flight.
pub(super) const SPAN: usize = (2 * IN_FLIGHT + LATE).next_power_of_two() as usize;

/// Bits of the sequence number in the header.
const NUMBER_BITS: u32 = 12;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Header {
    /// Sequence number, counted per receiver.
    pub(super) number: u32,
    pub(super) tick: u32,
    /// Every object that is not mentioned is in its baseline state.
    pub(super) is_complete: bool,
    /// Epoch of the sender; only a packet without a base has it.
    pub(super) epoch: u32,
    /// Sequence number of the first packet since the sender's last resync.
    pub(super) start: u32,
    /// The baseline packet: the newest acked one. `None` in a keyframe.
    pub(super) base: Option<u32>,
    pub(super) known: Known,
}

/// Set of acked packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Known {
    /// The first packet that is not settled.
    pub(super) first: u32,
    bits: [u64; SPAN / 64],
}

/// Header of an earlier packet, as far as the headers of later ones refer to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) tick: u32,
    pub(super) is_complete: bool,
    /// Sequence number of the first packet since the sender's last resync.
    pub(super) start: u32,
    pub(super) base: Option<u32>,
}

impl Header {
    /// Writes or reads the header. `newest` is the sequence number of the newest packet that the
    /// receiver has, or a later one; `told` returns the header of a packet that the receiver has.
    pub(super) fn serialize<S: Stream + Marked>(
        &mut self,
        stream: &mut S,
        newest: u32,
        told: impl Fn(u32) -> Option<Told>,
    ) -> Result<(), S::Error> {
        stream.mark(Mark::Number);
        let mut low = u64::from(self.number) & NUMBER_MASK;
        stream.bits(&mut low, NUMBER_BITS)?;
        if S::READING {
            self.number = nearest(newest, low as u32);
        }
        stream.bool(&mut self.is_complete)?;
        // Reserved for a later version.
        let (mut is_other, bit) = (false, stream.position());
        stream.bool(&mut is_other)?;
        if is_other {
            return stream.refuse_at(ErrorKind::OutOfRange, bit);
        }
        stream.mark(Mark::Base);
        let mut behind = self.base.map_or(0, |base| self.number.wrapping_sub(base));
        stream.int(&mut behind, 0..=IN_FLIGHT)?;
        if behind == 0 {
            return self.serialize_start(stream);
        }
        let base = self.number.wrapping_sub(behind);
        self.base = Some(base);
        let Some(base_told) = told(base) else { return refuse(stream) };
        self.start = base_told.start;
        let before = base_told.base.and_then(|number| Some((number, told(number)?.tick)));
        let regular = regular_age(behind, (base, base_told.tick), before);
        stream.mark(Mark::Tick);
        self.serialize_tick(stream, base_told.tick, regular)?;
        self.known.first = first_untold(base_told);
        stream.mark(Mark::Known);
        self.serialize_known(stream, base)
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
        stream.int(&mut since, 0..=IN_FLIGHT)?;
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
            *self = Self { tick, epoch, start, base: None, ..self.clone() };
            self.known = Known { first: start, ..Known::default() };
        }
        Ok(())
    }

    fn serialize_tick<S: Stream>(
        &mut self,
        stream: &mut S,
        base_tick: u32,
        regular: u32,
    ) -> Result<(), S::Error> {
        let mut age = self.tick.wrapping_sub(base_tick);
        let mut is_regular = age == regular;
        stream.bool(&mut is_regular)?;
        match is_regular {
            true => age = regular,
            false => stream.varint(&mut age)?,
        }
        match base_tick.checked_add(age) {
            Some(tick) if age > 0 => self.tick = tick,
            _ => return refuse(stream),
        }
        Ok(())
    }

    fn serialize_known<S: Stream>(&mut self, stream: &mut S, base: u32) -> Result<(), S::Error> {
        let first = self.known.first;
        let mut are_all_known = (first..base).all(|packet| self.known.contains(packet));
        stream.bool(&mut are_all_known)?;
        for packet in first..base {
            let mut is_known = are_all_known || self.known.contains(packet);
            if !are_all_known {
                stream.bool(&mut is_known)?;
            }
            self.known.set(packet, is_known);
        }
        self.known.set(base, true);
        Ok(())
    }
}

const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

/// Returns the first packet that `base` does not settle: it may still become known after `base`.
pub(super) fn first_untold(base: Told) -> u32 {
    base.base.map_or(base.start, |base_of_base| base_of_base.saturating_sub(LATE).max(base.start))
}

/// Predicts the number of ticks from the base to a packet by the pace from the base of the base to
/// the base: most senders send one packet a tick, or every few ticks.
fn regular_age(behind: u32, base: (u32, u32), before: Option<(u32, u32)>) -> u32 {
    let Some((number, tick)) = before else { return behind };
    let (packets, ticks) = (base.0.saturating_sub(number).max(1), base.1.saturating_sub(tick));
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

impl Known {
    pub(super) fn contains(&self, packet: u32) -> bool {
        let (word, bit) = place(packet);
        self.bits[word] >> bit & 1 == 1
    }

    pub(super) fn set(&mut self, packet: u32, is_known: bool) {
        let (word, bit) = place(packet);
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(is_known) << bit;
    }
}

fn place(packet: u32) -> (usize, u32) {
    let place = packet as usize % SPAN;
    (place / 64, (place % 64) as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tightwire_core::stream::{ReadStream, WriteStream};

    fn told(base: Option<u32>) -> impl Fn(u32) -> Option<Told> {
        move |packet| Some(Told { tick: packet * 2, is_complete: true, start: 3, base })
    }

    fn round_trip(header: &Header, newest: u32, base_of_base: Option<u32>) -> (Header, usize) {
        let mut buffer = [0; 64];
        let mut writer = WriteStream::new(&mut buffer);
        let Ok(()) = header.clone().serialize(&mut writer, newest, told(base_of_base));
        let bytes = writer.finish().unwrap();
        let mut read = Header::default();
        read.serialize(&mut ReadStream::new(bytes), newest, told(base_of_base)).unwrap();
        (read, bytes.len())
    }

    #[test]
    fn a_header_says_which_packets_are_known() {
        let mut known = Known { first: 100 - LATE, ..Known::default() };
        (known.first..=106)
            .filter(|packet| packet % 3 != 0)
            .for_each(|packet| known.set(packet, true));
        let header = Header {
            number: 112,
            tick: 999,
            is_complete: true,
            epoch: 0,
            start: 3,
            base: Some(106),
            known,
        };
        assert_eq!(round_trip(&header, 111, Some(100)), (header.clone(), 10));
    }

    #[test]
    fn when_nothing_is_lost_three_bytes_suffice() {
        let mut known = Known { first: 100 - LATE, ..Known::default() };
        (known.first..=106).for_each(|packet| known.set(packet, true));
        let header = Header {
            number: 112,
            tick: 224,
            is_complete: true,
            epoch: 0,
            start: 3,
            base: Some(106),
            known,
        };
        assert_eq!(round_trip(&header, 111, Some(100)), (header, 3));
    }

    #[test]
    fn the_start_has_no_base() {
        let known = Known { first: 5, ..Known::default() };
        let header = Header {
            number: 7,
            tick: 99,
            is_complete: false,
            epoch: 0xface_0ff0,
            start: 5,
            base: None,
            known,
        };
        assert_eq!(round_trip(&header, 5, None).0, header);
    }

    #[test]
    fn the_last_of_all_numbers_is_refused() {
        let read = |number| {
            let (mut buffer, known) = ([0; 64], Known { first: number, ..Known::default() });
            let mut header = Header { number, tick: 99, start: number, known, ..Header::default() };
            let mut writer = WriteStream::new(&mut buffer);
            let Ok(()) = header.serialize(&mut writer, 0, told(None));
            let mut stream = ReadStream::new(writer.finish().unwrap());
            Header::default().serialize(&mut stream, 0, told(None)).map_err(|error| error.kind)
        };
        assert_eq!(read(u32::MAX), Err(ErrorKind::OutOfRange));
        assert_eq!(read(u32::MAX - 1), Ok(()));
    }

    #[test]
    fn numbers_are_found_by_their_lowest_bits() {
        for newest in [0u32, 5, 2047, 2048, 4095, 4096, 1_000_000] {
            for number in newest.saturating_sub(2000)..newest + 2000 {
                assert_eq!(nearest(newest, number & NUMBER_MASK as u32), number, "{newest}");
            }
        }
    }
}
