//! Optional parts that are guarded by bits of a mask.

use super::super::condition::Test;
use super::{cells, layout, present};
use tightwire_core::Wire;

#[derive(Wire, Default, Clone)]
struct Parts {
    mask: u32,
    #[wire(when = self.mask & 1 != 0)]
    first: u8,
    #[wire(when = self.mask & 0x8000_0000 != 0)]
    last: u8,
    #[wire(when = self.mask & 6 == 0)]
    neither: u8,
    #[wire(when = self.mask & 4 == 4)]
    third: u8,
    #[wire(when = self.mask & 4 != 4)]
    not_third: u8,
    #[wire(when = self.mask & 6 == 6)]
    both: u8,
    #[wire(when = 0 != self.mask & 6 && self.mask & 1 != 0)]
    either: u8,
}

#[test]
fn guards_of_bits_are_tests_of_bits() {
    let layout = layout::<Parts>();
    let is_of_bits = |test: &Test| match test {
        Test::Not(test) => matches!(**test, Test::Bits { column: 0, .. }),
        test => matches!(test, Test::Bits { column: 0, .. }),
    };
    let of_bits = layout.guards.iter().filter(|guard| is_of_bits(&guard.test)).count();
    assert_eq!(of_bits, 5, "all but the one of two bits, and the one with another condition");
}

#[test]
fn parts_are_there_if_their_bits_are() {
    let layout = layout::<Parts>();
    for mask in [0, 1, 2, 4, 6, 7, 0x8000_0000, 0xffff_ffff] {
        let mut parts = Parts { mask, first: 5, ..Parts::default() };
        let cells = cells(&layout, &mut parts);
        let expected = [
            true,
            mask & 1 != 0,
            mask & 0x8000_0000 != 0,
            mask & 6 == 0,
            mask & 4 == 4,
            mask & 4 != 4,
            mask & 6 == 6,
            mask & 6 != 0 && mask & 1 != 0,
        ];
        assert_eq!(present(&layout, &cells), expected, "{mask:x}");
    }
}
