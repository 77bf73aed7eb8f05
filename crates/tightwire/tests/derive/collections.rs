//! Options, arrays, lists, text and plain structs, one within another.

use tightwire::{Stream, Target, Wire, at};

use super::twin::{Twin, any, check, list, text, within};
use crate::common::rng::Rng;

#[derive(
    Wire,
    Clone,
    Copy,
    PartialEq,
    Debug,
    Default,
    zerocopy::FromBytes,
    zerocopy::IntoBytes,
    zerocopy::Immutable,
)]
#[repr(C)]
struct Plain {
    id: u32,
    flags: [u16; 2],
}

fn plain(rng: &mut Rng) -> Plain {
    Plain { id: any(rng), flags: any(rng) }
}

const MOST: usize = 6;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Options {
    #[wire(range = 0..=9)]
    ranged: Option<u8>,
    twice: Option<Option<u16>>,
    #[wire(range = -3..=3)]
    twice_ranged: Option<Option<i8>>,
    boxed: Option<Box<u32>>,
    flag: bool,
    #[wire(max_len = MOST)]
    text: Option<String>,
    #[wire(max_len = 4, bits = 3)]
    list: Option<Vec<u8>>,
    #[wire(pod)]
    plain: Option<Plain>,
    array: Option<[bool; 3]>,
    #[wire(varint)]
    long: Option<u64>,
    unit: Option<()>,
}

