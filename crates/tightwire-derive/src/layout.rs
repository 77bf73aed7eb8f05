//! The layout of a type as constant expressions.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Type};

use crate::hints;
use crate::operation::is_bool;
use crate::parse::{Body, Item};
use crate::syntax::{INTS, is, peeled, whole_literal};
use crate::validate::{Field, Rule};

/// Width of a field, if it is fixed.
pub(crate) enum Width {
    /// A fixed width: an expression of type `Option<u32>` that is `Some`.
    Fixed(TokenStream),
    /// A width that only the compiler knows: an expression of type `Option<u32>`.
    CompileTime(TokenStream),
    Varies,
}

impl Width {
    /// Returns the width as an expression of type `Option<u32>`.
    pub(crate) fn slot(&self) -> TokenStream {
        match self {
            Self::Fixed(width) | Self::CompileTime(width) => width.clone(),
            Self::Varies => none(),
        }
    }
}

pub(crate) fn none() -> TokenStream {
    quote!(::tightwire::__private::core::option::Option::None)
}

pub(crate) fn some(width: &TokenStream) -> TokenStream {
    quote!(::tightwire::__private::core::option::Option::Some(#width))
}

/// Layout of a type: the slots of each variant, and its constants.
pub(crate) struct Layout {
    pub(crate) slots: Vec<TokenStream>,
    pub(crate) max_bits: TokenStream,
    pub(crate) fixed_bits: TokenStream,
    /// Levels of the schema.
    pub(crate) depth: TokenStream,
}

pub(crate) fn layout(item: &Item<Field>) -> Layout {
    let slots_of = |first: Option<TokenStream>, fields: &[Field]| {
        let slots = first.into_iter().chain(slots(fields));
        quote!(#(#slots),*)
    };
    let depth = depth(item);
    match &item.body {
        Body::Struct(fields) => {
            let most = fields_max_bits(fields);
            Layout {
                depth,
                slots: vec![slots_of(None, fields)],
                max_bits: quote!(0u64 #(.saturating_add(#most))*),
                fixed_bits: quote! {
                    ::tightwire::__private::fixed_bits(<Self as ::tightwire::__private::Slots>::SLOTS[0])
                },
            }
        }
        Body::Enum(variants) => {
            let count = variants.len();
            let ordinal = quote!(::tightwire::__private::ordinal_bits(#count));
            let largest = variants.iter().fold(quote!(0u64), |largest, variant| {
                let most = fields_max_bits(&variant.fields);
                quote!(::tightwire::__private::max(#largest, 0u64 #(.saturating_add(#most))*))
            });
            Layout {
                depth,
                slots: variants
                    .iter()
                    .map(|variant| slots_of(Some(some(&ordinal)), &variant.fields))
                    .collect(),
                max_bits: quote!((#ordinal as u64).saturating_add(#largest)),
                fixed_bits: quote! {
                    ::tightwire::__private::fixed_enum_bits(<Self as ::tightwire::__private::Slots>::SLOTS)
                },
            }
        }
    }
}

/// Returns the largest size of each field in bits.
fn fields_max_bits(fields: &[Field]) -> Vec<TokenStream> {
    let mut most = Vec::new();
    for field in fields {
        most.extend(field.rule.iter().map(max_bits));
        most.extend(field.check.iter().map(|_| quote!(32)));
        most.extend(hints::assertions(field, fields));
    }
    most
}

/// Groups consecutive fields that are sent under the same condition, or under none.
pub(crate) fn groups(fields: &[Field]) -> Vec<(Option<&Expr>, Vec<&Field>)> {
    let mut groups: Vec<(Option<&Expr>, Vec<&Field>)> = Vec::new();
    for field in fields {
        let when = field.when.as_ref();
        match groups.last_mut() {
            // A field that is not sent has no condition, and does not end a group.
            Some((before, group)) if field.rule.is_none() || *before == when => group.push(field),
            _ => groups.push((when, vec![field])),
        }
    }
    groups
}

/// Divides a group into fields, and up to four compressed floats that are quantised at once.
pub(crate) fn parts<'a, 'f>(group: &'a [&'f Field]) -> impl Iterator<Item = &'a [&'f Field]> {
    /// The number of compressed floats that are quantised at once.
    const MAX_FLOATS: usize = 4;
    group.chunk_by(|a, b| is_float(a) && is_float(b)).flat_map(|fields| fields.chunks(MAX_FLOATS))
}

/// Returns whether a field is a compressed float that no `check` follows.
fn is_float(field: &Field) -> bool {
    matches!(field.rule, Some(Rule::Compressed { vector: None, .. })) && field.check.is_none()
}

/// Returns the slots of the fields; a slot between groups ends the run.
fn slots(fields: &[Field]) -> Vec<TokenStream> {
    let mut slots = Vec::new();
    for (index, (when, group)) in groups(fields).into_iter().enumerate() {
        if index > 0 || when.is_some() {
            slots.push(none());
        }
        for fields in parts(&group) {
            let [field] = fields else {
                let rules = fields.iter().filter_map(|field| field.rule.as_ref());
                let widths = rules.map(|rule| width(rule).slot());
                slots.push(quote!(::tightwire::__private::fixed_bits(&[#(#widths),*])));
                continue;
            };
            slots.extend(field.rule.iter().map(|rule| width(rule).slot()));
            // A protocol can leave checks out, so a check is part of no run.
            slots.extend(field.check.iter().map(|_| none()));
        }
    }
    slots
}

/// Returns the number of levels of the type's shape, as an expression of type `u32`.
fn depth(item: &Item<Field>) -> TokenStream {
    let (own, fields): (u32, Vec<&Field>) = match &item.body {
        Body::Struct(fields) => (1, fields.iter().collect()),
        // A variant is a level.
        Body::Enum(variants) => (2, variants.iter().flat_map(|variant| &variant.fields).collect()),
    };
    let levels = fields.iter().filter_map(|field| field.rule.as_ref()).map(levels);
    let mut known = own;
    let mut others: Vec<TokenStream> = Vec::new();
    for (outside, inside) in levels {
        match inside {
            None => known = known.max(own + outside + 1),
            Some(inside) => {
                let outside = own + outside;
                others.push(quote!(#inside + #outside));
            }
        }
    }
    quote_spanned!(item.name.span() => ::tightwire::__private::depth(#known, &[#(#others),*]))
}

/// Returns the number of levels around the innermost value of a rule, and the number of levels of
/// that value as an expression; `None` if it has one level.
fn levels(rule: &Rule) -> (u32, Option<TokenStream>) {
    let inside = |rule: &Rule| {
        let (levels, inside) = levels(rule);
        (levels + 1, inside)
    };
    match rule {
        Rule::Whole(ty) => whole_levels(ty),
        Rule::List { rule, .. } | Rule::Array { rule, .. } | Rule::Option { rule, .. } => {
            inside(rule)
        }
        Rule::Boxed { rule } => levels(rule),
        Rule::Pods { .. } => (1, None),
        Rule::Floats { len } => (u32::from(!is_short(len)), None),
        Rule::Compressed { vector: Some(ty), .. } => (u32::from(long_array(ty).is_some()), None),
        _ => (0, None),
    }
}

/// Returns the levels of a type that is serialized by its own `Wire`, as in [`levels`]. The
/// expression names the whole type, since `T: Wire` is the only bound of a type with parameters.
fn whole_levels(ty: &Type) -> (u32, Option<TokenStream>) {
    match plain_levels(ty) {
        Some(levels) => (levels, None),
        None => (0, Some(quote!(<#ty as ::tightwire::__private::Wire>::DEPTH))),
    }
}

/// Returns the number of arrays around a number; `None` if the innermost type is not a number.
fn plain_levels(ty: &Type) -> Option<u32> {
    match peeled(ty) {
        Type::Array(array) => plain_levels(&array.elem).map(|levels| levels + 1),
        ty => (is(ty, &INTS) || is(ty, &["bool", "f32", "f64"])).then_some(0),
    }
}

/// Whether an array of floats is known to be short enough for a vector of a schema.
pub(crate) fn is_short(len: &Expr) -> bool {
    whole_literal(len).is_some_and(|len| len <= MAX_DIMENSIONS)
}

/// Returns the length of an array of floats that may be too long for a vector of a schema; `None`
/// for other types and for [short](is_short) arrays.
pub(crate) fn long_array(vector: &Type) -> Option<&Expr> {
    match peeled(vector) {
        Type::Array(array) => Some(&array.len).filter(|len| !is_short(len)),
        _ => None,
    }
}

/// Returns the length of an array of at most four floats, whose bits are always a fixed number.
fn short_array(vector: &Type) -> Option<u32> {
    match peeled(vector) {
        Type::Array(array) => literal(&array.len, 4),
        _ => None,
    }
}

/// Returns a length that is a literal of at most `max`.
fn literal(len: &Expr, max: u32) -> Option<u32> {
    let len = u32::try_from(whole_literal(len)?).ok()?;
    (len <= max).then_some(len)
}

/// Maximum number of components of a vector in a schema; the library has the same constant.
const MAX_DIMENSIONS: i128 = 64;

/// Returns the width of a value.
pub(crate) fn width(rule: &Rule) -> Width {
    let fixed = |bits: TokenStream| Width::Fixed(some(&bits));
    match rule {
        Rule::Whole(ty) => {
            Width::CompileTime(quote!(<#ty as ::tightwire::__private::Wire>::FIXED_BITS))
        }
        Rule::Floats { len } if let Some(len) = literal(len, 4) => fixed(quote!((32 * #len))),
        Rule::Floats { len } => {
            let float = some(&quote!(32));
            Width::CompileTime(quote!(::tightwire::__private::array_bits(#float, #len)))
        }
        Rule::Int { ty, min, max } => fixed(int_bits(ty, min, max)),
        Rule::Bits { ty, bits } => fixed(low_bits(ty, bits)),
        Rule::Compressed { vector: None, .. } => {
            let range = float_range(rule);
            fixed(quote!(#range.width()))
        }
        Rule::Compressed { vector: Some(ty), .. } if let Some(len) = short_array(ty) => {
            let range = float_range(rule);
            fixed(quote!((#range.width() * #len)))
        }
        Rule::Compressed { vector: Some(ty), .. } => {
            let range = float_range(rule);
            let dimensions = dimensions(ty);
            let element = some(&quote!(#range.width()));
            Width::CompileTime(quote!(::tightwire::__private::array_bits(#element, #dimensions)))
        }
        Rule::SmallestThree { bits } => fixed(smallest_three_bits(bits)),
        Rule::Unit { bits } => fixed(unit_bits(bits)),
        Rule::Array { len, rule }
            if is_bool(rule)
                && let Some(len) = literal(len, 64) =>
        {
            fixed(quote!(#len))
        }
        Rule::Array { len, rule } if is_bool(rule) => {
            Width::CompileTime(quote!(<[bool; #len] as ::tightwire::__private::Wire>::FIXED_BITS))
        }
        Rule::Array { len, rule } => {
            let element = width(rule).slot();
            Width::CompileTime(quote!(::tightwire::__private::array_bits(#element, #len)))
        }
        Rule::Boxed { rule } => width(rule),
        Rule::Unbounded(_)
        | Rule::Varint { .. }
        | Rule::Pod { .. }
        | Rule::Pods { .. }
        | Rule::Text { .. }
        | Rule::Blob { .. }
        | Rule::List { .. }
        | Rule::Option { .. } => Width::Varies,
    }
}

/// Returns the largest size of a value in bits, an expression of type `u64`.
pub(crate) fn max_bits(rule: &Rule) -> TokenStream {
    match rule {
        Rule::Whole(ty) => quote!(<#ty as ::tightwire::__private::Wire>::MAX_BITS),
        Rule::Unbounded(ty) => quote_spanned! {ty.span() => {
            #[allow(unused_imports)]
            use ::tightwire::__private::NotWire as _;
            type __MaybeWire = ::tightwire::__private::MaybeWire<#ty>;
            ::tightwire::__private::own_bits(__MaybeWire::IS_WIRE, __MaybeWire::MAX_BITS)
        }},
        Rule::Floats { len } => quote!((32 * (#len) as u64)),
        Rule::Int { ty, min, max } => {
            let bits = int_bits(ty, min, max);
            quote!((#bits as u64))
        }
        Rule::Bits { ty, bits } => {
            let bits = low_bits(ty, bits);
            quote!((#bits as u64))
        }
        Rule::Varint { ty } => {
            quote!(::tightwire::__private::varint_bits(<#ty as ::tightwire::__private::Int>::BITS))
        }
        Rule::Compressed { vector, .. } => {
            let range = float_range(rule);
            let dimensions = vector.as_ref().map_or(quote!(1), dimensions);
            quote!((#range.width() as u64 * #dimensions as u64))
        }
        Rule::SmallestThree { bits } => {
            let bits = smallest_three_bits(bits);
            quote!((#bits as u64))
        }
        Rule::Unit { bits } => {
            let bits = unit_bits(bits);
            quote!((#bits as u64))
        }
        Rule::Pod { ty } => {
            quote!((7 + 8 * ::tightwire::__private::core::mem::size_of::<#ty>() as u64))
        }
        Rule::Pods { ty, max_len } => quote_spanned! {max_len.span() =>
            (7 + ::tightwire::__private::list_bits(
                #max_len,
                8 * ::tightwire::__private::core::mem::size_of::<#ty>() as u64,
            ))
        },
        Rule::Text { max_len } | Rule::Blob { max_len } => {
            quote_spanned!(max_len.span() => ::tightwire::__private::text_bits(#max_len))
        }
        Rule::List { max_len, rule, .. } => {
            let element = max_bits(rule);
            quote_spanned! {max_len.span() =>
                ::tightwire::__private::list_bits(#max_len, #element)
            }
        }
        Rule::Array { len, rule } => {
            let element = max_bits(rule);
            quote_spanned! {len.span() =>
                #element.saturating_mul(::tightwire::__private::array_len(#len))
            }
        }
        Rule::Option { rule, .. } => {
            let inner = max_bits(rule);
            quote!(#inner.saturating_add(1))
        }
        Rule::Boxed { rule } => max_bits(rule),
    }
}

/// Returns the width of a range, and checks that it is not reversed.
fn int_bits(ty: &Type, min: &Expr, max: &Expr) -> TokenStream {
    // Not named `low`: with a constant of that name, the binding would be a constant pattern.
    let (low, high) = (quote!(__low), quote!(__high));
    let checked = quote_spanned! {min.span() =>
        ::tightwire::__private::int_bits(#low <= #high, #low as i128 as u128, #high as i128 as u128)
    };
    quote!({
        let (#low, #high): (#ty, #ty) = (#min, #max);
        #checked
    })
}

fn low_bits(ty: &Type, bits: &Expr) -> TokenStream {
    quote_spanned! {bits.span() =>
        ::tightwire::__private::low_bits_width(#bits, <#ty as ::tightwire::__private::Int>::BITS)
    }
}

fn smallest_three_bits(bits: &Expr) -> TokenStream {
    quote_spanned!(bits.span() => ::tightwire::__private::smallest_three_bits(#bits))
}

fn unit_bits(bits: &Expr) -> TokenStream {
    quote_spanned!(bits.span() => ::tightwire::__private::unit_bits(#bits))
}

/// Returns the number of components of a vector type.
pub(crate) fn dimensions(ty: &Type) -> TokenStream {
    match peeled(ty) {
        Type::Array(_) => quote!(::tightwire::__private::dimensions::<#ty, _>()),
        ty => quote_spanned!(ty.span() => ::tightwire::__private::checked_dimensions::<#ty, _>()),
    }
}

/// Returns the `FloatRange` of a compressed float, and checks that it is valid.
pub(crate) fn float_range(rule: &Rule) -> TokenStream {
    match rule {
        Rule::Compressed { min, max, resolution, .. } => quote_spanned! {resolution.span() =>
            ::tightwire::__private::float_range(#min, #max, #resolution)
        },
        _ => TokenStream::new(),
    }
}
