//! Byte writers against a simple model, over random sequences of operations.

use proptest::collection::vec;
use proptest::prelude::*;
use tightwire::bytes::Packing;

use crate::checks::bytes_model::{self, Step};

fn step() -> impl Strategy<Value = Step> {
    let bytes = || vec(any::<u8>(), 0..12);
    let packing = prop_oneof![Just(Packing::Bits), Just(Packing::Bytes)];
    prop_oneof![
        any::<u8>().prop_map(Step::Byte),
        any::<u32>().prop_map(Step::Word),
        any::<u128>().prop_map(Step::Wide),
        bytes().prop_map(Step::Bytes),
        (any::<i64>(), 0..64).prop_map(|(value, shift)| Step::Varint(value >> shift)),
        "\\PC{0,6}".prop_map(Step::Text),
        vec(any::<u16>(), 0..9).prop_map(Step::Slice),
        (0..20usize, bytes(), any::<u16>()).prop_map(|(reserved, bytes, number)| Step::Block {
            reserved,
            bytes,
            number
        }),
        any::<u32>().prop_map(Step::Bits),
        (any::<(bool, Option<u16>)>(), packing)
            .prop_map(|(value, packing)| Step::Wire { value, packing }),
        (0..6usize).prop_map(Step::SetAside),
        (any::<usize>(), any::<u8>(), prop::bool::weighted(0.1)).prop_map(
            |(space, value, is_wrong_length)| Step::Fill { space, value, is_wrong_length }
        ),
        any::<usize>().prop_map(Step::Seek),
        any::<usize>().prop_map(Step::Truncate),
        Just(Step::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_operations_do_what_a_list_of_bytes_does(
        steps in vec(step(), 0..40),
        capacity in 0..150usize,
        first_capacity in 0..150usize,
    ) {
        bytes_model::check(&steps, capacity, first_capacity);
    }
}
