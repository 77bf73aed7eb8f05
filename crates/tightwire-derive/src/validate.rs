//! Decides the wire form of each field, and refuses mistakes.

use proc_macro2::{Ident, TokenStream};
use syn::{Expr, LitStr, Member, Type};

use crate::condition;
use crate::field_uses::{self, ConditionField};
use crate::hints;
use crate::numbers::{compressed_rule, in_literal_range, range_bounds};
use crate::parse::{Attributes, Body, Errors, Hints, Item, RawField, Variant, member_name};
use crate::syntax::{capacity, generic, is, peeled, shown};

/// A field whose wire form is known.
pub(crate) struct Field {
    pub(crate) member: Member,
    pub(crate) binding: Ident,
    pub(crate) ty: Type,
    /// Wire form of the field; `None` if it is not sent.
    pub(crate) rule: Option<Rule>,
    pub(crate) when: Option<Expr>,
    pub(crate) check: Option<LitStr>,
    pub(crate) default: Option<Expr>,
    pub(crate) hints: Hints,
}

impl Field {
    /// Returns the name of the field in paths.
    pub(crate) fn name(&self) -> String {
        member_name(&self.member)
    }
}

/// The wire form of a value.
pub(crate) enum Rule {
    /// The wire form of its type.
    Whole(Type),
    /// A type called `String` without a bound: a mistake, unless it is a type of the user's.
    Unbounded(Type),
    /// `[f32; N]`, as one vector.
    Floats {
        len: Expr,
    },
    Int {
        ty: Type,
        min: Expr,
        max: Expr,
    },
    Bits {
        ty: Type,
        bits: Expr,
    },
    Varint {
        ty: Type,
    },
    /// A quantised float, or a vector of this type.
    Compressed {
        vector: Option<Type>,
        min: TokenStream,
        max: TokenStream,
        resolution: TokenStream,
    },
    SmallestThree {
        bits: Expr,
    },
    Unit {
        bits: Expr,
    },
    Pod {
        ty: Type,
    },
    Pods {
        ty: Type,
        max_len: Expr,
    },
    Text {
        max_len: Expr,
    },
    Blob {
        max_len: Expr,
    },
    List {
        max_len: Expr,
        item: Type,
        rule: Box<Rule>,
    },
    Array {
        len: Expr,
        rule: Box<Rule>,
    },
    Option {
        item: Type,
        rule: Box<Rule>,
    },
    Boxed {
        rule: Box<Rule>,
    },
}

impl Rule {
    /// Whether the compiler is asked for the type that is meant.
    pub(crate) fn is_unbounded(&self) -> bool {
        match self {
            Self::Unbounded(_) => true,
            Self::List { rule, .. }
            | Self::Array { rule, .. }
            | Self::Option { rule, .. }
            | Self::Boxed { rule } => rule.is_unbounded(),
            _ => false,
        }
    }
}

pub(crate) fn item(item: Item<RawField>) -> syn::Result<Item<Field>> {
    let mut errors = Errors::default();
    let body = match item.body {
        Body::Struct(raw) => Body::Struct(fields(raw, true, &mut errors)),
        Body::Enum(variants) => {
            let variant = |variant: Variant<RawField>| Variant {
                name: variant.name,
                fields: fields(variant.fields, false, &mut errors),
            };
            Body::Enum(variants.into_iter().map(variant).collect())
        }
    };
    // The compiler reports this too late for a type with parameters, and not at all if there are
    // other errors.
    if !item.generics.params.is_empty() || errors.has_any() {
        let fields: Vec<&Field> = match &body {
            Body::Struct(fields) => fields.iter().collect(),
            Body::Enum(variants) => variants.iter().flat_map(|variant| &variant.fields).collect(),
        };
        for field in fields {
            if field.rule.as_ref().is_some_and(Rule::is_unbounded) {
                errors.add(&field.ty, NO_BOUND);
            }
        }
    }
    errors.or(Item { name: item.name, generics: item.generics, body })
}

/// As the library says it where only the compiler can know.
const NO_BOUND: &str =
    "a `String` needs a bound: write `#[wire(max_len = 31)]` with the most bytes it can have";

