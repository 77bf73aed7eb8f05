//! `#[derive(Message)]`: a name and a bound on the size.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Expr, LitStr, Result};

/// What `#[message(…)]` says.
#[derive(Default)]
struct Attributes {
    name: Option<LitStr>,
    size_upper_bound: Option<Expr>,
}

/// The implementation.
pub(crate) fn item(input: &DeriveInput) -> Result<TokenStream> {
    let attributes = attributes(input)?;
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "a message has no parameters, since its name stands for one type: make a type of each \
             that is sent",
        ));
    }
    let name = match attributes.name {
        Some(name) if name.value().is_empty() => {
            return Err(Error::new_spanned(name, "name: a message needs one"));
        }
        Some(name) => name.value(),
        None => input.ident.to_string(),
    };
    let bound = attributes.size_upper_bound.map_or_else(
        || quote!(<Self as ::tightwire::Wire>::MAX_BYTES),
        // In a function of its own, so that it sees nothing but `self`.
        |bound| quote!(#bound),
    );
    let ident = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl ::tightwire::Message for #ident {
            const NAME: &'static str = #name;

            fn size_upper_bound(&self) -> usize {
                #bound
            }
        }
    })
}

fn attributes(input: &DeriveInput) -> Result<Attributes> {
    let mut attributes = Attributes::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("message")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                once(&mut attributes.name, &meta, meta.value()?.parse()?)
            } else if meta.path.is_ident("size_upper_bound") {
                once(&mut attributes.size_upper_bound, &meta, meta.value()?.parse()?)
            } else {
                Err(meta.error("there are `name = \"…\"` and `size_upper_bound = …`"))
            }
        })?;
    }
    Ok(attributes)
}

fn once<T>(place: &mut Option<T>, meta: &syn::meta::ParseNestedMeta<'_>, value: T) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(meta.error("given twice"));
    }
    Ok(())
}
