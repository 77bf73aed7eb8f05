//! The operation of a value.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Type;

use crate::layout;
use crate::syntax::{INTS, is};
use crate::validate::Rule;

/// Generates the operation of a value, an expression of type `Result`.
pub(crate) fn operation(rule: &Rule, stream: &TokenStream, target: &TokenStream) -> TokenStream {
    // An element is the parameter of a closure, or of a function, which is compiled once for all
    // types with such elements. For tuples, closures are faster.
    let each = |rule: &Rule| match rule {
        Rule::Whole(ty) if is(ty, &["bool", "f32", "f64"]) => {
            quote!(::tightwire::__private::Wire::serialize)
        }
        Rule::Whole(Type::Path(_)) => quote!(::tightwire::__private::object),
        _ => {
            let inner = operation(rule, &quote!(__stream), &quote!(__value));
            quote!(|__value, __stream| #inner)
        }
    };
    match rule {
        Rule::Whole(ty) if is(ty, &["bool"]) => quote!(#stream.bool(#target)),
        Rule::Whole(ty) if is(ty, &["f32"]) => quote!(#stream.float(#target)),
        Rule::Whole(ty) if is(ty, &["f64"]) => quote!(#stream.double(#target)),
        Rule::Whole(_) => quote!(#stream.object(#target)),
        Rule::Unbounded(ty) => quote!({
            #[allow(unused_imports)]
            use ::tightwire::__private::NotWire as _;
            ::tightwire::__private::MaybeWire::<#ty>::serialize(#target, #stream)
        }),
        Rule::Floats { len } if layout::is_short(len) => quote!(#stream.vector(#target)),
        Rule::Floats { .. } => quote!(::tightwire::__private::floats(#stream, #target)),
        Rule::Int { min, max, .. } => {
            quote!(::tightwire::__private::int(#stream, #target, #min, #max))
        }
        Rule::Bits { bits, .. } => {
            quote!(::tightwire::__private::low_bits(#stream, #target, #bits))
        }
        Rule::Varint { .. } => quote!(#stream.varint(#target)),
        Rule::Compressed { vector, .. } => {
            let range = layout::float_range(rule);
            match vector {
                None => quote!(#stream.compressed_float(#target, const { #range })),
                Some(ty) if layout::long_array(ty).is_some() => quote! {
                    ::tightwire::__private::compressed_floats(#stream, #target, const { #range })
                },
                Some(_) => quote!(#stream.compressed_vector(#target, const { #range })),
            }
        }
        Rule::SmallestThree { bits } => quote!(#stream.smallest_three(#target, #bits)),
        Rule::Unit { bits } => quote!(#stream.unit_vector(#target, #bits)),
        Rule::Pod { .. } => quote!(#stream.pod(#target)),
        Rule::Pods { max_len, .. } => {
            quote!(::tightwire::__private::pods(#stream, #target, #max_len))
        }
        Rule::Text { max_len } => quote!(::tightwire::__private::text(#stream, #target, #max_len)),
        Rule::Blob { max_len } => quote!(#stream.blob(#target, #max_len)),
        Rule::List { max_len, rule, .. } if matches!(**rule, Rule::Whole(_)) => {
            quote!(::tightwire::__private::list(#stream, #target, #max_len))
        }
        Rule::List { max_len, rule, .. } => {
            let element = each(rule);
            quote!(#stream.array(#target, #max_len, #element))
        }
        Rule::Array { rule, .. } if is_bool(rule) => {
            quote!(::tightwire::__private::Wire::serialize(#target, #stream))
        }
        Rule::Array { rule, .. } => {
            let element = each(rule);
            quote!(#stream.fixed_array(#target, #element))
        }
        Rule::Option { rule, .. } => {
            let inner = each(rule);
            quote!(#stream.option(#target, #inner))
        }
        Rule::Boxed { rule } => {
            operation(rule, stream, &quote!(::tightwire::__private::unboxed(#target)))
        }
    }
}

/// Generates the operation of a value that is one part of a run, or fills several words of it; `None` for
/// operations of several parts.
pub(crate) fn in_run(
    rule: &Rule,
    step: &TokenStream,
    name: &str,
    target: &TokenStream,
) -> Option<TokenStream> {
    let wide = ["u128", "i128"];
    let (function, arguments) = match rule {
        Rule::Whole(ty) if is(ty, &["bool"]) => (quote!(bool_in_run), quote!()),
        Rule::Whole(ty) if is(ty, &["f32"]) => (quote!(float_in_run), quote!()),
        Rule::Whole(ty) if is(ty, &["f64"]) => (quote!(double_in_run), quote!()),
        Rule::Whole(ty) if is(ty, &INTS) && !is(ty, &wide) => (quote!(whole_in_run), quote!()),
        Rule::Int { ty, min, max } if !is(ty, &wide) => (quote!(int_in_run), quote!(, #min, #max)),
        Rule::Bits { bits, .. } => (quote!(bits_in_run), quote!(, #bits)),
        Rule::Compressed { vector, .. } => {
            let range = layout::float_range(rule);
            let function = match vector {
                None => quote!(compressed_float_in_run),
                Some(ty) if layout::long_array(ty).is_some() => return None,
                Some(_) => quote!(compressed_vector_in_run),
            };
            (function, quote!(, const { #range }))
        }
        Rule::SmallestThree { bits } => (quote!(smallest_three_in_run), quote!(, #bits)),
        Rule::Unit { bits } => (quote!(unit_vector_in_run), quote!(, #bits)),
        Rule::Array { rule, .. } if is_bool(rule) => (quote!(bools_in_run), quote!()),
        Rule::Boxed { rule } => {
            return in_run(rule, step, name, &quote!(::tightwire::__private::unboxed(#target)));
        }
        _ => return None,
    };
    Some(quote!(::tightwire::__private::#function(&mut __run, #step, #name, #target #arguments)))
}

/// Whether a value is a `bool`: an array of these is packed into words.
pub(crate) fn is_bool(rule: &Rule) -> bool {
    matches!(rule, Rule::Whole(ty) if is(ty, &["bool"]))
}