fn fields(raw: Vec<RawField>, is_struct: bool, errors: &mut Errors) -> Vec<Field> {
    let condition_fields: Vec<_> = raw.iter().map(condition_field).collect();
    let count = raw.len();
    let mut valid = Vec::new();
    for (place, field) in raw.into_iter().enumerate() {
        let when = field.attributes.when.as_ref();
        if let Some(when) = when {
            errors.note(field_uses::check(&when.value, &condition_fields, place));
            if condition::is_too_long(&when.value) {
                let message = "a condition that is not made of comparisons has at most 4096 bytes: \
                               move it into a function";
                errors.add(&when.value, message);
            }
        }
        if let Some(default) = &field.attributes.default
            && is_struct
            && when.is_none()
            && field.attributes.skip.is_none()
        {
            let message = "`default` is what a field has when it is not sent: add `when` or `skip`";
            errors.add(default.name, message);
        }
        errors.note(one_field(field)).into_iter().for_each(|field| valid.push(field));
    }
    // A field with an error would seem to be missing.
    if valid.len() == count {
        valid.iter().for_each(|field| hints::check(field, &valid, errors));
    }
    valid
}

/// Returns the properties of a field that matter to conditions.
fn condition_field(field: &RawField) -> ConditionField {
    let Attributes { skip, resolution, smallest_three, unit, when, .. } = &field.attributes;
    ConditionField {
        name: member_name(&field.member),
        is_skipped: skip.is_some(),
        is_rounded: resolution.is_some() || smallest_three.is_some() || unit.is_some(),
        when: when.as_ref().map(|when| when.value.clone()),
    }
}

fn one_field(field: RawField) -> syn::Result<Field> {
    let mut attributes = field.attributes;
    let rule = match attributes.skip.take() {
        Some(_) => {
            let conditions = attributes.when.as_ref().map(|given| given.name);
            let checks = attributes.check.as_ref().map(|given| given.name);
            let hints = attributes.hints.first();
            if let Some(name) = attributes.first().or(conditions).or(checks).or(hints) {
                return Err(syn::Error::new(name, "a skipped field is not sent: remove this"));
            }
            None
        }
        None => {
            let rule = rule_of(&field.ty, &mut attributes)?;
            if let Some(name) = attributes.first() {
                return Err(syn::Error::new(name, unused(&attributes, &field.ty)));
            }
            Some(rule)
        }
    };
    let when = attributes.when.map(|given| given.value);
    let check = attributes.check.map(|given| given.value);
    let default = attributes.default.map(|given| given.value);
    let hints = attributes.hints;
    let RawField { member, binding, ty, .. } = field;
    Ok(Field { member, binding, ty, rule, when, check, default, hints })
}

/// Returns the rule of a type, and takes the attributes that it uses.
fn rule_of(ty: &Type, attributes: &mut Attributes) -> syn::Result<Rule> {
    let ty = peeled(ty);
    if let Some(max_len) = &attributes.max_len {
        in_literal_range(max_len, "max_len", 0, u32::MAX.into())?;
    }
    let is_container =
        generic(ty).is_some_and(|(name, _)| ["Vec", "Option", "Box"].contains(&name.as_str()));
    if !is_container && attributes.pod.take().is_some() {
        return Ok(Rule::Pod { ty: ty.clone() });
    }
    if let Type::Array(array) = ty {
        return array_rule(ty, array, attributes);
    }
    match generic(ty) {
        Some((name, items)) if name == "Option" && items.len() == 1 => {
            let item = items[0].clone();
            Ok(Rule::Option { rule: Box::new(rule_of(&item, attributes)?), item })
        }
        Some((name, items)) if name == "Box" && items.len() == 1 => {
            Ok(Rule::Boxed { rule: Box::new(rule_of(&items[0], attributes)?) })
        }
        Some((name, items)) if name == "Vec" && items.len() == 1 => {
            list_rule(ty, &items[0], attributes)
        }
        // Types of fixed capacity have a maximum length; an attribute can give another.
        Some((name, items))
            if name == "ArrayVec" && !items.is_empty() && attributes.first().is_some() =>
        {
            let item = items[0].clone();
            let capacity = capacity(ty);
            let max_len = attributes.max_len.take().map(|given| given.value).or(capacity);
            let Some(max_len) = max_len else { return Ok(Rule::Whole(ty.clone())) };
            Ok(Rule::List { max_len, rule: Box::new(rule_of(&item, attributes)?), item })
        }
        Some((name, _)) if name == "ArrayString" => Ok(match attributes.max_len.take() {
            Some(max_len) => Rule::Text { max_len: max_len.value },
            None => Rule::Whole(ty.clone()),
        }),
        _ if is(ty, &["String"]) => match attributes.max_len.take() {
            Some(max_len) => Ok(Rule::Text { max_len: max_len.value }),
            None if matches!(ty, Type::Path(path) if path.path.get_ident().is_some()) => {
                Ok(Rule::Unbounded(ty.clone()))
            }
            None => Err(syn::Error::new_spanned(ty, NO_BOUND)),
        },
        _ => value_rule(ty, attributes),
    }
}

