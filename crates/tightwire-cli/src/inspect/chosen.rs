//! Packets whose x-rays are on a page: the first, the largest and the refused ones.

use std::collections::BTreeMap;

use super::reading::CurrentDatagram;
use super::survey::{Mark, PacketLine};
use tightwire::inspect::Xray;

/// Maximum bytes of packets whose x-rays are kept: a span takes many times the memory of its bits.
const MAX_BYTES: usize = 1 << 20;

/// A packet with its x-ray.
#[derive(serde::Serialize, Debug)]
pub(crate) struct ChosenPacket {
    #[serde(flatten)]
    pub(crate) line: PacketLine,
    pub(crate) xray: Xray,
}

/// Packets chosen so far, up to `most`.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    most: usize,
    bytes: usize,
    first: Vec<ChosenPacket>,
    refused: Vec<ChosenPacket>,
    /// Largest packets, by length; of equal length, the earlier ones count as larger.
    largest: BTreeMap<(usize, core::cmp::Reverse<u64>), ChosenPacket>,
}

impl Chosen {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(crate) fn add(&mut self, seen: &CurrentDatagram<'_>) {
        let third = self.most.div_ceil(3);
        let length = seen.datagram.len();
        if third == 0 || self.bytes + length > MAX_BYTES {
            return;
        }
        if self.first.len() < third {
            self.first.push(ChosenPacket::of(seen));
        } else if seen.refused.is_some() {
            if self.refused.len() == third {
                return;
            }
            self.refused.push(ChosenPacket::of(seen));
        } else {
            let key = (length, core::cmp::Reverse(seen.number));
            if self.largest.len() == third {
                match self.largest.first_key_value() {
                    Some((smallest, _)) if *smallest < key => {
                        self.bytes -= smallest.0;
                        self.largest.pop_first();
                    }
                    _ => return,
                }
            }
            self.largest.insert(key, ChosenPacket::of(seen));
        }
        self.bytes += length;
    }

    /// Returns the packets in the order of the capture.
    pub(crate) fn packets(&self) -> Vec<&ChosenPacket> {
        let all = self.first.iter().chain(&self.refused).chain(self.largest.values());
        let mut packets: Vec<_> = all.collect();
        packets.sort_by_key(|chosen| chosen.line.packet);
        packets
    }
}

impl ChosenPacket {
    fn of(seen: &CurrentDatagram<'_>) -> Self {
        let mut line = Mark::of(seen).line(seen.tally, seen.identity_of_capture);
        let xray = seen.xray();
        if xray.refused.is_some() {
            line.refused.clone_from(&xray.refused);
        }
        Self { line, xray }
    }
}