impl Twin for Options {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.option(&mut self.ranged, |v, s| s.int(v, 0..=9))?;
        stream.option(&mut self.twice, |v, s| s.option(v, |v, s| s.object(v)))?;
        stream.option(&mut self.twice_ranged, |v, s| s.option(v, |v, s| s.int(v, -3..=3)))?;
        stream.option(&mut self.boxed, |v, s| s.object(v.into_parts(|v| &**v, |v| &mut **v)))?;
        stream.bool(&mut self.flag)?;
        stream.option(&mut self.text, |v, s| s.string(v, 6))?;
        stream.option(&mut self.list, |v, s| {
            s.array(v, 4, |mut byte, s| {
                let mut wide = u64::from(*byte);
                s.bits(&mut wide, 3)?;
                byte.put(wide as u8);
                Ok(())
            })
        })?;
        stream.option(&mut self.plain, |v, s| s.pod(v))?;
        stream.option(&mut self.array, |v, s| s.object(v))?;
        stream.option(&mut self.long, |v, s| s.varint(v))?;
        stream.option(&mut self.unit, |_, _| Ok(()))
    }

    fn random(rng: &mut Rng) -> Self {
        let some = |rng: &mut Rng| rng.below(2) == 0;
        Self {
            ranged: some(rng).then(|| within(rng, 0..=9)),
            twice: any(rng),
            twice_ranged: some(rng).then(|| some(rng).then(|| within(rng, -3..=3))),
            boxed: any(rng),
            flag: any(rng),
            text: some(rng).then(|| text(rng, 6)),
            list: some(rng).then(|| list(rng, 4, |rng| within(rng, 0..=7))),
            plain: some(rng).then(|| plain(rng)),
            array: any(rng),
            long: any(rng),
            unit: some(rng).then_some(()),
        }
    }

    fn refused() -> Vec<Self> {
        vec![
            Self { ranged: Some(10), ..Self::default() },
            Self { twice_ranged: Some(Some(4)), ..Self::default() },
            Self { text: Some("seven  ".into()), ..Self::default() },
            Self { text: Some("a\0".into()), ..Self::default() },
            Self { list: Some(vec![8]), ..Self::default() },
            Self { list: Some(vec![1; 5]), ..Self::default() },
        ]
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Lists {
    #[wire(max_len = 5)]
    whole: Vec<u16>,
    #[wire(max_len = MOST * 2, range = -5..=5)]
    ranged: Vec<i8>,
    #[wire(max_len = 3, range = 1..=9)]
    options: Vec<Option<u8>>,
    #[wire(max_len = 20)]
    blob: Vec<u8>,
    #[wire(max_len = Self::MOST)]
    nested: Vec<Item>,
    #[wire(max_len = 2)]
    boxes: Vec<Box<bool>>,
    #[wire(max_len = 0)]
    none: Vec<u8>,
    #[wire(max_len = 2)]
    arrays: Vec<[u8; 3]>,
    #[wire(max_len = 7)]
    text: String,
    #[wire(max_len = 100)]
    free: Vec<()>,
    #[wire(max_len = 4)]
    boxed_text: Box<String>,
    #[wire(max_len = 3)]
    pairs: Vec<(u8, bool)>,
    #[wire(max_len = 5)]
    levels: Vec<Level>,
    #[wire(max_len = 3, bits = 8)]
    not_a_blob: Vec<u8>,
    end: bool,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Level(#[wire(range = 0..=9)] u8);

impl Lists {
    const MOST: usize = 4;
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Item {
    #[wire(range = 0..=63)]
    count: u8,
    is_new: bool,
    #[wire(max_len = 3)]
    tags: Vec<u8>,
}

impl Twin for Lists {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.array(&mut self.whole, 5, |v, s| s.object(v))?;
        stream.array(&mut self.ranged, 12, |v, s| s.int(v, -5..=5))?;
        stream.array(&mut self.options, 3, |v, s| s.option(v, |v, s| s.int(v, 1..=9)))?;
        stream.blob(&mut self.blob, 20)?;
        stream.array(&mut self.nested, 4, |mut item, s| {
            s.int(at!(item.count), 0..=63)?;
            s.bool(at!(item.is_new))?;
            s.blob(at!(item.tags), 3)
        })?;
        stream.array(&mut self.boxes, 2, |v, s| s.bool(v.into_parts(|v| &**v, |v| &mut **v)))?;
        stream.blob(&mut self.none, 0)?;
        stream.array(&mut self.arrays, 2, |v, s| s.object(v))?;
        stream.string(&mut self.text, 7)?;
        stream.array(&mut self.free, 100, |_, _| Ok(()))?;
        stream.string(&mut *self.boxed_text, 4)?;
        stream.array(&mut self.pairs, 3, |v, s| s.object(v))?;
        stream.array(&mut self.levels, 5, |mut v, s| s.int(at!(v.0), 0..=9))?;
        stream.array(&mut self.not_a_blob, 3, |mut v, s| {
            let mut wide = u64::from(*v);
            s.bits(&mut wide, 8)?;
            v.put(wide as u8);
            Ok(())
        })?;
        stream.bool(&mut self.end)
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            whole: list(rng, 5, any),
            ranged: list(rng, 12, |rng| within(rng, -5..=5)),
            options: list(rng, 3, |rng| (rng.below(2) == 0).then(|| within(rng, 1..=9))),
            blob: list(rng, 20, any),
            nested: list(rng, 4, |rng| Item {
                count: within(rng, 0..=63),
                is_new: any(rng),
                tags: list(rng, 3, any),
            }),
            boxes: list(rng, 2, any),
            none: Vec::new(),
            arrays: list(rng, 2, any),
            text: text(rng, 7),
            free: list(rng, 100, |_| ()),
            boxed_text: Box::new(text(rng, 4)),
            pairs: list(rng, 3, |rng| (any(rng), any(rng))),
            levels: list(rng, 5, |rng| Level(within(rng, 0..=9))),
            not_a_blob: list(rng, 3, any),
            end: any(rng),
        }
    }

    fn refused() -> Vec<Self> {
        vec![
            Self { whole: vec![0; 6], ..Self::default() },
            Self { ranged: vec![0, 6], ..Self::default() },
            Self { options: vec![Some(0)], ..Self::default() },
            Self { blob: vec![0; 21], ..Self::default() },
            Self { none: vec![0], ..Self::default() },
            Self { levels: vec![Level(9), Level(10)], ..Self::default() },
            Self { levels: vec![Level(0), Level(1), Level(10)], ..Self::default() },
            Self { text: "too long".into(), ..Self::default() },
        ]
    }
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Arrays {
    #[wire(range = 0..=5)]
    ranged: [u8; 3],
    whole: [u32; 2],
    nested: [[u8; 2]; 3],
    #[wire(range = -1..=1)]
    nested_ranged: [[i8; 3]; 2],
    long: [u16; 20],
    structs: [Item; 2],
    #[wire(range = 0..=3)]
    options: [Option<u8>; 4],
    #[wire(max_len = 3)]
    texts: [String; 2],
    #[wire(max_len = 2, bits = 1)]
    lists: [Vec<u8>; 2],
    #[wire(pod)]
    bytes: [u8; 5],
    none: [u64; 0],
    #[wire(varint)]
    varints: [u16; 2],
    #[wire(range = 0..=1)]
    #[allow(clippy::redundant_allocation)]
    boxed: [Box<u8>; 2],
    flags: [bool; MOST],
}

impl Twin for Arrays {
    fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.fixed_array(&mut self.ranged, |v, s| s.int(v, 0..=5))?;
        stream.object(&mut self.whole)?;
        stream.object(&mut self.nested)?;
        stream.fixed_array(&mut self.nested_ranged, |v, s| {
            s.fixed_array(v, |v, s| s.int(v, -1..=1))
        })?;
        stream.object(&mut self.long)?;
        stream.fixed_array(&mut self.structs, |mut item, s| {
            s.int(at!(item.count), 0..=63)?;
            s.bool(at!(item.is_new))?;
            s.blob(at!(item.tags), 3)
        })?;
        stream.fixed_array(&mut self.options, |v, s| s.option(v, |v, s| s.int(v, 0..=3)))?;
        stream.fixed_array(&mut self.texts, |v, s| s.string(v, 3))?;
        stream.fixed_array(&mut self.lists, |v, s| {
            s.array(v, 2, |mut v, s| {
                let mut wide = u64::from(*v);
                s.bits(&mut wide, 1)?;
                v.put(wide as u8);
                Ok(())
            })
        })?;
        stream.pod(&mut self.bytes)?;
        stream.fixed_array(&mut self.varints, |v, s| s.varint(v))?;
        stream.fixed_array(&mut self.boxed, |v, s| {
            s.int(v.into_parts(|v| &**v, |v| &mut **v), 0..=1)
        })?;
        stream.object(&mut self.flags)
    }

    fn random(rng: &mut Rng) -> Self {
        let item = |rng: &mut Rng| Item {
            count: within(rng, 0..=63),
            is_new: any(rng),
            tags: list(rng, 3, any),
        };
        Self {
            ranged: std::array::from_fn(|_| within(rng, 0..=5)),
            whole: any(rng),
            nested: any(rng),
            nested_ranged: std::array::from_fn(|_| std::array::from_fn(|_| within(rng, -1..=1))),
            long: any(rng),
            structs: std::array::from_fn(|_| item(rng)),
            options: std::array::from_fn(|_| (rng.below(2) == 0).then(|| within(rng, 0..=3))),
            texts: std::array::from_fn(|_| text(rng, 3)),
            lists: std::array::from_fn(|_| list(rng, 2, |rng| within(rng, 0..=1))),
            bytes: any(rng),
            none: [],
            varints: any(rng),
            boxed: std::array::from_fn(|_| Box::new(within(rng, 0..=1))),
            flags: any(rng),
        }
    }

    fn refused() -> Vec<Self> {
        vec![
            Self { ranged: [0, 6, 0], ..Self::default() },
            Self { nested_ranged: [[0; 3], [0, 0, 2]], ..Self::default() },
            Self { options: [None, Some(4), None, None], ..Self::default() },
            Self { texts: ["".into(), "four".into()], ..Self::default() },
        ]
    }
}

#[test]
fn options() {
    check::<Options>();
}

#[test]
fn lists() {
    check::<Lists>();
}

#[test]
fn arrays() {
    check::<Arrays>();
}

#[test]
fn plain_structs_in_one_copy_have_the_bytes_of_one_by_one() {
    #[derive(Wire, Default, Clone, PartialEq, Debug)]
    struct AtOnce {
        flag: bool,
        #[wire(max_len = 9, pod)]
        items: Vec<Plain>,
        last: bool,
    }
    struct OneByOne(AtOnce);
    impl Wire for OneByOne {
        fn serialize<S: Stream>(
            mut this: Target<'_, S::Access, Self>,
            stream: &mut S,
        ) -> Result<(), S::Error> {
            stream.bool(at!(this.0.flag))?;
            stream.array(at!(this.0.items), 9, |item, stream| stream.pod(item))?;
            stream.bool(at!(this.0.last))
        }
    }
    let mut rng = Rng::new(9);
    for _ in 0..200 {
        let value = AtOnce { flag: any(&mut rng), items: list(&mut rng, 9, plain), last: true };
        let mut buffers = [[0; 200]; 2];
        let [first, second] = &mut buffers;
        let packet = tightwire::encode(&value, first).unwrap();
        assert_eq!(tightwire::encode(&OneByOne(value.clone()), second), Ok(packet));
        assert_eq!(tightwire::decode::<AtOnce>(packet), Ok(value));
        for length in 0..packet.len() {
            assert!(tightwire::decode::<AtOnce>(&packet[..length]).is_err());
        }
    }
}

#[test]
fn plain_structs_of_no_size_come_back() {
    #[derive(Wire, Default, Clone, PartialEq, Debug)]
    struct Nothings {
        #[wire(max_len = 2000, pod)]
        items: Vec<[u8; 0]>,
    }
    for (length, fits) in [(0, true), (1024, true), (1025, false)] {
        let value = Nothings { items: vec![[]; length] };
        let mut buffer = [0; 16];
        let written = tightwire::encode(&value, &mut buffer);
        assert_eq!(written.is_ok(), fits, "{length}");
        if let Ok(packet) = written {
            assert_eq!(tightwire::decode::<Nothings>(packet), Ok(value));
        }
    }
}

#[cfg(feature = "arrayvec")]
mod fixed_capacity {
    use arrayvec::{ArrayString, ArrayVec};

    use super::*;

    #[derive(Wire, Default, Clone, PartialEq, Debug)]
    struct Capacities {
        items: ArrayVec<u16, 4>,
        #[wire(range = 0..=5)]
        ranged: ArrayVec<u8, MOST>,
        #[wire(max_len = 2)]
        fewer: ArrayVec<bool, 5>,
        name: ArrayString<7>,
        #[wire(max_len = 3)]
        short: ArrayString<7>,
        nested: ArrayVec<Item, 2>,
        maybe: Option<ArrayString<2>>,
        flag: bool,
    }

    impl Twin for Capacities {
        fn by_hand<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
            fn string<S: Stream, const N: usize>(
                stream: &mut S,
                mut value: Target<'_, S::Access, ArrayString<N>>,
                max_len: usize,
            ) -> Result<(), S::Error> {
                let mut text = value.as_str().to_string();
                stream.string(&mut text, max_len)?;
                value.put(ArrayString::from(&text).unwrap());
                Ok(())
            }
            stream.array(&mut self.items, 4, |v, s| s.object(v))?;
            stream.array(&mut self.ranged, 6, |v, s| s.int(v, 0..=5))?;
            stream.array(&mut self.fewer, 2, |v, s| s.bool(v))?;
            string(stream, Target::from(&mut self.name), 7)?;
            string(stream, Target::from(&mut self.short), 3)?;
            stream.array(&mut self.nested, 2, |mut item, s| {
                s.int(at!(item.count), 0..=63)?;
                s.bool(at!(item.is_new))?;
                s.blob(at!(item.tags), 3)
            })?;
            stream.option(&mut self.maybe, |v, s| string(s, v, 2))?;
            stream.bool(&mut self.flag)
        }

        fn random(rng: &mut Rng) -> Self {
            Self {
                items: list(rng, 4, any).into_iter().collect(),
                ranged: list(rng, 6, |rng| within(rng, 0..=5)).into_iter().collect(),
                fewer: list(rng, 2, any).into_iter().collect(),
                name: ArrayString::from(&text(rng, 7)).unwrap(),
                short: ArrayString::from(&text(rng, 3)).unwrap(),
                nested: list(rng, 2, |rng| Item { tags: list(rng, 3, any), ..Item::default() })
                    .into_iter()
                    .collect(),
                maybe: (rng.below(2) == 0).then(|| ArrayString::from(&text(rng, 2)).unwrap()),
                flag: any(rng),
            }
        }

        fn refused() -> Vec<Self> {
            vec![
                Self { ranged: [6].into_iter().collect(), ..Self::default() },
                Self { fewer: [true; 3].into_iter().collect(), ..Self::default() },
                Self { short: ArrayString::from("four").unwrap(), ..Self::default() },
            ]
        }
    }

    #[test]
    fn vectors_and_strings_of_fixed_capacity() {
        check::<Capacities>();
        // 3 + 64, 3 + 18, 2 + 2, 3 + 7 + 56, 2 + 7 + 24, 2 + 2 * 40, 1 + 2 + 7 + 16, 1.
        assert_eq!(Capacities::MAX_BITS, 67 + 21 + 4 + 66 + 33 + 82 + 26 + 1);
    }
}
