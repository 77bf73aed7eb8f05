//! Hints for snapshots: which fields may have them.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use crate::layout::{dimensions, max_bits, none, some};
use crate::parse::{AttributeValue, Body, Errors, Hints, Item, member_name, nearest};
use crate::syntax::{INTS, is, peeled};
use crate::validate::{Field, Rule};

impl Hints {
    /// Returns the span of the first hint, if there is one.
    pub(crate) fn first(&self) -> Option<Span> {
        let audience = self.owner.as_ref().or(self.others.as_ref());
        self.first_of_number().or(audience.map(|given| given.name))
    }

    /// Returns the span of the first hint that only numbers can have, if there is one.
    fn first_of_number(&self) -> Option<Span> {
        let of = self.derivative_of.as_ref().map(|given| given.name);
        let flags = [&self.wraps, &self.spatial, &self.reference, &self.rotation];
        of.or(flags.into_iter().flatten().map(|given| given.name).next())
    }
}

/// Refuses invalid hints.
pub(crate) fn check(field: &Field, fields: &[Field], errors: &mut Errors) {
    let Hints { derivative_of, wraps, spatial, reference, rotation, owner, others } = &field.hints;
    let Some(rule) = &field.rule else { return };
    let numbers = Numbers::of(rule);
    if let Some(wraps) = wraps
        && numbers.as_ref().is_none_or(|numbers| numbers.is_scalar == Some(false))
    {
        let message = "`wraps` is for a number whose range wraps around: an integer of up to 32 bits, \
                       or a float with `min`, `max` and `resolution`";
        errors.add(wraps.name, message);
    }
    if let Some(spatial) = spatial {
        if numbers.as_ref().is_none_or(|numbers| numbers.is_scalar == Some(true)) {
            let message = "`spatial` is for a position, a vector of 2 or 3 components with `min`, \
                           `max` and `resolution`, or an array of ranged integers";
            errors.add(spatial.name, message);
        }
        let is_other =
            |other: &&Field| other.hints.spatial.is_some() && other.member != field.member;
        let first = fields.iter().find(|other| other.hints.spatial.is_some());
        if let Some(other) = first.filter(is_other) {
            let message = format!("`{}` is `spatial` already: keep one", other.name());
            errors.add(spatial.name, message);
        }
    }
    if let (Some(reference), None) = (reference, spatial) {
        let message = "`reference` is for the position that other objects move with: add `spatial`";
        errors.add(reference.name, message);
    }
    if let Some(rotation) = rotation {
        if numbers.as_ref().is_none_or(|numbers| numbers.is_scalar == Some(true)) {
            let message = "`rotation` is for a rotation as four integers of a range: the place of its \
                           largest component, and the codes of the others";
            errors.add(rotation.name, message);
        }
        if spatial.is_some() || derivative_of.is_some() {
            errors
                .add(rotation.name, "a rotation is neither a position nor a derivative: keep one");
        }
    }
    if let (Some(_), Some(others)) = (owner, others) {
        errors.add(
            others.name,
            "with both `owner` and `others`, no receiver gets the field: keep one",
        );
    }
    if let Some(of) = derivative_of {
        if let Some(wraps) = wraps {
            errors.add(wraps.name, "a field with `derivative_of` cannot have `wraps`: remove this");
        }
        if let Err(message) = derivative(field, &numbers, of, fields) {
            errors.add(of.value.span(), message);
        }
    }
}

/// Checks that the field can be the derivative of the field that it names.
fn derivative(
    field: &Field,
    numbers: &Option<Numbers>,
    of: &AttributeValue<syn::Member>,
    fields: &[Field],
) -> Result<(), String> {
    let name = member_name(&of.value);
    if name == field.name() {
        return Err(format!(
            "`{name}` cannot be its own derivative: name the field that it changes"
        ));
    }
    let Some(other) = fields.iter().find(|other| other.name() == name) else {
        let names: Vec<_> = fields.iter().map(Field::name).collect();
        return Err(match nearest(&name, names.iter().map(String::as_str)) {
            Some(near) => format!("there is no field `{name}`: did you mean `{near}`?"),
            None => format!("there is no field `{name}` beside this one"),
        });
    };
    let Some(rule) = &other.rule else {
        return Err(format!("`{name}` is skipped, and has no place in a snapshot"));
    };
    let names = |other: &Field, name: &str| {
        let of = &other.hints.derivative_of;
        of.as_ref().is_some_and(|given| member_name(&given.value) == name)
    };
    if names(other, &field.name()) {
        return Err(format!("`{name}` is the derivative of this field: they cannot both be"));
    }
    let first = fields.iter().find(|other| names(other, &name));
    if let Some(first) = first.filter(|first| first.member != field.member) {
        return Err(format!("`{}` is the derivative of `{name}` already: keep one", first.name()));
    }
    for (is_number, rule, whose) in [
        (numbers.is_some(), field.rule.as_ref(), "this field".to_owned()),
        (Numbers::of(rule).is_some(), Some(rule), format!("`{name}`")),
    ] {
        if !is_number && rule.is_some_and(is_array_of_types) {
            return Err(format!(
                "{whose} is an array of a type, and each of its elements a value of its own: make \
                 the type a newtype of the whole array"
            ));
        }
        if !is_number {
            return Err(format!(
                "{whose} is no number with a range: a derivative and its field must be integers with a range, \
                 or floats and vectors with `min`, `max` and `resolution`"
            ));
        }
    }
    Ok(())
}

