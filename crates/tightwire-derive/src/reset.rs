//! Fields that are not sent.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Type;

use crate::syntax::{INTS, generic, is, peeled};
use crate::validate::{Field, Rule};

/// Generates code that sets a field that was not sent to its default, when reading.
pub(crate) fn reset(field: &Field) -> TokenStream {
    let binding = &field.binding;
    match &field.default {
        Some(default) => quote!(if __S::READING { #binding.put(#default); }),
        // A field that is never sent stays unchanged.
        None if field.rule.is_none() => TokenStream::new(),
        None => {
            let place = quote!((*__value));
            // A type that only shares its name with `String` or `Vec` may have no `clear`.
            let reset = match field.rule.as_ref().is_some_and(Rule::is_unbounded) {
                true => quote!(#place = ::tightwire::__private::core::default::Default::default();),
                false => empty(&field.ty, &place),
            };
            quote! {
                if let ::tightwire::__private::core::option::Option::Some(__value) =
                    #binding.when_reading()
                {
                    #reset
                }
            }
        }
    }
}

/// Generates code that sets a place to its default. Strings and vectors keep their memory.
fn empty(ty: &Type, target: &TokenStream) -> TokenStream {
    if is(ty, &["String"]) || is_generic(ty, "Vec") {
        return quote!(#target.clear(););
    }
    match generic(ty) {
        Some((name, items)) if name == "Box" && items.len() == 1 => {
            empty(&items[0], &quote!((*#target)))
        }
        _ => {
            let default = default_of(ty);
            quote!(#target = #default;)
        }
    }
}

pub(crate) fn default_of(ty: &Type) -> TokenStream {
    match peeled(ty) {
        // The standard library implements `Default` for short arrays only.
        Type::Array(array) => {
            let element = default_of(&array.elem);
            let len = &array.len;
            match is(&array.elem, &INTS) || is(&array.elem, &["bool", "f32", "f64"]) {
                true => quote!([#element; #len]),
                false => quote!(::tightwire::__private::core::array::from_fn(|_| #element)),
            }
        }
        _ => quote!(::tightwire::__private::core::default::Default::default()),
    }
}

fn is_generic(ty: &Type, name: &str) -> bool {
    generic(ty).is_some_and(|(found, _)| found == name)
}
