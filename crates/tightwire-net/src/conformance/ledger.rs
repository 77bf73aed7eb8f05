//! Which batches of a delivery were sent one way, and which have come.

use crate::message::Delivery;

use super::batch::{self, Said};
use super::{End, Fault, Figures};

/// The batches of one delivery in one direction.
pub(super) struct Ledger {
    from: End,
    delivery: Delivery,
    figures: Figures,
    /// One bit for each batch that has come.
    seen: Vec<u64>,
    /// The one that was sent last of those that have come.
    latest: Option<u32>,
    /// The smallest ones, by the byte that they have.
    tiny: Vec<Tiny>,
}

/// Batches that are too small to say their number.
#[derive(Clone, Default)]
struct Tiny {
    sent: u32,
    /// Of these, those that have not come.
    left: u32,
}

impl Ledger {
    pub(super) fn new(from: End, delivery: Delivery) -> Self {
        let (seen, tiny) = (Vec::new(), vec![Tiny::default(); 256]);
        Self { from, delivery, figures: Figures::default(), seen, latest: None, tiny }
    }

    pub(super) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The number of the next batch to send.
    pub(super) fn next(&self) -> u32 {
        self.figures.sent as u32
    }

    /// Whether everything has come that was sent.
    pub(super) fn is_complete(&self) -> bool {
        self.figures.arrived == self.figures.sent
    }

    pub(super) fn is_reliable(&self) -> bool {
        self.delivery.is_reliable()
    }

    fn is_in_order(&self) -> bool {
        !matches!(self.delivery, Delivery::Unreliable | Delivery::Reliable)
    }

    /// The next batch was accepted.
    pub(super) fn handle_sent(&mut self, length: usize) {
        let number = self.next();
        if number.is_multiple_of(64) {
            self.seen.push(0);
        }
        if batch::is_tiny(number) {
            let tiny = &mut self.tiny[number as usize % 256];
            tiny.sent += 1;
            tiny.left += 1;
        }
        self.figures.sent += 1;
        self.figures.bytes += length as u64;
    }

    /// A batch came.
    pub(super) fn handle_batch(&mut self, batch: &[u8]) -> Result<(), Fault> {
        let delivery = self.delivery;
        let changed = Fault::Changed { delivery, size: batch.len() };
        match batch::read(batch, self.from, delivery) {
            None => Err(changed),
            Some(Said::Tiny(byte)) if self.is_reliable() && self.is_in_order() => {
                // It can only be the next of its kind; what is left out before it may still come.
                let first = self.latest.map_or(0, |latest| latest + 1);
                let next = (first..self.next()).find(|&number| batch::is_tiny(number));
                let Some(number) = next.filter(|&number| number as u8 == byte) else {
                    let after = self.latest.unwrap_or(0);
                    return Err(Fault::Order { delivery, number: byte.into(), after });
                };
                self.handle_number(number)
            }
            Some(Said::Tiny(byte)) if self.is_in_order() => {
                // It can only be behind the latest; how many are left out is not known.
                let first = self.latest.map_or(0, |latest| latest + 1);
                let is_it = |number: &u32| batch::is_tiny(*number) && *number as u8 == byte;
                let Some(number) = (first..self.next()).find(is_it) else {
                    let after = self.latest.unwrap_or(0);
                    return Err(Fault::Order { delivery, number: byte.into(), after });
                };
                self.handle_number(number)
            }
            Some(Said::Tiny(byte)) => self.handle_tiny(byte, changed),
            Some(Said::Number(number)) if number >= self.next() => Err(changed),
            Some(Said::Number(number)) => self.handle_number(number),
        }
    }

    fn handle_number(&mut self, number: u32) -> Result<(), Fault> {
        let delivery = self.delivery;
        if let Some(after) = self.latest.filter(|&latest| number < latest)
            && delivery == Delivery::UnreliableSequenced
        {
            return Err(Fault::Order { delivery, number, after });
        }
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.seen[word] & bit != 0 {
            if delivery != Delivery::Unreliable {
                return Err(Fault::Twice { delivery, number });
            }
            self.figures.doubled += 1;
            return Ok(());
        }
        self.seen[word] |= bit;
        self.figures.arrived += 1;
        match self.latest {
            Some(after) if number < after => {
                if self.is_in_order() {
                    return Err(Fault::Order { delivery, number, after });
                }
                self.figures.overtaken += 1;
            }
            _ => self.latest = Some(number),
        }
        Ok(())
    }

    /// One that does not say its number: only how many there are is known.
    fn handle_tiny(&mut self, byte: u8, changed: Fault) -> Result<(), Fault> {
        let delivery = self.delivery;
        let Tiny { sent, left } = &mut self.tiny[usize::from(byte)];
        match *left {
            0 if *sent == 0 => Err(changed),
            0 if delivery != Delivery::Unreliable => {
                Err(Fault::Twice { delivery, number: byte.into() })
            }
            0 => {
                self.figures.doubled += 1;
                Ok(())
            }
            _ => {
                *left -= 1;
                self.figures.arrived += 1;
                Ok(())
            }
        }
    }

    /// What to say if nothing more comes.
    pub(super) fn check_complete(&self) -> Result<(), Fault> {
        if self.is_complete() {
            return Ok(());
        }
        let Figures { sent, arrived, .. } = self.figures;
        let has_come = |number: u32| self.seen[number as usize / 64] >> (number % 64) & 1 == 1;
        let is_named = self.is_in_order();
        let is_missing =
            |number: &u32| (is_named || !batch::is_tiny(*number)) && !has_come(*number);
        let first = (0..self.next()).find(is_missing);
        Err(Fault::Lost { delivery: self.delivery, arrived, sent, first })
    }
}
