//! Parses the item and its attributes.

use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Expr, Generics, LitStr, Member, Path, Type};

use crate::field_uses;
use crate::syntax::name_error;

/// The item of the derive; `F` is a field before or after validation.
pub(crate) struct Item<F> {
    pub(crate) name: Ident,
    pub(crate) generics: Generics,
    pub(crate) body: Body<F>,
}

pub(crate) enum Body<F> {
    Struct(Vec<F>),
    Enum(Vec<Variant<F>>),
}

pub(crate) struct Variant<F> {
    pub(crate) name: Ident,
    pub(crate) fields: Vec<F>,
}

/// A field as declared.
pub(crate) struct RawField {
    pub(crate) member: Member,
    /// Name of the field's binding where a variant is destructured.
    pub(crate) binding: Ident,
    pub(crate) ty: Type,
    pub(crate) attributes: Attributes,
}

/// Attributes of one field, each with the span of its name for errors.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) range: Option<AttributeValue<Expr>>,
    pub(crate) bits: Option<AttributeValue<Expr>>,
    pub(crate) varint: Option<AttributeValue<()>>,
    pub(crate) min: Option<AttributeValue<Expr>>,
    pub(crate) max: Option<AttributeValue<Expr>>,
    pub(crate) resolution: Option<AttributeValue<Expr>>,
    pub(crate) smallest_three: Option<AttributeValue<Expr>>,
    pub(crate) unit: Option<AttributeValue<Expr>>,
    pub(crate) max_len: Option<AttributeValue<Expr>>,
    pub(crate) pod: Option<AttributeValue<()>>,
    pub(crate) when: Option<AttributeValue<Expr>>,
    pub(crate) check: Option<AttributeValue<LitStr>>,
    pub(crate) skip: Option<AttributeValue<()>>,
    pub(crate) default: Option<AttributeValue<Expr>>,
    pub(crate) hints: Hints,
}

/// Hints for snapshots.
#[derive(Default)]
pub(crate) struct Hints {
    pub(crate) derivative_of: Option<AttributeValue<Member>>,
    pub(crate) wraps: Option<AttributeValue<()>>,
    pub(crate) spatial: Option<AttributeValue<()>>,
    pub(crate) reference: Option<AttributeValue<()>>,
    pub(crate) rotation: Option<AttributeValue<()>>,
    pub(crate) owner: Option<AttributeValue<()>>,
    pub(crate) others: Option<AttributeValue<()>>,
}

/// Value of an attribute, and the span of its name.
pub(crate) struct AttributeValue<T> {
    pub(crate) name: Span,
    pub(crate) value: T,
}

const NAMES: [&str; 21] = [
    "range",
    "bits",
    "varint",
    "min",
    "max",
    "resolution",
    "smallest_three",
    "unit",
    "max_len",
    "pod",
    "when",
    "check",
    "skip",
    "default",
    "derivative_of",
    "wraps",
    "spatial",
    "reference",
    "rotation",
    "owner",
    "others",
];

pub(crate) fn item(input: &DeriveInput) -> syn::Result<Item<RawField>> {
    let mut errors = Errors::default();
    errors.note(no_attributes(&input.attrs));
    check_name(&input.ident, &mut errors);
    let body = match &input.data {
        Data::Struct(data) => Body::Struct(fields(&data.fields, &mut errors)),
        Data::Enum(data) => {
            if data.variants.is_empty() {
                errors.add(&input.ident, "an enum without variants has no values to send");
            }
            let variant = |variant: &syn::Variant| {
                errors.note(no_attributes(&variant.attrs));
                check_name(&variant.ident, &mut errors);
                let fields = fields(&variant.fields, &mut errors);
                Variant { name: variant.ident.clone(), fields }
            };
            Body::Enum(data.variants.iter().map(variant).collect())
        }
        Data::Union(data) => {
            let message = "a union does not know what it holds: write an enum";
            return Err(syn::Error::new(data.union_token.span, message));
        }
    };
    errors.or(Item { name: input.ident.clone(), generics: input.generics.clone(), body })
}

fn fields(fields: &syn::Fields, errors: &mut Errors) -> Vec<RawField> {
    let mut parsed = Vec::new();
    for (field, member) in fields.iter().zip(fields.members()) {
        let mut attributes = Attributes::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("wire")) {
            errors.note(attribute.parse_nested_meta(|meta| attributes.add(&meta)));
        }
        if let Member::Named(name) = &member {
            check_name(name, errors);
        }
        if let Some(check) = &attributes.check
            && let Some(message) = name_error(&check.value.value())
        {
            errors.add(&check.value, message);
        }
        let binding = binding(&member_name(&member));
        parsed.push(RawField { member, binding, ty: field.ty.clone(), attributes });
    }
    parsed
}

/// Refuses a name that is too long for a schema.
fn check_name(name: &Ident, errors: &mut Errors) {
    if let Some(message) = name_error(&name.unraw().to_string()) {
        errors.add(name, message);
    }
}

