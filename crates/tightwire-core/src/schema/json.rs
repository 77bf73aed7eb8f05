//! Schemas as JSON, or in any other self-describing format of serde.
//!
//! These types are the JSON form; a shape made from them goes through the same validation as any
//! other.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::Schema;
use super::json_condition::{ConditionForm, Integer};
use crate::stream::{Field, FloatRange, Hints, Name, Number, Op, Shape, SubsetCoding, Variant};

/// A shape is an object with its kind as the key; a field has its name beside that key:
///
/// ```
/// use tightwire::Wire;
/// use tightwire::schema::Schema;
///
/// #[derive(Wire)]
/// struct Player {
///     #[wire(range = 0..=100)]
///     health: u8,
///     #[wire(when = self.health > 0)]
///     armed: bool,
/// }
///
/// let json = serde_json::to_string(&Schema::of::<Player>())?;
/// assert_eq!(json, concat!(
///     r#"{"struct":{"name":"Player","fields":["#,
///     r#"{"name":"health","int":{"min":0,"max":100}},"#,
///     r#"{"name":"armed","when":[">","health",0],"bool":{}}]}}"#,
/// ));
/// assert_eq!(serde_json::from_str::<Schema>(&json)?, Schema::of::<Player>());
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ShapeForm::from(self.root()).serialize(serializer)
    }
}

/// Refuses everything that [`Schema::new`] refuses, with its reason.
impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shape = ShapeForm::deserialize(deserializer)?.into_shape().map_err(D::Error::custom)?;
        Self::new(shape).map_err(D::Error::custom)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShapeForm {
    Bits {
        width: u32,
    },
    Bool {},
    Int(Bounds),
    Fixed {
        fraction_bits: u32,
        #[serde(flatten)]
        bounds: Bounds,
    },
    Varint {
        bits: u32,
        signed: bool,
    },
    Float {},
    Double {},
    CompressedFloat(Range),
    Enumerate {
        count: usize,
    },
    Vector {
        dimensions: usize,
    },
    CompressedVector {
        dimensions: usize,
        #[serde(flatten)]
        range: Range,
    },
    Quaternion {},
    SmallestThree {
        bits: u32,
    },
    UnitVector {
        bits: u32,
    },
    Align {},
    Bytes {
        len: usize,
    },
    Blob {
        max_len: usize,
    },
    String {
        max_len: usize,
    },
    WideString {
        max_len: usize,
    },
    Index {
        count: u32,
    },
    IntRelative {},
    Selection {
        len: usize,
        coding: Coding,
    },
    Check {
        name: String,
    },
    Pod {
        size: usize,
    },
    Struct {
        name: Name,
        fields: Vec<FieldForm>,
    },
    Enum {
        name: Name,
        variants: Vec<VariantForm>,
    },
    Option(Box<ShapeForm>),
    Array {
        len: u64,
        element: Box<ShapeForm>,
    },
    List {
        max_len: u64,
        element: Box<ShapeForm>,
    },
    Opaque {
        name: Name,
        max_bits: u64,
    },
}

