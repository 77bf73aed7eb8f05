//! Types with parameters.

use std::marker::PhantomData;

use tightwire::stream::Int;
use tightwire::{Stream, Wire};

use super::twin::{Twin, any, check, list, text, within};
use crate::common::rng::Rng;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Pair<A, B = A> {
    first: A,
    flag: bool,
    second: B,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Holder<T, I: Int, const N: usize>
where
    T: Clone,
    [T; N]: Default,
{
    fixed: [T; N],
    maybe: Option<T>,
    #[wire(max_len = N)]
    several: Vec<T>,
    #[wire(varint)]
    number: I,
    #[wire(skip)]
    marker: PhantomData<fn() -> I>,
    pair: Pair<T>,
    #[wire(bits = N as u32)]
    crumbs: u16,
    #[wire(range = 0..=N)]
    place: usize,
}

/// Bound of a generic parameter.
trait Field: Wire + Default + Clone + PartialEq + std::fmt::Debug {
    fn any(rng: &mut Rng) -> Self;
}

impl<T: super::twin::Any + Wire + Default + Clone + PartialEq + std::fmt::Debug> Field for T {
    fn any(rng: &mut Rng) -> Self {
        any(rng)
    }
}

impl<T: Field, I: Int + super::twin::Any + std::fmt::Debug, const N: usize> Twin for Holder<T, I, N>
where
    [T; N]: Default,
{
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.fixed_array(&mut self.fixed, |v, s| s.object(v))?;
        stream.option(&mut self.maybe, |v, s| s.object(v))?;
        stream.array(&mut self.several, N, |v, s| s.object(v))?;
        stream.varint(&mut self.number)?;
        stream.object(&mut self.pair.first)?;
        stream.bool(&mut self.pair.flag)?;
        stream.object(&mut self.pair.second)?;
        let mut crumbs = u64::from(self.crumbs);
        stream.bits(&mut crumbs, N as u32)?;
        self.crumbs = crumbs as u16;
        stream.int(&mut self.place, 0..=N)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            fixed: std::array::from_fn(|_| T::any(rng)),
            maybe: (rng.below(2) == 0).then(|| T::any(rng)),
            several: list(rng, N, T::any),
            number: any(rng),
            marker: PhantomData,
            pair: Pair { first: T::any(rng), flag: any(rng), second: T::any(rng) },
            crumbs: within(rng, 0..=(1 << N) - 1),
            place: within(rng, 0..=N as i128),
        }
    }
}

/// Parameters in an enum: those that are made need a default, arrays of any length have one.
#[derive(Wire, Clone, PartialEq, Debug)]
enum Either<A, B: Clone, const N: usize> {
    Left(A),
    Right {
        many: [B; N],
        #[wire(when = self.many.len() > 2)]
        also: [[B; 1]; N],
    },
}

impl<A: Default, B: Clone, const N: usize> Default for Either<A, B, N> {
    fn default() -> Self {
        Self::Left(A::default())
    }
}

impl<A: Field, B: Field, const N: usize> Twin for Either<A, B, N> {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        let mut ordinal = usize::from(matches!(self, Self::Right { .. }));
        stream.variant(&mut ordinal, 2, |ordinal| ["Left", "Right"][ordinal])?;
        if S::READING {
            *self = match ordinal {
                0 => Self::default(),
                _ => Self::Right {
                    many: std::array::from_fn(|_| B::default()),
                    also: std::array::from_fn(|_| [B::default()]),
                },
            };
        }
        match self {
            Self::Left(left) => stream.object(left),
            Self::Right { many, also } => {
                stream.fixed_array(many, |v, s| s.object(v))?;
                if N > 2 { stream.object(also) } else { Ok(()) }
            }
        }
    }

    fn random(rng: &mut Rng) -> Self {
        if rng.below(3) == 0 {
            return Self::Left(A::any(rng));
        }
        let mut also = std::array::from_fn(|_| [B::default()]);
        if N > 2 {
            also.fill_with(|| [B::any(rng)]);
        }
        Self::Right { many: std::array::from_fn(|_| B::any(rng)), also }
    }
}

/// A borrow beside sent fields, and an associated type and constant of a parameter.
trait Rules {
    type Id: Wire + Default + Clone + PartialEq + std::fmt::Debug;
    const MOST: usize;
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Small;

impl Rules for Small {
    type Id = u16;
    const MOST: usize = 5;
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Borrowing<'a, R: Rules> {
    #[wire(skip)]
    label: &'a str,
    id: R::Id,
    #[wire(max_len = R::MOST)]
    name: String,
    #[wire(range = 0..=R::MOST)]
    place: usize,
    #[wire(skip)]
    rules: PhantomData<R>,
}

impl Twin for Borrowing<'static, Small> {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.object(&mut self.id)?;
        stream.string(&mut self.name, 5)?;
        stream.int(&mut self.place, 0..=5)
    }

    fn random(rng: &mut Rng) -> Self {
        let (id, name, place) = (any(rng), text(rng, 5), within(rng, 0..=5));
        Self { label: "", id, name, place, rules: PhantomData }
    }
}

#[test]
fn structs_with_parameters() {
    check::<Holder<bool, u8, 3>>();
    check::<Holder<u64, i64, 5>>();
    check::<Holder<[u16; 9], i16, 1>>();
    check::<Holder<Option<u8>, u128, 0>>();
}

#[test]
fn enums_with_parameters() {
    check::<Either<u8, bool, 2>>();
    check::<Either<u64, u16, 40>>();
    check::<Either<Option<bool>, [u8; 3], 5>>();
}

#[test]
fn lifetimes_and_associated_items() {
    check::<Borrowing<'static, Small>>();
}

#[test]
fn a_skipped_borrow_stays() {
    let mut value = Borrowing::<Small> { label: "mine", ..Borrowing::default() };
    let mut buffer = [0; 64];
    let packet = tightwire::encode(&value, &mut buffer).unwrap();
    tightwire::decode_into(packet, &mut value).unwrap();
    assert_eq!(value.label, "mine");
}