/// The name of a field, or its position.
pub(crate) fn member_name(member: &Member) -> String {
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Returns a name that no constant or function in an attribute can have, with the same hygiene
/// wherever the tokens came from.
pub(crate) fn binding(name: &str) -> Ident {
    format_ident!("__field_{name}", span = Span::call_site())
}

/// Refuses attributes on anything but fields.
fn no_attributes(attributes: &[syn::Attribute]) -> syn::Result<()> {
    match attributes.iter().find(|attribute| attribute.path().is_ident("wire")) {
        Some(attribute) => Err(syn::Error::new_spanned(
            attribute,
            "`wire` attributes stand on fields: move it to the field that it is about",
        )),
        None => Ok(()),
    }
}

impl Attributes {
    fn add(&mut self, meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<()> {
        let name = meta.path.get_ident().map(Ident::to_string).unwrap_or_default();
        match name.as_str() {
            "range" => set(&mut self.range, meta, number),
            "bits" => set(&mut self.bits, meta, number),
            "varint" => set(&mut self.varint, meta, nothing),
            "min" => set(&mut self.min, meta, number),
            "max" => set(&mut self.max, meta, number),
            "resolution" => set(&mut self.resolution, meta, number),
            "smallest_three" => set(&mut self.smallest_three, meta, number),
            "unit" => set(&mut self.unit, meta, number),
            "max_len" => set(&mut self.max_len, meta, number),
            "pod" => set(&mut self.pod, meta, nothing),
            "when" => set(&mut self.when, meta, expression),
            "check" => set(&mut self.check, meta, text),
            "skip" => set(&mut self.skip, meta, nothing),
            "default" => set(&mut self.default, meta, expression),
            "derivative_of" => set(&mut self.hints.derivative_of, meta, field),
            "wraps" => set(&mut self.hints.wraps, meta, nothing),
            "spatial" => set(&mut self.hints.spatial, meta, nothing),
            "reference" => set(&mut self.hints.reference, meta, nothing),
            "rotation" => set(&mut self.hints.rotation, meta, nothing),
            "owner" => set(&mut self.hints.owner, meta, nothing),
            "others" => set(&mut self.hints.others, meta, nothing),
            _ => Err(unknown(&meta.path, &name)),
        }
    }
}

fn set<T>(
    slot: &mut Option<AttributeValue<T>>,
    meta: &syn::meta::ParseNestedMeta<'_>,
    parse: impl FnOnce(&syn::meta::ParseNestedMeta<'_>) -> syn::Result<T>,
) -> syn::Result<()> {
    if slot.is_some() {
        return Err(meta.error("duplicate attribute: remove one"));
    }
    *slot = Some(AttributeValue { name: meta.path.span(), value: parse(meta)? });
    Ok(())
}

/// Parses an expression and strips its parentheses, about which the compiler would warn in the
/// generated code.
fn expression(meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<Expr> {
    let mut expression: Expr = meta.value()?.parse()?;
    while let Expr::Paren(inner) = expression {
        expression = *inner.expr;
    }
    Ok(expression)
}

/// Parses a number that both sides know before there is a value.
fn number(meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<Expr> {
    let number = expression(meta)?;
    match field_uses::first(&number) {
        Some(place) => {
            let message = "this must be known at compile time: write a number or a constant";
            Err(syn::Error::new(place, message))
        }
        None => Ok(number),
    }
}

fn text(meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    meta.value()?.parse()
}

/// Parses the name or the position of another field.
fn field(meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<Member> {
    let value = meta.value()?;
    let place = value.span();
    let message = "this is a field of the same struct: write its name, as `position`";
    value.parse().map_err(|_| syn::Error::new(place, message))
}

fn nothing(_: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<()> {
    Ok(())
}

/// Returns the known name that was probably meant.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.map(|known| (distance(name, known), known)).min()?;
    // One mistake is allowed for every three characters.
    (near.0 * 3 <= name.chars().count().max(3)).then_some(near.1)
}

/// Returns the number of characters to change, insert or delete to turn one name into the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (index, a) in one.chars().enumerate() {
        let mut diagonal = index;
        row[0] = index + 1;
        for (place, b) in other.chars().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(row[place].min(diagonal) + 1);
        }
    }
    row[other.chars().count()]
}

fn unknown(path: &Path, name: &str) -> syn::Error {
    let advice = match nearest(name, NAMES.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are `{}`", NAMES.join("`, `")),
    };
    syn::Error::new(path.span(), format!("unknown attribute: {advice}"))
}

/// All errors of an item, so that they are reported together.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn add(&mut self, place: impl Spanned, message: impl std::fmt::Display) {
        self.note(Err::<(), _>(syn::Error::new(place.span(), message)));
    }

    /// Returns the value, or records the error.
    pub(crate) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        match (result, &mut self.0) {
            (Ok(value), _) => return Some(value),
            (Err(error), Some(before)) => before.combine(error),
            (Err(error), none) => *none = Some(error),
        }
        None
    }

    /// Returns whether there were mistakes.
    pub(crate) fn has_any(&self) -> bool {
        self.0.is_some()
    }

    /// The value, unless there were mistakes.
    pub(crate) fn or<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