/// Bounds of an integer. `signed` is only written if the bounds do not show that the type is
/// signed.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Bounds {
    min: Integer,
    max: Integer,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    signed: bool,
}

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Range {
    min: f32,
    max: f32,
    resolution: f32,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Coding {
    BitPerObject,
    CountAndIndex,
    SentinelIndex,
    RelativeIndex,
    Best,
}

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct FieldForm {
    name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<ConditionForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derivative_of: Option<Name>,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    wraps: bool,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    spatial: bool,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    reference: bool,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    rotation: bool,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    owner: bool,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    others: bool,
    #[serde(flatten)]
    shape: ShapeForm,
}

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct VariantForm {
    name: Name,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldForm>,
}

pub(super) type Made<T> = Result<T, &'static str>;

impl From<&Shape> for ShapeForm {
    fn from(shape: &Shape) -> Self {
        let boxed = |shape: &Shape| Box::new(Self::from(shape));
        match shape {
            Shape::Op(op) => Self::from(op),
            Shape::Struct { name, fields } => {
                Self::Struct { name: name.clone(), fields: fields.iter().map(Into::into).collect() }
            }
            Shape::Enum { name, variants } => {
                let variants = variants.iter().map(|variant| VariantForm {
                    name: variant.name.clone(),
                    fields: variant.fields.iter().map(Into::into).collect(),
                });
                Self::Enum { name: name.clone(), variants: variants.collect() }
            }
            Shape::Option(inner) => Self::Option(boxed(inner)),
            Shape::Array { len, element } => Self::Array { len: *len, element: boxed(element) },
            Shape::List { max_len, element } => {
                Self::List { max_len: *max_len, element: boxed(element) }
            }
            Shape::Opaque { name, max_bits } => {
                Self::Opaque { name: name.clone(), max_bits: *max_bits }
            }
        }
    }
}

impl From<&Field> for FieldForm {
    fn from(field: &Field) -> Self {
        let when = field.when.clone().map(ConditionForm);
        let hints = field.hints.clone();
        let Hints { derivative_of, wraps, spatial, reference, rotation, owner, others } = hints;
        let (name, shape) = (field.name.clone(), (&field.shape).into());
        Self {
            name,
            when,
            derivative_of,
            wraps,
            spatial,
            reference,
            rotation,
            owner,
            others,
            shape,
        }
    }
}

impl From<&Op> for ShapeForm {
    fn from(op: &Op) -> Self {
        match *op {
            Op::Bits { width } => Self::Bits { width },
            Op::Bool => Self::Bool {},
            Op::Int { min, max } => Self::Int(Bounds::new(min, max)),
            Op::Fixed { fraction_bits, min, max } => {
                Self::Fixed { fraction_bits, bounds: Bounds::new(min, max) }
            }
            Op::Varint { bits, signed } => Self::Varint { bits, signed },
            Op::Float => Self::Float {},
            Op::Double => Self::Double {},
            Op::CompressedFloat(range) => Self::CompressedFloat(range.into()),
            Op::Enumerate { count } => Self::Enumerate { count },
            Op::Vector { dimensions } => Self::Vector { dimensions },
            Op::CompressedVector { dimensions, range } => {
                Self::CompressedVector { dimensions, range: range.into() }
            }
            Op::Quaternion => Self::Quaternion {},
            Op::SmallestThree { bits } => Self::SmallestThree { bits },
            Op::UnitVector { bits } => Self::UnitVector { bits },
            Op::Align => Self::Align {},
            Op::Bytes { len } => Self::Bytes { len },
            Op::Blob { max_len } => Self::Blob { max_len },
            Op::String { max_len } => Self::String { max_len },
            Op::WideString { max_len } => Self::WideString { max_len },
            Op::Index { count } => Self::Index { count },
            Op::IntRelative => Self::IntRelative {},
            Op::Selection { len, coding } => Self::Selection { len, coding: coding.into() },
            Op::Check { ref name } => Self::Check { name: name.clone().into_owned() },
            Op::Pod { size } => Self::Pod { size },
        }
    }
}

impl ShapeForm {
    pub(super) fn into_shape(self) -> Made<Shape> {
        let boxed = |form: Box<Self>| form.into_shape().map(Box::new);
        Ok(Shape::Op(match self {
            Self::Struct { name, fields } => {
                return Ok(Shape::Struct { name, fields: into_fields(fields)? });
            }
            Self::Enum { name, variants } => {
                let variants = variants.into_iter().map(|VariantForm { name, fields }| {
                    Ok(Variant { name, fields: into_fields(fields)? })
                });
                return Ok(Shape::Enum { name, variants: variants.collect::<Made<_>>()? });
            }
            Self::Option(inner) => return Ok(Shape::Option(boxed(inner)?)),
            Self::Array { len, element } => {
                return Ok(Shape::Array { len, element: boxed(element)? });
            }
            Self::List { max_len, element } => {
                return Ok(Shape::List { max_len, element: boxed(element)? });
            }
            Self::Opaque { name, max_bits } => return Ok(Shape::Opaque { name, max_bits }),
            Self::Bits { width } => Op::Bits { width },
            Self::Bool {} => Op::Bool,
            Self::Int(bounds) => {
                let [min, max] = bounds.into_numbers()?;
                Op::Int { min, max }
            }
            Self::Fixed { fraction_bits, bounds } => {
                let [min, max] = bounds.into_numbers()?;
                Op::Fixed { fraction_bits, min, max }
            }
            Self::Varint { bits, signed } => Op::Varint { bits, signed },
            Self::Float {} => Op::Float,
            Self::Double {} => Op::Double,
            Self::CompressedFloat(range) => Op::CompressedFloat(range.into_range()?),
            Self::Enumerate { count } => Op::Enumerate { count },
            Self::Vector { dimensions } => Op::Vector { dimensions },
            Self::CompressedVector { dimensions, range } => {
                Op::CompressedVector { dimensions, range: range.into_range()? }
            }
            Self::Quaternion {} => Op::Quaternion,
            Self::SmallestThree { bits } => Op::SmallestThree { bits },
            Self::UnitVector { bits } => Op::UnitVector { bits },
            Self::Align {} => Op::Align,
            Self::Bytes { len } => Op::Bytes { len },
            Self::Blob { max_len } => Op::Blob { max_len },
            Self::String { max_len } => Op::String { max_len },
            Self::WideString { max_len } => Op::WideString { max_len },
            Self::Index { count } => Op::Index { count },
            Self::IntRelative {} => Op::IntRelative,
            Self::Selection { len, coding } => Op::Selection { len, coding: coding.into() },
            Self::Check { name } => Op::Check { name: Cow::Owned(name) },
            Self::Pod { size } => Op::Pod { size },
        }))
    }
}

pub(super) fn into_fields(fields: Vec<FieldForm>) -> Made<Vec<Field>> {
    let field = |form: FieldForm| {
        let when = form.when.map(|ConditionForm(condition)| condition);
        let FieldForm { derivative_of, wraps, spatial, reference, rotation, owner, others, .. } =
            form;
        let hints = Hints { derivative_of, wraps, spatial, reference, rotation, owner, others };
        Ok(Field { name: form.name, when, hints, shape: form.shape.into_shape()? })
    };
    fields.into_iter().map(field).collect()
}

impl Bounds {
    fn new(min: Number, max: Number) -> Self {
        let signed = matches!(min, Number::Signed(0..));
        Self { min: Integer(min), max: Integer(max), signed }
    }

    fn into_numbers(self) -> Made<[Number; 2]> {
        let bounds = [self.min.0, self.max.0];
        let is_signed =
            self.signed || bounds.iter().any(|bound| matches!(bound, Number::Signed(_)));
        if !is_signed {
            return Ok(bounds);
        }
        let signed = |bound| match bound {
            Number::Unsigned(number) => i128::try_from(number).ok().map(Number::Signed),
            bound => Some(bound),
        };
        match bounds.map(signed) {
            [Some(min), Some(max)] => Ok([min, max]),
            _ => Err("the bounds of a range fit no integer type"),
        }
    }
}

impl From<FloatRange> for Range {
    fn from(range: FloatRange) -> Self {
        Self { min: range.min(), max: range.max(), resolution: range.resolution() }
    }
}

impl Range {
    fn into_range(self) -> Made<FloatRange> {
        FloatRange::checked(self.min, self.max, self.resolution).ok_or(
            "a float needs a finite `min` below `max`, and a `resolution` of at most 32 bits",
        )
    }
}

macro_rules! codings {
    ($($coding:ident),*) => {
        impl From<SubsetCoding> for Coding {
            fn from(coding: SubsetCoding) -> Self {
                match coding { $(SubsetCoding::$coding => Self::$coding),* }
            }
        }
        impl From<Coding> for SubsetCoding {
            fn from(coding: Coding) -> Self {
                match coding { $(Coding::$coding => Self::$coding),* }
            }
        }
    };
}

codings!(BitPerObject, CountAndIndex, SentinelIndex, RelativeIndex, Best);