/// A scalar or a vector of ordered numbers, or a type that may be a newtype of one.
struct Numbers {
    /// `None` if only the compiler knows.
    is_scalar: Option<bool>,
    components: TokenStream,
    /// Width of one component, an expression of type `u64`.
    bits: TokenStream,
}

impl Numbers {
    fn of(rule: &Rule) -> Option<Self> {
        let scalar = |bits| Self { is_scalar: Some(true), components: quote!(1usize), bits };
        let vector = |components, bits| Self { is_scalar: Some(false), components, bits };
        match rule {
            Rule::Int { .. } | Rule::Bits { .. } | Rule::Compressed { vector: None, .. } => {
                Some(scalar(max_bits(rule)))
            }
            Rule::Compressed { vector: Some(ty), .. } => Some(vector(dimensions(ty), quote!(0u64))),
            Rule::Whole(ty) if is_whole(ty) => Some(scalar(max_bits(rule))),
            Rule::Whole(ty) => match peeled(ty) {
                Type::Array(array) if is_whole(&array.elem) => {
                    let (len, bits) = (&array.len, max_bits(&Rule::Whole((*array.elem).clone())));
                    Some(vector(quote!((#len)), bits))
                }
                Type::Path(_) if !is_plain(ty) => Some(Self {
                    is_scalar: None,
                    components: quote_spanned! {ty.span() =>
                        ::tightwire::__private::newtype_components::<#ty>()
                    },
                    bits: quote_spanned!(ty.span() => ::tightwire::__private::newtype_bits::<#ty>()),
                }),
                _ => None,
            },
            Rule::Array { len, rule } => {
                let element = Self::of(rule).filter(|element| element.is_scalar == Some(true))?;
                Some(vector(quote!((#len)), element.bits))
            }
            Rule::Boxed { rule } => Self::of(rule),
            _ => None,
        }
    }
}

/// Whether the field is an array of a user's type, which may be a newtype of a number.
fn is_array_of_types(rule: &Rule) -> bool {
    let Rule::Whole(ty) = rule else { return false };
    let Type::Array(array) = peeled(ty) else { return false };
    matches!(peeled(&array.elem), Type::Path(_)) && !is_plain(&array.elem)
}

/// Whether the type is an integer of at most 32 bits, sent with its full range.
fn is_whole(ty: &Type) -> bool {
    is(ty, &["u8", "u16", "u32", "i8", "i16", "i32"])
}

/// A type of the language that is no number of a range: an error names it better than the compiler
/// does.
fn is_plain(ty: &Type) -> bool {
    is(ty, &INTS) || is(ty, &["f32", "f64", "bool", "char", "String"])
}

/// The value of `Wire::NUMBERS` of a newtype, through which hints of fields of its type see.
pub(crate) fn newtype(item: &Item<Field>) -> Option<TokenStream> {
    let Body::Struct(fields) = &item.body else { return None };
    let [Field { rule: Some(rule), when: None, check: None, .. }] = &fields[..] else {
        return None;
    };
    let Numbers { is_scalar, components, bits } = Numbers::of(rule)?;
    match (is_scalar, inner_type(rule)) {
        (None, Some(ty)) => Some(quote!(<#ty as ::tightwire::__private::Wire>::NUMBERS)),
        _ => Some(some(&quote!((#components, #bits)))),
    }
}

fn inner_type(rule: &Rule) -> Option<&Type> {
    match rule {
        Rule::Whole(ty) => Some(ty),
        Rule::Boxed { rule } => inner_type(rule),
        _ => None,
    }
}

/// Returns checks that only the compiler can make: expressions of type `u64` that are 0, or do not
/// compile.
pub(crate) fn assertions(field: &Field, fields: &[Field]) -> Vec<TokenStream> {
    let (Some(place), Some(numbers)) =
        (field.hints.first_of_number(), field.rule.as_ref().and_then(Numbers::of))
    else {
        return Vec::new();
    };
    let Numbers { is_scalar, components, bits } = numbers;
    let mut asserted = vec![quote_spanned!(place => ::tightwire::__private::hinted_bits(#bits))];
    if let (Some(wraps), None) = (&field.hints.wraps, is_scalar) {
        asserted.push(quote_spanned! {wraps.name =>
            ::tightwire::__private::wraps_components(#components)
        });
    }
    if let Some(spatial) = &field.hints.spatial {
        asserted.push(quote_spanned! {spatial.name =>
            ::tightwire::__private::spatial_components(#components)
        });
    }
    if let Some(rotation) = &field.hints.rotation {
        asserted.push(quote_spanned! {rotation.name =>
            ::tightwire::__private::rotation_components(#components, #bits)
        });
    }
    if let Some(of) = &field.hints.derivative_of
        && let Some(other) = fields.iter().find(|other| other.name() == member_name(&of.value))
        && let Some(others) = other.rule.as_ref().and_then(Numbers::of)
    {
        let (other_components, other_bits) = (others.components, others.bits);
        asserted.push(quote_spanned! {of.value.span() =>
            ::tightwire::__private::derivative_components(#components, #other_components)
        });
        asserted.push(quote_spanned! {of.value.span() =>
            ::tightwire::__private::hinted_bits(#other_bits)
        });
    }
    asserted
}

/// Returns the hints as data.
pub(crate) fn data(hints: &Hints) -> TokenStream {
    let of = match &hints.derivative_of {
        Some(of) => {
            let name = member_name(&of.value);
            some(&quote!(#name))
        }
        None => none(),
    };
    let Hints { wraps, spatial, reference, rotation, owner, others, .. } = hints;
    let flags = [wraps, spatial, reference, rotation, owner, others].map(Option::is_some);
    quote!(::tightwire::__private::hints(#of, [#(#flags),*]))
}
