//! The `where` clause of a derived implementation.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Type, parse_quote};

use crate::parse::{Body, Item};
use crate::syntax::peeled;
use crate::validate::{Field, Rule};

/// Returns the trait bounds for the types of fields that depend on a type parameter.
pub(crate) fn of_fields(item: &Item<Field>) -> Vec<syn::WherePredicate> {
    let parameters: Vec<_> = item.generics.type_params().map(|param| param.ident.clone()).collect();
    let depends = |ty: &Type| uses_parameter(ty.to_token_stream(), &parameters);
    let mut bounds = Vec::new();
    let mut add = |ty: &Type, bound: TokenStream| {
        if depends(ty) {
            bounds.push(parse_quote!(#ty: #bound));
        }
    };
    let mut of_field = |field: &Field, is_in_enum: bool| {
        if let Some(rule) = &field.rule {
            rule_bounds(rule, &mut add);
        }
        let is_made = is_in_enum || field.when.is_some();
        if is_made && field.default.is_none() {
            add(element(&field.ty), quote!(::tightwire::__private::core::default::Default));
        }
    };
    match &item.body {
        Body::Struct(fields) => fields.iter().for_each(|field| of_field(field, false)),
        Body::Enum(variants) => {
            variants.iter().flat_map(|v| &v.fields).for_each(|field| of_field(field, true));
        }
    }
    bounds
}

/// Returns the innermost element type of an array.
fn element(ty: &Type) -> &Type {
    match peeled(ty) {
        Type::Array(array) => element(&array.elem),
        other => other,
    }
}

fn rule_bounds(rule: &Rule, add: &mut impl FnMut(&Type, TokenStream)) {
    match rule {
        Rule::Whole(ty) => add(ty, quote!(::tightwire::__private::Wire)),
        Rule::List { item, rule, .. } | Rule::Option { item, rule } => {
            add(item, quote!(::tightwire::__private::core::default::Default));
            rule_bounds(rule, add);
        }
        Rule::Array { rule, .. } | Rule::Boxed { rule } => rule_bounds(rule, add),
        Rule::Int { ty, .. } | Rule::Bits { ty, .. } | Rule::Varint { ty } => {
            add(ty, quote!(::tightwire::__private::Int));
        }
        Rule::Pod { ty } | Rule::Pods { ty, .. } => add(ty, quote!(::tightwire::__private::Pod)),
        _ => {}
    }
}

fn uses_parameter(tokens: TokenStream, names: &[syn::Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => names.contains(&ident),
        proc_macro2::TokenTree::Group(group) => uses_parameter(group.stream(), names),
        _ => false,
    })
}
