//! `#[derive(Wire)]` and `#[derive(Message)]` for the crate `tightwire`, where they are documented.
//!
//! The macro is a pipeline with a file for each step: `parse` parses the item and its attributes;
//! `validate` decides the wire form of each field and refuses mistakes, with `numbers` for ranges
//! and `field_uses` for the fields that a condition uses; `expand` generates the implementation,
//! with `condition` for the expression of `when`, `layout` for constants, `bounds` for type
//! parameters and `describe` for the schema. `syntax` recognises types and numbers by their source.
//! `message` is the other macro, which is small.

mod bounds;
mod condition;
mod describe;
mod expand;
mod field_uses;
mod hints;
mod layout;
mod message;
mod names;
mod numbers;
mod operation;
mod parse;
mod reset;
mod syntax;
mod through_bevy;
mod validate;
mod variants;

use proc_macro::TokenStream;
use syn::DeriveInput;

/// Declares the wire form of a struct or an enum: documented in the crate `tightwire`.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let expanded = match parse::item(&input).and_then(validate::item) {
        Ok(item) => expand::item(&item),
        Err(error) => {
            // A stub implementation prevents further errors about a missing one.
            let errors = error.to_compile_error();
            let stub = expand::stub(&input);
            quote::quote!(#errors #stub)
        }
    };
    expanded.into()
}

/// As `Wire`, for programs that have the library through `bevy_tightwire`, whose prelude has this
/// macro as `Wire`.
#[doc(hidden)]
#[proc_macro_derive(BevyWire, attributes(wire))]
pub fn derive_bevy_wire(input: TokenStream) -> TokenStream {
    through_bevy::rooted(derive_wire(input))
}

/// Declares a message: documented in the crate `tightwire`.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    message::item(&input).into()
}
