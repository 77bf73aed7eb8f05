//! `#[derive(Message)]`: the name of a message.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Error, LitStr, Result};

use crate::syntax::name_error;

/// Arguments of `#[message(…)]`.
#[derive(Default)]
struct MessageAttributes {
    name: Option<LitStr>,
}

/// Returns the impl of `Message`. An impl is returned after an error too, so that the compiler does
/// not also report a missing impl.
pub(crate) fn item(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (errors, MessageAttributes { name }) = match attributes(input) {
        Ok(attributes) => (None, attributes),
        Err(error) => (Some(error.into_compile_error()), MessageAttributes::default()),
    };
    let name = name.map_or_else(|| ident.to_string(), |name| name.value());
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let depth = errors.is_none().then(|| {
        quote_spanned! {ident.span() =>
            const _: () = ::tightwire::__private::message_depth(<#ident as ::tightwire::__private::Wire>::DEPTH);
        }
    });
    quote! {
        #errors

        #[automatically_derived]
        impl #impl_generics ::tightwire::__private::Message for #ident #type_generics #where_clause {
            const NAME: &'static str = #name;
        }

        #depth
    }
}

fn attributes(input: &DeriveInput) -> Result<MessageAttributes> {
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "a message has no parameters, since its name stands for one type: make a type of each \
             that is sent",
        ));
    }
    let mut attributes = MessageAttributes::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("message")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                once(&mut attributes.name, &meta, meta.value()?.parse()?)
            } else {
                Err(meta.error("there is `name = \"…\"`"))
            }
        })?;
    }
    let given = attributes.name.as_ref().map(|name| (name.span(), name.value()));
    let (place, name) = given.unwrap_or_else(|| (input.ident.span(), input.ident.to_string()));
    match name_error(&name) {
        Some(message) => Err(Error::new(place, message)),
        None => Ok(attributes),
    }
}

fn once<T>(place: &mut Option<T>, meta: &syn::meta::ParseNestedMeta<'_>, value: T) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(meta.error("duplicate attribute: remove one"));
    }
    Ok(())
}
