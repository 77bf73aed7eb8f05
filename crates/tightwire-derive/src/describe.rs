//! The wire form as data: expressions that make a `Shape`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

use crate::condition;
use crate::hints;
use crate::layout::{dimensions, float_range, is_short, long_array};
use crate::parse::{Body, Hints, Item};
use crate::validate::{Field, Rule};

/// Returns the shape of a whole type.
pub(crate) fn item(item: &Item<Field>) -> TokenStream {
    let name = name(&item.name.unraw().to_string());
    match &item.body {
        Body::Struct(members) => {
            let fields = fields(members);
            quote!(::tightwire::__private::Shape::Struct { name: #name, fields: #fields })
        }
        Body::Enum(variants) => {
            let variants = variants.iter().map(|variant| {
                let name = self::name(&variant.name.unraw().to_string());
                let fields = fields(&variant.fields);
                quote!(::tightwire::__private::Variant { name: #name, fields: #fields })
            });
            quote! {
                ::tightwire::__private::Shape::Enum {
                    name: #name,
                    variants: ::tightwire::__private::vec![#(#variants),*],
                }
            }
        }
    }
}

/// Returns an expression for a name. The expression calls no trait method, since the trait may not
/// be in scope in the user's code.
pub(crate) fn name(name: &str) -> TokenStream {
    quote!(::tightwire::__private::name(#name))
}

fn fields(fields: &[Field]) -> TokenStream {
    let mut described = Vec::new();
    for field in fields {
        let Some(rule) = &field.rule else { continue };
        let name = name(&field.name());
        let when = match &field.when {
            Some(when) => {
                let condition = condition::data(when);
                quote!(::tightwire::__private::core::option::Option::Some(#condition))
            }
            None => quote!(::tightwire::__private::core::option::Option::None),
        };
        let (hints, shape) = (hints::data(&field.hints), shape(rule));
        described.push(quote! {
            ::tightwire::__private::Field {
                name: #name,
                when: #when,
                hints: #hints,
                shape: #shape,
            }
        });
        if let Some(check) = &field.check {
            let (name, no_hints) = (self::name(&check.value()), hints::data(&Hints::default()));
            described.push(quote! {
                ::tightwire::__private::Field {
                    name: #name,
                    when: #when,
                    hints: #no_hints,
                    shape: ::tightwire::__private::check_shape(#check),
                }
            });
        }
    }
    let described = quote!(::tightwire::__private::vec![#(#described),*]);
    match fields.iter().any(|field| field.when.is_some()) {
        true => quote!(::tightwire::__private::conditional(#described)),
        false => described,
    }
}

fn shape(rule: &Rule) -> TokenStream {
    let op = |op: TokenStream| quote!(::tightwire::__private::Shape::Op(::tightwire::__private::Op::#op));
    let boxed = |rule: &Rule| {
        let inner = shape(rule);
        quote!(::tightwire::__private::Box::new(#inner))
    };
    match rule {
        Rule::Whole(ty) => quote!(<#ty as ::tightwire::__private::Wire>::describe()),
        Rule::Unbounded(ty) => quote!({
            #[allow(unused_imports)]
            use ::tightwire::__private::NotWire as _;
            ::tightwire::__private::MaybeWire::<#ty>::describe()
        }),
        Rule::Floats { len } if is_short(len) => op(quote!(Vector { dimensions: #len })),
        Rule::Floats { len } => quote!(::tightwire::__private::floats_shape(#len)),
        Rule::Int { ty, min, max } => {
            quote!(::tightwire::__private::int_shape::<#ty>(#min, #max))
        }
        Rule::Bits { bits, .. } => op(quote!(Bits { width: #bits })),
        Rule::Varint { ty } => {
            quote!(::tightwire::__private::Shape::Op(::tightwire::__private::Op::varint::<#ty>()))
        }
        Rule::Compressed { vector: None, .. } => {
            let range = float_range(rule);
            op(quote!(CompressedFloat(#range)))
        }
        Rule::Compressed { vector: Some(ty), .. } => {
            let (range, dimensions) = (float_range(rule), dimensions(ty));
            if long_array(ty).is_some() {
                return quote!(::tightwire::__private::compressed_floats_shape(#dimensions, #range));
            }
            op(quote!(CompressedVector { dimensions: #dimensions, range: #range }))
        }
        Rule::SmallestThree { bits } => op(quote!(SmallestThree { bits: #bits })),
        Rule::Unit { bits } => op(quote!(UnitVector { bits: #bits })),
        Rule::Pod { ty } => {
            op(quote!(Pod { size: ::tightwire::__private::core::mem::size_of::<#ty>() }))
        }
        Rule::Pods { ty, max_len } => {
            let pod = shape(&Rule::Pod { ty: ty.clone() });
            quote! {
                ::tightwire::__private::Shape::List {
                    max_len: (#max_len) as u64,
                    element: ::tightwire::__private::Box::new(#pod),
                }
            }
        }
        Rule::Text { max_len } => op(quote!(String { max_len: #max_len })),
        Rule::Blob { max_len } => op(quote!(Blob { max_len: #max_len })),
        Rule::List { max_len, rule, .. } => {
            let element = boxed(rule);
            quote!(::tightwire::__private::Shape::List { max_len: (#max_len) as u64, element: #element })
        }
        Rule::Array { len, rule } => {
            let element = boxed(rule);
            quote!(::tightwire::__private::Shape::Array { len: (#len) as u64, element: #element })
        }
        Rule::Option { rule, .. } => {
            let inner = boxed(rule);
            quote!(::tightwire::__private::Shape::Option(#inner))
        }
        Rule::Boxed { rule } => shape(rule),
    }
}
