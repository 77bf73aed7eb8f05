//! The variants of an enum.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;

use crate::expand::{Place, binding, is_used, parts, pattern, return_on_error, steps, tuple};
use crate::parse::Variant;
use crate::reset::default_of;
use crate::syntax::{INTS, is};
use crate::validate::{Field, Rule};

/// Generates the ordinal, then the fields of that variant. A writer puts the ordinal into the first
/// run.
pub(crate) fn serialize_enum(variants: &[Variant<Field>]) -> TokenStream {
    let count = variants.len();
    let names = variants.iter().map(|variant| variant.name.unraw().to_string());
    let arms = variants.iter().enumerate().map(|(ordinal, variant)| {
        let (name, arm) = (&variant.name, serialize_variant(ordinal, variant));
        quote! {
            if ::tightwire::__private::is_variant::<__S>(
                __ordinal,
                #ordinal,
                #count,
                ::tightwire::__private::core::matches!(&*__this, Self::#name { .. }),
            ) {
                #arm
                break '__variant;
            }
        }
    });
    let read_ordinal = return_on_error(quote!(::tightwire::__private::ordinal(
        __run.stream(),
        &mut __ordinal,
        &__NAMES
    )));
    quote! {
        const __NAMES: [&str; #count] = [#(#names),*];
        let mut __ordinal: usize = 0;
        if __S::READING {
            #read_ordinal
        }
        '__variant: {
            #(#arms)*
        }
    }
}

fn serialize_variant(ordinal: usize, variant: &Variant<Field>) -> TokenStream {
    let name = &variant.name;
    let write_ordinal = return_on_error(
        quote!(::tightwire::__private::write_ordinal(&mut __run, #ordinal, &__NAMES)),
    );
    let end = return_on_error(quote!(__run.end_run()));
    let name_text = name.unraw().to_string();
    let members = variant.fields.iter().map(|field| &field.member);
    let defaults = variant.fields.iter().map(|field| match &field.default {
        Some(default) => default.to_token_stream(),
        None => default_of(&field.ty),
    });
    let fresh = quote!(Self::#name { #(#members: #defaults),* });
    if variant.fields.is_empty() {
        return quote! {
            if __S::READING { __this.put(#fresh); } else { #write_ordinal }
            #end
        };
    }
    let place =
        Place::Variant { has_conditions: variant.fields.iter().any(|field| field.when.is_some()) };
    let used: Vec<&Field> = variant.fields.iter().filter(|field| is_used(field)).collect();
    let parts = parts(&pattern(&quote!(Self::#name), &used), &used, true);
    let bindings = tuple(&used, &|field| binding(field, place));
    let steps = steps(&variant.fields, ordinal, place);
    // The same variant is read into, so that strings and arrays keep their memory. For variants
    // without such memory the test is left out, since its branch would be mispredicted.
    let keeps_memory =
        !variant.fields.iter().all(|field| field.rule.as_ref().is_some_and(is_plain));
    let is_other = keeps_memory
        .then(|| quote!(&&!::tightwire::__private::core::matches!(&*__this, Self::#name { .. })));
    quote! {
        if __S::READING #is_other {
            __this.put(#fresh);
        }
        if let ::tightwire::__private::core::option::Option::Some(#bindings) = #parts {
            if __S::WRITING {
                #write_ordinal
            }
            __run.enter_variant(#name_text);
            #steps
            // Ended here, where the position in the run is known, and not after all variants.
            #end
            __run.leave();
        }
    }
}

/// Whether a value certainly owns no heap memory.
fn is_plain(rule: &Rule) -> bool {
    match rule {
        Rule::Whole(ty) => is(ty, &INTS) || is(ty, &["bool", "f32", "f64"]),
        Rule::Array { rule, .. } => is_plain(rule),
        Rule::Floats { .. }
        | Rule::Int { .. }
        | Rule::Bits { .. }
        | Rule::Varint { .. }
        | Rule::Compressed { .. }
        | Rule::SmallestThree { .. }
        | Rule::Unit { .. }
        | Rule::Pod { .. } => true,
        Rule::Unbounded(_)
        | Rule::Text { .. }
        | Rule::Blob { .. }
        | Rule::Pods { .. }
        | Rule::List { .. }
        | Rule::Option { .. }
        | Rule::Boxed { .. } => false,
    }
}
