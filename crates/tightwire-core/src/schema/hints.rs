//! Hints for snapshots: which fields may have them, and their description.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use super::condition::has_value;
use crate::stream::{Field, Hints, Op, Shape};

impl Hints {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The hints as attributes of the derive.
///
/// ```
/// use tightwire::stream::Hints;
///
/// let hints = Hints { derivative_of: Some("position".into()), ..Hints::default() };
/// assert_eq!(hints.to_string(), "derivative_of = position");
/// ```
impl fmt::Display for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(of) = &self.derivative_of {
            write!(f, "derivative_of = {of}")?;
            separator = ", ";
        }
        let flags = [
            (self.wraps, "wraps"),
            (self.spatial, "spatial"),
            (self.reference, "reference"),
            (self.rotation, "rotation"),
            (self.owner, "owner"),
            (self.others, "others"),
        ];
        for (_, name) in flags.iter().filter(|(is_given, _)| *is_given) {
            write!(f, "{separator}{name}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Largest code of an ordered number of at most 32 bits; `None` for any other shape.
pub fn ordered(shape: &Shape) -> Option<u32> {
    match shape {
        Shape::Op(op @ (Op::Bits { .. } | Op::Int { .. } | Op::Fixed { .. })) => {
            u32::try_from(op.span()?).ok()
        }
        Shape::Op(Op::CompressedFloat(range)) => Some(range.max_code()),
        _ => None,
    }
}

/// Largest code of a rotation of four numbers; `None` for any other shape.
pub fn rotation_code(shape: &Shape) -> Option<u32> {
    match shape {
        Shape::Array { len: 4, element } => {
            ordered(element).filter(|max| (3..1 << 20).contains(max))
        }
        _ => None,
    }
}

/// The shape within a newtype, at any depth; other shapes as they are.
pub fn unwrapped(mut shape: &Shape) -> &Shape {
    while let Some(inner) = newtype(shape) {
        shape = &inner.shape;
    }
    shape
}

/// The only field of a struct, if it is sent unconditionally.
pub fn newtype(shape: &Shape) -> Option<&Field> {
    match shape {
        Shape::Struct { fields, .. } => match &fields[..] {
            [field] if field.when.is_none() => Some(field),
            _ => None,
        },
        _ => None,
    }
}

/// Number of components of an ordered scalar or vector; `None` for any other shape.
fn components(shape: &Shape) -> Option<u64> {
    match shape {
        Shape::Op(Op::CompressedVector { dimensions, .. }) => Some(*dimensions as u64),
        Shape::Array { len, element } => ordered(element).map(|_| *len),
        scalar => ordered(scalar).map(|_| 1),
    }
}

/// Refuses invalid hints, with the name of their field and the reason.
pub(super) fn check(fields: &[Field]) -> Result<(), (&str, String)> {
    if fields.iter().all(|field| field.hints.is_empty()) {
        return Ok(());
    }
    let named: BTreeMap<&str, &Field> =
        fields.iter().filter(|field| has_value(field)).map(|field| (&*field.name, field)).collect();
    let mut differentiated = BTreeSet::new();
    let mut has_position = false;
    for field in fields {
        let Hints { derivative_of, wraps, spatial, reference, rotation, owner, others } =
            &field.hints;
        let refuse = |reason: &str| Err((&*field.name, reason.to_string()));
        let shape = unwrapped(&field.shape);
        if *wraps && ordered(shape).is_none() {
            return refuse("`wraps` is for an integer of up to 32 bits or a quantised float");
        }
        if *spatial && !matches!(components(shape), Some(2 | 3)) {
            return refuse("`spatial` is for a quantised vector of 2 or 3 components");
        }
        if *reference && !spatial {
            return refuse("`reference` is for a field that is `spatial`");
        }
        if *spatial && core::mem::replace(&mut has_position, true) {
            return refuse("another field is `spatial` already");
        }
        if *rotation && (rotation_code(shape).is_none() || derivative_of.is_some()) {
            return refuse("`rotation` is for an array of four integers of 2 to 20 bits");
        }
        if *owner && *others {
            return refuse("with both `owner` and `others`, no receiver gets the field");
        }
        let Some(of) = derivative_of else { continue };
        if *wraps {
            return refuse("a field with `derivative_of` cannot have `wraps`");
        }
        match named.get(&**of) {
            None => return refuse("`derivative_of` names no field of the same struct"),
            Some(other) if other.name == field.name => {
                return refuse("`derivative_of` names the field itself");
            }
            Some(other) if other.hints.derivative_of.as_ref() == Some(&field.name) => {
                return refuse("two fields are `derivative_of` each other");
            }
            Some(other) => {
                let (own, others) = (components(shape), components(unwrapped(&other.shape)));
                if own.is_none() || own != others {
                    let reason = format!(
                        "`derivative_of` needs quantised numbers or integers of up to 32 bits, as \
                         many here as in `{of}`"
                    );
                    return Err((&field.name, reason));
                }
            }
        }
        if !differentiated.insert(&**of) {
            return refuse("another field is the derivative of the same one already");
        }
    }
    Ok(())
}
