//! Helpers that recognise types and number literals by their tokens: a macro cannot resolve names.

use quote::{ToTokens, quote};
use syn::{Expr, GenericArgument, PathArguments, Type};

use crate::names::{is_control, is_invisible};

pub(crate) const INTS: [&str; 12] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// Strips parentheses, and the invisible groups around types that come from macros.
pub(crate) fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => peeled(&inner.elem),
        Type::Group(inner) => peeled(&inner.elem),
        other => other,
    }
}

/// Returns the name of a generic type and its type arguments. `None` for other types, and for a
/// `Vec`, `Option` or `Box` whose path is not that of the standard library.
pub(crate) fn generic(ty: &Type) -> Option<(String, Vec<Type>)> {
    let Type::Path(path) = peeled(ty) else { return None };
    let last = path.path.segments.last()?;
    let has_known_name = ["Vec", "Option", "Box"].iter().any(|name| last.ident == name);
    if has_known_name && !can_be_standard(path) {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty.clone()),
        _ => None,
    });
    Some((last.ident.to_string(), types.collect()))
}

/// Returns the capacity of an `ArrayVec`, its last argument.
pub(crate) fn capacity(ty: &Type) -> Option<Expr> {
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

/// Whether the path can be that of a standard library type: a single name, or a path that begins
/// with `std`, `core` or `alloc`.
fn can_be_standard(path: &syn::TypePath) -> bool {
    let segments = &path.path.segments;
    let crates = ["std", "core", "alloc"];
    segments.len() == 1
        || segments.first().is_some_and(|first| crates.iter().any(|name| first.ident == name))
}

/// Whether the type has one of these names, without type arguments, and its path can be that of
/// the standard library.
pub(crate) fn is(ty: &Type, names: &[&str]) -> bool {
    let Type::Path(path) = peeled(ty) else { return false };
    can_be_standard(path)
        && path.path.segments.last().is_some_and(|last| {
            matches!(last.arguments, PathArguments::None)
                && names.iter().any(|name| last.ident == name)
        })
}

pub(crate) fn unwrapped(expression: &Expr) -> &Expr {
    match expression {
        Expr::Paren(inner) => unwrapped(&inner.expr),
        Expr::Group(inner) => unwrapped(&inner.expr),
        other => other,
    }
}

/// Returns the value of an integer literal, with or without a minus sign; `None` for other
/// expressions.
pub(crate) fn whole_literal(expression: &Expr) -> Option<i128> {
    match unwrapped(expression) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            // The magnitude of the least number is no `i128`.
            if unsigned_literal(expr) == Some(i128::MIN.unsigned_abs()) {
                return Some(i128::MIN);
            }
            whole_literal(expr).and_then(i128::checked_neg)
        }
        _ => None,
    }
}

/// Returns the value of an integer literal without a sign; `None` for other expressions.
pub(crate) fn unsigned_literal(expression: &Expr) -> Option<u128> {
    match unwrapped(expression) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        _ => None,
    }
}

/// Returns the value of a float literal, with or without a minus sign; `None` for other
/// expressions, among them integers, which a float would round.
pub(crate) fn float_literal(expression: &Expr) -> Option<f64> {
    match unwrapped(expression) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(literal), .. }) => {
            literal.base10_parse().ok()
        }
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            float_literal(expr).map(|number| -number)
        }
        _ => None,
    }
}

/// Returns the source of a type.
pub(crate) fn shown(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(' ', "")
}

/// Returns the reason why a text is not a valid name in a schema; `None` if it is valid.
pub(crate) fn name_error(name: &str) -> Option<String> {
    // Equal to `MAX_NAME` in `schema/validate.rs` of tightwire-core.
    const MAX_NAME: usize = 255;
    if name.is_empty() {
        Some("a name has at least one character: write what the check or message is for".into())
    } else if name.len() > MAX_NAME {
        Some(format!(
            "a name has at most {MAX_NAME} bytes, and this one {}: shorten it",
            name.len()
        ))
    } else if name.chars().any(is_control) {
        Some("a name is shown to people: remove the control character from it".into())
    } else if name.chars().all(is_invisible) {
        let message = "a name is shown to people, and nothing of this one can be seen: write what the \
                       check or message is for";
        Some(message.into())
    } else {
        None
    }
}
