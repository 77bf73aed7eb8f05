//! What each field means, and what is refused.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Expr, GenericArgument, LitStr, Member, PathArguments, RangeLimits, Type};

use crate::looks::{self, Known};
use crate::parse::{Attributes, Body, Errors, Given, Item, RawField, Variant, member_name};

/// A field whose wire form is known.
pub(crate) struct Field {
    pub(crate) member: Member,
    pub(crate) binding: Ident,
    pub(crate) ty: Type,
    /// `None` for a field that is not sent.
    pub(crate) rule: Option<Rule>,
    pub(crate) when: Option<Expr>,
    pub(crate) check: Option<LitStr>,
    pub(crate) default: Option<Expr>,
}

impl Field {
    /// The name as in a path.
    pub(crate) fn name(&self) -> String {
        member_name(&self.member)
    }
}

/// The wire form of a value.
pub(crate) enum Rule {
    /// As its type says.
    Whole(Type),
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
    /// The type is `None` for a single float.
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
    errors.or(Item { name: item.name, generics: item.generics, body })
}

fn fields(raw: Vec<RawField>, is_struct: bool, errors: &mut Errors) -> Vec<Field> {
    let known: Vec<_> = raw.iter().map(known).collect();
    let mut valid = Vec::new();
    for (place, field) in raw.into_iter().enumerate() {
        let when = field.attributes.when.as_ref();
        if let Some(when) = when {
            errors.note(looks::check(&when.value, &known, place));
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
    valid
}

/// What conditions may want to know of a field.
fn known(field: &RawField) -> Known {
    let Attributes { skip, resolution, smallest_three, unit, when, .. } = &field.attributes;
    Known {
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
            if let Some(name) = attributes.first().or(conditions).or(checks) {
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
    let RawField { member, binding, ty, .. } = field;
    Ok(Field { member, binding, ty, rule, when, check, default })
}

/// The rule of a type, which takes the attributes that it uses.
fn rule_of(ty: &Type, attributes: &mut Attributes) -> syn::Result<Rule> {
    let ty = peeled(ty);
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
        // Those of fixed capacity have a bound; another can be given.
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
            None => Err(syn::Error::new_spanned(
                ty,
                "a `String` needs a bound: write `#[wire(max_len = 31)]` with the most bytes it can have",
            )),
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

pub(crate) const INTS: [&str; 12] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// The rule of a value that is no collection.
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

fn compressed_rule(ty: Type, attributes: &mut Attributes) -> syn::Result<Rule> {
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
        if float_literal(&given.value).is_some_and(|number| !(number as f32).is_finite()) {
            let message = format!("`{name}` must be finite: write a number that an `f32` can hold");
            return Err(syn::Error::new_spanned(&given.value, message));
        }
    }
    if let Some(step) = float_literal(&resolution.value)
        && step as f32 <= 0.0
    {
        let message = "`resolution` must be above zero: write the largest step that you can live \
                       with, as `0.01`";
        return Err(syn::Error::new_spanned(&resolution.value, message));
    }
    if let (Some(low), Some(high)) = (float_literal(&min.value), float_literal(&max.value))
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

/// The bounds of `a..=b`.
fn range_bounds(range: &Given<Expr>, ty: &Type) -> syn::Result<(Expr, Expr)> {
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
                high - 1,
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

/// The values of a primitive integer, as far as a literal can be checked against them.
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

fn in_literal_range(given: &Given<Expr>, name: &str, min: i128, max: i128) -> syn::Result<()> {
    match whole_literal(&given.value) {
        Some(number) if !(min..=max).contains(&number) => Err(syn::Error::new_spanned(
            &given.value,
            format!("`{name}` can be {min} to {max}, not {number}"),
        )),
        _ => Ok(()),
    }
}

/// A type as one writes it.
fn shown(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "")
}

/// Why an attribute was not used.
fn unused(attributes: &Attributes, ty: &Type) -> String {
    if attributes.max_len.is_some() {
        return "`max_len` is the bound of a `String`, a `Vec`, or one of fixed capacity: \
                write out the field's type, or remove it"
            .into();
    }
    format!("another attribute says already how the `{}` is sent: keep one", shown(ty))
}

impl Attributes {
    /// The place of an attribute that says how the value is sent.
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

/// The type itself: one that comes out of a macro has an invisible group around it.
pub(crate) fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => peeled(&inner.elem),
        Type::Group(inner) => peeled(&inner.elem),
        other => other,
    }
}

/// The name of a generic type and its type arguments.
pub(crate) fn generic(ty: &Type) -> Option<(String, Vec<Type>)> {
    let Type::Path(path) = peeled(ty) else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty.clone()),
        _ => None,
    });
    Some((last.ident.to_string(), types.collect()))
}

/// The capacity of an `ArrayVec`: its last argument.
fn capacity(ty: &Type) -> Option<Expr> {
    let Type::Path(path) = peeled(ty) else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else {
        return None;
    };
    match arguments.args.last()? {
        GenericArgument::Const(expression) => Some(expression.clone()),
        GenericArgument::Type(constant) => syn::parse2(quote!(#constant)).ok(),
        _ => None,
    }
}

/// Whether the type is one of these, as far as a macro can see.
pub(crate) fn is(ty: &Type, names: &[&str]) -> bool {
    let Type::Path(path) = peeled(ty) else { return false };
    path.path.segments.last().is_some_and(|last| {
        matches!(last.arguments, PathArguments::None) && names.iter().any(|name| last.ident == name)
    })
}

pub(crate) fn unwrapped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => unwrapped(&inner.expr),
        Expr::Group(inner) => unwrapped(&inner.expr),
        other => other,
    }
}

/// The number, if it is written as one.
pub(crate) fn whole_literal(expression: &Expr) -> Option<i128> {
    match unwrapped(expression) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            whole_literal(expr).map(|number| -number)
        }
        _ => None,
    }
}

pub(crate) fn float_literal(expression: &Expr) -> Option<f64> {
    match unwrapped(expression) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(literal), .. }) => {
            literal.base10_parse().ok()
        }
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            float_literal(expr).map(|number| -number)
        }
        _ => None,
    }
}

/// A whole number may stand where a float is meant.
fn as_float(expression: &Expr) -> TokenStream {
    let Some(whole) = whole_literal(expression) else { return quote!(#expression) };
    let mut number = Literal::f32_suffixed(whole.unsigned_abs() as f32);
    number.set_span(expression.span());
    if whole < 0 { quote!(-#number) } else { quote!(#number) }
}