fn list_rule(ty: &Type, item: &Type, attributes: &mut Attributes) -> syn::Result<Rule> {
    let Some(max_len) = attributes.max_len.take().map(|given| given.value) else {
        return Err(syn::Error::new_spanned(
            ty,
            "a `Vec` needs a bound: write `#[wire(max_len = 64)]` with the most elements it can have",
        ));
    };
    if attributes.pod.take().is_some() {
        return Ok(Rule::Pods { ty: item.clone(), max_len });
    }
    if is(item, &["String"]) || generic(item).is_some_and(|(name, _)| name == "Vec") {
        let inner = shown(item);
        let message = format!(
            "`max_len` is the bound of the outer `Vec`: put the `{inner}` into a struct, \
             with a bound of its own"
        );
        return Err(syn::Error::new_spanned(item, message));
    }
    if is(item, &["u8"]) && attributes.first().is_none() {
        return Ok(Rule::Blob { max_len });
    }
    Ok(Rule::List { max_len, rule: Box::new(rule_of(item, attributes)?), item: item.clone() })
}

fn array_rule(ty: &Type, array: &syn::TypeArray, attributes: &mut Attributes) -> syn::Result<Rule> {
    let is_vector = attributes.resolution.is_some()
        || attributes.smallest_three.is_some()
        || attributes.unit.is_some();
    if is_vector && is(&array.elem, &["f32"]) {
        return value_rule(ty, attributes);
    }
    Ok(match rule_of(&array.elem, attributes)? {
        Rule::Whole(float) if is(&float, &["f32"]) => Rule::Floats { len: array.len.clone() },
        Rule::Whole(_) => Rule::Whole(ty.clone()),
        rule => Rule::Array { len: array.len.clone(), rule: Box::new(rule) },
    })
}

/// Returns the rule of a value that is not a collection.
fn value_rule(ty: &Type, attributes: &mut Attributes) -> syn::Result<Rule> {
    let ty = ty.clone();
    if let Some(range) = attributes.range.take() {
        let (min, max) = range_bounds(&range, &ty)?;
        return Ok(Rule::Int { ty, min, max });
    }
    if is(&ty, &["f32", "f64", "bool"]) {
        let bits = attributes.bits.as_ref().map(|given| ("bits", given.name));
        let varint = attributes.varint.as_ref().map(|given| ("varint", given.name));
        if let Some((name, place)) = bits.or(varint) {
            let message =
                format!("`{name}` is for integers, and this is a `{}`: remove it", shown(&ty));
            return Err(syn::Error::new(place, message));
        }
    }
    if let Some(bits) = attributes.bits.take() {
        if is(&ty, &["i8", "i16", "i32", "i64", "i128", "isize"]) {
            let message = "`bits` are those of an unsigned number: write `range = -100..=100`";
            return Err(syn::Error::new(bits.name, message));
        }
        in_literal_range(&bits, "bits", 0, 64)?;
        return Ok(Rule::Bits { ty, bits: bits.value });
    }
    if attributes.varint.take().is_some() {
        return Ok(Rule::Varint { ty });
    }
    if let Some(bits) = attributes.smallest_three.take() {
        in_literal_range(&bits, "smallest_three", 3, 20)?;
        return Ok(Rule::SmallestThree { bits: bits.value });
    }
    if let Some(bits) = attributes.unit.take() {
        in_literal_range(&bits, "unit", 2, 20)?;
        return Ok(Rule::Unit { bits: bits.value });
    }
    if attributes.min.is_some() || attributes.max.is_some() || attributes.resolution.is_some() {
        return compressed_rule(ty, attributes);
    }
    if is(&ty, &["usize", "isize"]) {
        let message = "the width of `usize` and `isize` differs between machines: \
                       write `#[wire(range = 0..=1000)]`, or `#[wire(varint)]`";
        return Err(syn::Error::new_spanned(&ty, message));
    }
    Ok(Rule::Whole(ty))
}

/// Returns why an attribute was not used.
fn unused(attributes: &Attributes, ty: &Type) -> String {
    if attributes.max_len.is_some() {
        return "`max_len` is the bound of a `String`, a `Vec`, or one of fixed capacity: \
                write out the field's type, or remove it"
            .into();
    }
    format!("another attribute says already how the `{}` is sent: keep one", shown(ty))
}

impl Attributes {
    /// Returns the span of the first attribute that decides the wire form of the value.
    fn first(&self) -> Option<proc_macro2::Span> {
        let expressions = [
            &self.range,
            &self.bits,
            &self.min,
            &self.max,
            &self.resolution,
            &self.smallest_three,
            &self.unit,
            &self.max_len,
        ];
        let flags = [&self.varint, &self.pod];
        expressions
            .into_iter()
            .flatten()
            .map(|given| given.name)
            .chain(flags.into_iter().flatten().map(|given| given.name))
            .next()
    }
}
