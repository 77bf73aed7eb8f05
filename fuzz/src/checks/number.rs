//! Integers of every type, in each coding.

use arbitrary::{Result, Unstructured};
use tightwire::stream::Int;
use tightwire::{Stream, Target, Wire, at};

/// A value with its coding.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Number<T> {
    value: T,
    coding: Coding<T>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Coding<T> {
    Range(T, T),
    /// The bits behind the point, and the range in whole units.
    Fixed(u32, T, T),
    Varint,
}

impl<T: Int> Wire for Number<T> {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> std::result::Result<(), S::Error> {
        let coding = this.coding;
        let value = at!(this.value);
        match coding {
            Coding::Range(min, max) => stream.int(value, min..=max),
            Coding::Fixed(fraction_bits, min, max) => stream.fixed(value, fraction_bits, min..=max),
            Coding::Varint => stream.varint(value),
        }
    }
}

macro_rules! numbers {
    ($($variant:ident: $int:ty),*) => {
        /// A [`Number`] of one of the types.
        #[derive(Clone, PartialEq, Debug)]
        pub(super) enum AnyNumber {
            $($variant(Number<$int>)),*
        }

        impl AnyNumber {
            /// Generates the type and its coding from `shape`, the value from `values`.
            pub(super) fn generate(
                shape: &mut Unstructured<'_>,
                values: &mut Unstructured<'_>,
            ) -> Result<Self> {
                const TYPES: usize = [$(stringify!($int)),*].len();
                let mut choice = shape.int_in_range(0..=TYPES - 1)?;
                $(
                    if choice == 0 {
                        return Ok(Self::$variant(Number::<$int>::generate(shape, values)?));
                    }
                    choice -= 1;
                )*
                Err(arbitrary::Error::IncorrectFormat)
            }
        }

        impl Wire for AnyNumber {
            fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> std::result::Result<(), S::Error> {
                $(if let Some(number) = at!(this, Self::$variant(number) => number) {
                    return stream.object(number);
                })*
                Ok(())
            }
        }

        $(
            impl Number<$int> {
                fn generate(
                    shape: &mut Unstructured<'_>,
                    values: &mut Unstructured<'_>,
                ) -> Result<Self> {
                    let (first, second): ($int, $int) = (shape.arbitrary()?, shape.arbitrary()?);
                    let (coding, range) = match shape.int_in_range(0..=4)? {
                        0 => (Coding::Range(<$int>::MIN, <$int>::MAX), <$int>::MIN..=<$int>::MAX),
                        1 => (Coding::Varint, <$int>::MIN..=<$int>::MAX),
                        2 => {
                            let fraction_bits = shape.int_in_range(0..=<$int>::BITS - 1)?;
                            // A value that was shifted down can be shifted up without loss.
                            let units = sorted(first >> fraction_bits, second >> fraction_bits);
                            let whole = units.0 << fraction_bits..=units.1 << fraction_bits;
                            (Coding::Fixed(fraction_bits, units.0, units.1), whole)
                        }
                        3 => {
                            let (min, max) = sorted(first, second);
                            (Coding::Range(min, max), min..=max)
                        }
                        // Ranges of a few values, as most are.
                        _ => {
                            let max = first.saturating_add(second & 0x1f);
                            (Coding::Range(first, max), first..=max)
                        }
                    };
                    let value = match coding {
                        Coding::Varint => {
                            // Shifted, so that all numbers of groups occur: most values would have
                            // all groups otherwise.
                            let bits = values.int_in_range(0..=<$int>::BITS - 1)?;
                            values.arbitrary::<$int>()? >> bits
                        }
                        _ => values.int_in_range(range)?,
                    };
                    Ok(Self { value, coding })
                }
            }
        )*
    };
}

numbers!(
    U8: u8, U16: u16, U32: u32, U64: u64, U128: u128, Usize: usize,
    I8: i8, I16: i16, I32: i32, I64: i64, I128: i128, Isize: isize
);

pub(super) fn sorted<T: PartialOrd>(first: T, second: T) -> (T, T) {
    if second < first { (second, first) } else { (first, second) }
}
