//! Advice on the lengths of text, bytes and lists.

use tightwire::stream::{Op, Shape};

use super::super::words;
use super::{Linter, Saving, numbers};

/// Size of a datagram that any network carries, in bytes.
const DATAGRAM: u64 = 1200;

impl Linter<'_> {
    pub(super) fn length_of(&mut self, op: &Op) {
        let (max_len, unit_bits, unit) = match *op {
            Op::Blob { max_len } | Op::String { max_len } => (max_len as u64, 8, "bytes"),
            Op::WideString { max_len } => (max_len as u64, 16, "units"),
            _ => return,
        };
        self.length(max_len, unit_bits, unit);
    }

    pub(super) fn length_of_list(&mut self, max_len: u64, element: &Shape) {
        self.length(max_len, words::bits(element).0, "elements");
    }

    /// Advises on a length of up to `max_len` units of at least `unit_bits` bits each.
    fn length(&mut self, max_len: u64, unit_bits: u64, unit: &str) {
        let bits = words::width(max_len);
        if max_len.saturating_mul(unit_bits) > DATAGRAM * 8 {
            let fits = DATAGRAM * 8 / unit_bits.max(1);
            let fewer = words::width(fits);
            let what = format!(
                "up to {max_len} {unit} are more than fit into a datagram of {DATAGRAM} bytes: unless it \
                 travels in fragments, `max_len = {fits}` is as much as that, and its length takes \
                 {fewer} bits instead of {bits}"
            );
            // It may be meant for a message that travels in fragments.
            return self.advise("huge-length", what, Saving::UpTo(bits - fewer));
        }
        if let Some(fewer) = numbers::one_bit_fewer(max_len.into()) {
            let what = format!(
                "a length of up to {max_len} takes {bits} bits where `max_len = {fewer}` takes {}",
                bits - 1
            );
            self.advise("wasted-bit", what, Saving::Always(1));
        }
    }
}

/// Returns whether the operation can only carry an empty value.
pub(super) fn is_empty(op: &Op) -> bool {
    matches!(
        op,
        Op::Blob { max_len: 0 }
            | Op::String { max_len: 0 }
            | Op::WideString { max_len: 0 }
            | Op::Bytes { len: 0 }
            | Op::Pod { size: 0 }
    )
}
