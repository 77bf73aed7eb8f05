//! The numbers of attributes: ranges, and floats with their resolution.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Expr, RangeLimits, Type};

use crate::parse::{AttributeValue, Attributes};
use crate::syntax::{INTS, float_literal, is, peeled, shown, unwrapped, whole_literal};
use crate::validate::Rule;

pub(crate) fn compressed_rule(ty: Type, attributes: &mut Attributes) -> syn::Result<Rule> {
    let (min, max, resolution) =
        (attributes.min.take(), attributes.max.take(), attributes.resolution.take());
    let (Some(min), Some(max), Some(resolution)) = (&min, &max, &resolution) else {
        let given = [&min, &max, &resolution].into_iter().flatten().next();
        let name = given.map_or(ty.span(), |given| given.name);
        let message = if is(&ty, &INTS) {
            "an integer has a range: write `range = 0..=100`"
        } else {
            "a compressed float needs all three: write `min = -1.0, max = 1.0, resolution = 0.01`"
        };
        return Err(syn::Error::new(name, message));
    };
    if is(&ty, &INTS) {
        let message = "an integer needs no resolution: write `range = 0..=100`";
        return Err(syn::Error::new(resolution.name, message));
    }
    if is(&ty, &["f64"]) {
        let message = "only an `f32` can be compressed: change the field's type, \
                       or send the `f64` whole";
        return Err(syn::Error::new_spanned(&ty, message));
    }
    for (name, given) in [("min", min), ("max", max), ("resolution", resolution)] {
        if number_literal(&given.value).is_some_and(|number| !(number as f32).is_finite()) {
            let message = format!("`{name}` must be finite: write a number that an `f32` can hold");
            return Err(syn::Error::new_spanned(&given.value, message));
        }
    }
    if let Some(step) = number_literal(&resolution.value)
        && step as f32 <= 0.0
    {
        let message = "`resolution` must be above zero: write the largest step that you can live \
                       with, as `0.01`";
        return Err(syn::Error::new_spanned(&resolution.value, message));
    }
    if let (Some(low), Some(high)) = (number_literal(&min.value), number_literal(&max.value))
        && low >= high
    {
        let message = format!("`min` must be below `max`: {low} is not below {high}");
        return Err(syn::Error::new_spanned(&min.value, message));
    }
    Ok(Rule::Compressed {
        vector: (!is(&ty, &["f32"])).then_some(ty),
        min: as_float(&min.value),
        max: as_float(&max.value),
        resolution: as_float(&resolution.value),
    })
}

/// Returns the bounds of `a..=b`.
pub(crate) fn range_bounds(range: &AttributeValue<Expr>, ty: &Type) -> syn::Result<(Expr, Expr)> {
    let error = |message: String| Err(syn::Error::new_spanned(&range.value, message));
    let Expr::Range(bounds) = unwrapped(&range.value) else {
        return error("write both bounds, as in `range = 0..=100`".into());
    };
    let (Some(min), Some(max)) = (bounds.start.as_deref(), bounds.end.as_deref()) else {
        return error("a range needs both bounds: write `range = 0..=100`".into());
    };
    let (low, high) = (whole_literal(min), whole_literal(max));
    if matches!(bounds.limits, RangeLimits::HalfOpen(_)) {
        return match (low, high) {
            (Some(low), Some(high)) if low >= high => {
                error(format!("the range is empty: write `{low}..={high}`, or a larger end"))
            }
            (_, Some(high)) => error(format!(
                "the end of a range is part of it: write `{}..={}`",
                min.to_token_stream(),
                high.saturating_sub(1),
            )),
            _ => error("the end of a range is part of it: write `..=`".into()),
        };
    }
    if is(ty, &["f32", "f64"]) {
        let message = "a float needs `min`, `max` and `resolution` instead of a range";
        return Err(syn::Error::new(range.name, message));
    }
    if is(ty, &["bool"]) {
        return Err(syn::Error::new(range.name, "a `bool` is one bit already: remove `range`"));
    }
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        return error(format!("the range is reversed: write `{high}..={low}`"));
    }
    for bound in [min, max] {
        if let Some((smallest, largest)) = limits(ty)
            && let Some(number) = whole_literal(bound)
            && !(smallest..=largest).contains(&number)
        {
            let name = shown(ty);
            let message =
                format!("{number} is not a value of `{name}`: it has {smallest}..={largest}");
            return Err(syn::Error::new_spanned(bound, message));
        }
    }
    Ok((unwrapped(min).clone(), unwrapped(max).clone()))
}

/// Returns the range of a primitive integer type, as far as `i128` can hold it. `None` for other
/// types, and for `i128`, `usize` and `isize`, whose literals are not checked.
fn limits(ty: &Type) -> Option<(i128, i128)> {
    let Type::Path(path) = peeled(ty) else { return None };
    let name = path.path.get_ident()?.to_string();
    let signed = name.starts_with('i');
    match name.strip_prefix(['u', 'i'])?.parse::<u32>().ok()? {
        bits @ (8 | 16 | 32 | 64) if signed => Some((-1 << (bits - 1), (1 << (bits - 1)) - 1)),
        bits @ (8 | 16 | 32 | 64) => Some((0, (1 << bits) - 1)),
        128 if !signed => Some((0, i128::MAX)),
        _ => None,
    }
}

pub(crate) fn in_literal_range(
    given: &AttributeValue<Expr>,
    name: &str,
    min: i128,
    max: i128,
) -> syn::Result<()> {
    match whole_literal(&given.value) {
        Some(number) if !(min..=max).contains(&number) => Err(syn::Error::new_spanned(
            &given.value,
            format!("`{name}` can be {min} to {max}, not {number}"),
        )),
        _ => Ok(()),
    }
}

/// Returns the value of a literal of a float attribute, where an integer is accepted too; `None` for
/// other expressions.
fn number_literal(expression: &Expr) -> Option<f64> {
    whole_literal(expression).map(|whole| whole as f64).or_else(|| float_literal(expression))
}

/// Converts a number for a float attribute, where an integer literal is accepted too.
fn as_float(expression: &Expr) -> TokenStream {
    let Some(whole) = whole_literal(expression) else { return quote!(#expression) };
    let mut number = Literal::f32_suffixed(whole.unsigned_abs() as f32);
    number.set_span(expression.span());
    if whole < 0 { quote!(-#number) } else { quote!(#number) }
}
