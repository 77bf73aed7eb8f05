//! `#[derive(Wire)]` and `#[derive(Message)]` for the crate `tightwire`, where they are documented.
//!
//! A pipeline, a file for each step: `parse` takes the item and its attributes apart, `validate`
//! decides what each field means and refuses nonsense, with `numbers` for ranges and `looks` for what
//! a condition looks at; `expand` writes the implementation, with `condition` for what stands after
//! `when`, `layout` for what is known at compile time, `bounds` for type parameters and `describe`
//! for the schema. `syntax` is what a macro can see of a type or a number. `message` is the other
//! macro, which is small.

mod bounds;
mod condition;
mod describe;
mod expand;
mod hints;
mod layout;
mod looks;
mod message;
mod numbers;
mod parse;
mod syntax;
mod validate;

use proc_macro::TokenStream;
use syn::DeriveInput;

/// The wire form of a struct or an enum, declared once: documented in the crate `tightwire`.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let expanded = match parse::item(&input).and_then(validate::item) {
        Ok(item) => expand::item(&item),
        Err(error) => {
            // With an implementation beside the errors, they are the only ones.
            let errors = error.to_compile_error();
            let stub = expand::stub(&input);
            quote::quote!(#errors #stub)
        }
    };
    expanded.into()
}

/// A message: documented in the crate `tightwire`.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    message::item(&input).into()
}
