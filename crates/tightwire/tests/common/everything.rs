//! A value that uses every operation of a stream.

use tightwire::stream::{Selection, SubsetCoding};
use tightwire::{FloatRange, Stream, Target, Wire, at};

use super::field::{Field, Integer, Name, Nested, Plain, Weapon};

/// The fields of the sample, with any values.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Everything {
    pub(crate) fields: Vec<Field>,
}

impl Wire for Everything {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.fixed_array(at!(this.fields), |field, stream| stream.object(field))
    }
}

/// The value that a reader starts from.
impl Default for Everything {
    fn default() -> Self {
        let fields = Self::sample().fields;
        Self { fields: fields.iter().map(Field::blank).collect() }
    }
}

impl Everything {
    /// Returns a value with every operation at least once. Operations of variable length are early
    /// and late, so that later fields start at any bit.
    pub(crate) fn sample() -> Self {
        let position = FloatRange::new(-256.0, 256.0, 0.001);
        let name = |text: &str| Name(text.into());
        let fields = vec![
            Field::Bool(true),
            Field::Int(Integer::U8([0, 77, 100])),
            Field::Varint(Integer::U64([0, 300, u64::MAX])),
            Field::Bits { value: 0x1_2345_6789, width: 35 },
            Field::Fixed { integer: Integer::I32([-100, 1234, 100]), fraction_bits: 8 },
            Field::Float(1.5f32.to_bits()),
            Field::CompressedFloat { value: 7.25, range: FloatRange::new(0.0, 10.0, 0.01) },
            Field::Enumerate(Weapon::Staff),
            Field::Option(Some(500)),
            Field::CompressedVector { value: [1.0, -20.0, 255.5], range: position },
            Field::SmallestThree { value: [0.1, 0.7, -0.1, 0.7], bits: 9 },
            Field::UnitVector { value: [0.6, 0.0, -0.8], bits: 11 },
            Field::Array { value: vec![-5, 0, 5, 3], max_len: 9 },
            Field::Index { previous: Some(40), index: 300, count: 4096 },
            Field::IntRelative { previous: 70_000, current: 70_300 },
            selection(100, SubsetCoding::Best, &[3, 50, 51]),
            subset(20, SubsetCoding::RelativeIndex, &[0, 7, 19]),
            Field::Int(Integer::I128([-5, 1 << 90, (1 << 100) + 12345])),
            Field::Varint(Integer::I16([0, -300, 0])),
            Field::Text { value: "größe".into(), max_len: 31 },
            Field::FixedArray([10, 20, 300, 400, 1000]),
            Field::WideText { value: "a🎲".into(), max_len: 5 },
            Field::Check,
            Field::Vector([1f32.to_bits(), 2f32.to_bits(), 0]),
            Field::Blob { value: vec![1, 2, 3], max_len: 20 },
            selection(70, SubsetCoding::BitPerObject, &[0, 69]),
            Field::Object(Nested {
                name: Some(Box::new(name("Ada"))),
                names: vec![name(""), name("Grace")],
            }),
            selection(33, SubsetCoding::CountAndIndex, &[1, 32]),
            Field::Double(0.1f64.to_bits()),
            Field::Pod(Plain { id: 7, parts: [1, 2, 3], flags: 0xffff }),
            subset(10, SubsetCoding::SentinelIndex, &[2, 3]),
            Field::Quaternion([0, 0, 0, 1f32.to_bits()]),
            Field::Bytes(vec![9, 8, 7]),
            Field::Int(Integer::U128([1 << 100, (1 << 100) + 7, (1 << 100) + 9])),
            Field::Varint(Integer::I128([0, i128::MIN, 0])),
            Field::Int(Integer::I8([5, 5, 5])),
            Field::Align,
        ];
        Self { fields }
    }
}

fn selection(len: usize, coding: SubsetCoding, indices: &[usize]) -> Field {
    let mut value = Selection::new(len);
    for &index in indices {
        value.insert(index);
    }
    Field::Selection { value, coding }
}

fn subset(len: usize, coding: SubsetCoding, indices: &[usize]) -> Field {
    let mut selection = Selection::new(len);
    let mut objects = vec![0; len];
    for &index in indices {
        selection.insert(index);
        objects[index] = index as u8;
    }
    Field::Subset { objects, selection, coding }
}
