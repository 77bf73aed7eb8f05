//! The implementation of `Wire`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::DeriveInput;

use crate::bounds;
use crate::condition;
use crate::describe;
use crate::hints;
use crate::layout::{self, Layout, Width};
use crate::operation::operation;
use crate::parse::{Body, Item};
use crate::reset::reset;
use crate::syntax::{INTS, is};
use crate::validate::{Field, Rule};
use crate::variants::serialize_enum;

pub(crate) fn item(item: &Item<Field>) -> TokenStream {
    let name = &item.name;
    let bounds = bounds::of_fields(item);
    let mut generics = item.generics.clone();
    generics.make_where_clause().predicates.extend(bounds);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let Layout { slots, max_bits, fixed_bits, depth } = layout::layout(item);
    let serialize = match &item.body {
        Body::Struct(fields) => {
            let steps = steps(fields, 0, 0, Place::Struct);
            let end = return_on_error(quote!(__run.end_run()));
            quote!(#steps #end)
        }
        Body::Enum(variants) => serialize_enum(variants),
    };
    let is_empty = matches!(&item.body, Body::Struct(fields) if !fields.iter().any(is_used));
    let this = if is_empty { quote!(_) } else { quote!(mut __this) };
    // Not with debug assertions: most such builds are not optimised, and would only get more code.
    let inline = if is_straight(item) {
        quote!(#[cfg_attr(not(debug_assertions), inline(always))])
    } else {
        quote!(#[cfg_attr(not(debug_assertions), inline)])
    };
    let shape = describe::item(item);
    let numbers = hints::newtype(item).map(|numbers| {
        quote! {
            const NUMBERS: ::tightwire::__private::core::option::Option<(usize, u64)> = #numbers;
        }
    });
    // Without type parameters, an invalid constant is reported here and not where the type is used.
    let check_now = item.generics.params.is_empty().then(|| {
        quote! {
            const _: (u64, u32) =
                (<#name as ::tightwire::__private::Wire>::MAX_BITS, <#name as ::tightwire::__private::Wire>::DEPTH);
            const _: &[&[::tightwire::__private::core::option::Option<u32>]] =
                <#name as ::tightwire::__private::Slots>::SLOTS;
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics ::tightwire::__private::Slots for #name #type_generics #where_clause {
            const SLOTS: &'static [&'static [::tightwire::__private::core::option::Option<u32>]] =
                &[#(&[#slots]),*];
        }

        #[automatically_derived]
        impl #impl_generics ::tightwire::__private::Wire for #name #type_generics #where_clause {
            const MAX_BITS: u64 = #max_bits;
            const FIXED_BITS: ::tightwire::__private::core::option::Option<u32> = #fixed_bits;
            const DEPTH: u32 = #depth;
            #numbers

            #inline
            fn serialize<__S: ::tightwire::__private::Stream>(
                #this: ::tightwire::__private::Target<'_, __S::Access, Self>,
                __stream: &mut __S,
            ) -> ::tightwire::__private::core::result::Result<(), __S::Error> {
                #[allow(unused_imports)]
                use ::tightwire::__private::{RawStream as _, Stream as _};
                let mut __run = ::tightwire::__private::Run::new(__stream);
                #serialize
                // A type that contains itself has no worst case, and therefore does not compile,
                // even with type parameters: a packet could exhaust the stack with it.
                if const { <Self as ::tightwire::__private::Wire>::MAX_BITS == 0 } {
                    return __run.zero_bits();
                }
                ::tightwire::__private::core::result::Result::Ok(())
            }

            fn describe() -> ::tightwire::__private::Shape {
                #shape
            }
        }

        #check_now
    }
}

/// Generates a step that may fail. Not with `?`: its conversion of the error would be half of the
/// code that the compiler has to process.
pub(crate) fn return_on_error(step: TokenStream) -> TokenStream {
    quote! {
        if let ::tightwire::__private::core::result::Result::Err(__error) = #step {
            return ::tightwire::__private::core::result::Result::Err(__error);
        }
    }
}

/// Generates the beginning of a run, if one begins at this field.
pub(crate) fn begin_run(bits: &TokenStream) -> TokenStream {
    quote! {
        if const { #bits > 0 } {
            __run.begin_run(const { #bits });
        }
    }
}

/// Whether the code consists of runs only. Such code is inlined, so that the compiler knows its
/// position in the packet wherever it is used.
fn is_straight(item: &Item<Field>) -> bool {
    let Body::Struct(fields) = &item.body else { return false };
    let varies = |rule: &Rule| matches!(layout::width(rule), Width::Varies);
    !fields.iter().any(|field| field.when.is_some() || field.rule.as_ref().is_some_and(varies))
}

/// Generates an implementation that only prevents further errors about a missing one.
pub(crate) fn stub(input: &DeriveInput) -> TokenStream {
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        impl #impl_generics ::tightwire::__private::Wire for #name #type_generics #where_clause {
            // The size of a buffer for this type must not be reported as a second error.
            const MAX_BITS: u64 = 0;

            fn serialize<__S: ::tightwire::__private::Stream>(
                _: ::tightwire::__private::Target<'_, __S::Access, Self>,
                _: &mut __S,
            ) -> ::tightwire::__private::core::result::Result<(), __S::Error> {
                ::tightwire::__private::core::unreachable!()
            }
        }
    }
}

/// Access of the generated code to the fields.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Each group of fields that is sent together is borrowed from the struct.
    Struct,
    /// A variant is destructured as a whole. With conditions, fields are read again after they were
    /// sent.
    Variant { has_conditions: bool },
}

/// Generates a call that borrows parts of the value by the same pattern twice: shared for writing,
/// unique for reading.
pub(crate) fn parts(pattern: &TokenStream, fields: &[&Field], is_variant: bool) -> TokenStream {
    let bindings = tuple(fields, &|field| field.binding.to_token_stream());
    let take = match is_variant {
        false => quote!(|__value| { let #pattern = __value; #bindings }),
        true => quote!(|__value| match __value {
            #pattern => ::tightwire::__private::core::option::Option::Some(#bindings),
            #[allow(unreachable_patterns)]
            _ => ::tightwire::__private::core::option::Option::None,
        }),
    };
    quote!(__this.parts(#take, #take))
}

/// Generates nested tuples, since `Parts` is implemented for tuples of at most eight.
pub(crate) fn tuple(fields: &[&Field], each: &impl Fn(&Field) -> TokenStream) -> TokenStream {
    const MAX_PARTS: usize = 8;
    if fields.len() <= MAX_PARTS {
        let parts = fields.iter().map(|field| each(field));
        return quote!((#(#parts,)*));
    }
    let size = MAX_PARTS.pow((fields.len() - 1).ilog(MAX_PARTS));
    let parts = fields.chunks(size).map(|fields| tuple(fields, each));
    quote!((#(#parts,)*))
}

/// Generates the pattern of the fields that are sent or reset.
pub(crate) fn pattern(of: &TokenStream, fields: &[&Field]) -> TokenStream {
    let members = fields.iter().map(|Field { member, binding, .. }| quote!(#member: #binding));
    quote!(#of { #(#members,)* .. })
}

/// Whether code is generated for a field.
pub(crate) fn is_used(field: &Field) -> bool {
    field.rule.is_some() || field.default.is_some()
}

/// Generates the fields one after the other. `slot` is the index of the first field in the slots of
/// `layout`.
pub(crate) fn steps(
    fields: &[Field],
    variant: usize,
    mut slot: usize,
    place: Place,
) -> TokenStream {
    let mut code = TokenStream::new();
    for (index, (when, group)) in layout::groups(fields).into_iter().enumerate() {
        if index > 0 || when.is_some() {
            slot += 1;
        }
        let mut taken = TokenStream::new();
        let used: Vec<&Field> = group.iter().copied().filter(|field| is_used(field)).collect();
        if let (Place::Struct, false) = (place, used.is_empty()) {
            let parts = parts(&pattern(&quote!(Self), &used), &used, false);
            let bindings = tuple(&used, &|field| binding(field, place));
            taken = quote!(let #bindings = #parts;);
        }
        let mut sent = TokenStream::new();
        for fields in group.chunk_by(|a, b| is_float(a) && is_float(b)) {
            for fields in fields.chunks(MAX_FLOATS) {
                sent.extend(match fields {
                    [field] => step(field, variant, &mut slot, place),
                    fields => float_steps(fields, variant, &mut slot, place),
                });
            }
        }
        let Some(when) = when else {
            // Targets are borrowed to the end of their block, since the compiler cannot know that
            // their type needs no drop.
            code.extend(if taken.is_empty() { sent } else { quote!({ #taken #sent }) });
            continue;
        };
        let when = match place {
            Place::Struct => {
                let when = condition::over_self(when);
                quote!({ let __self: &Self = &__this; #when })
            }
            Place::Variant { .. } => condition::over_bindings(when),
        };
        let absent = group.iter().map(|field| reset(field));
        let end = return_on_error(quote!(__run.end_run()));
        code.extend(quote! {
            #end
            let __is_sent: bool = #when;
            {
                #taken
                if __is_sent {
                    #sent
                    #end
                } else {
                    #(#absent)*
                }
            }
        });
    }
    code
}

/// The number of compressed floats that are quantised at once.
const MAX_FLOATS: usize = 4;

/// Whether a field is a compressed float without a check after it.
fn is_float(field: &Field) -> bool {
    matches!(field.rule, Some(Rule::Compressed { vector: None, .. })) && field.check.is_none()
}

/// Generates several compressed floats.
fn float_steps(fields: &[&Field], variant: usize, slot: &mut usize, place: Place) -> TokenStream {
    let slots = quote!(<Self as ::tightwire::__private::Slots>::SLOTS[#variant]);
    let here = *slot;
    let begin = begin_run(&quote!(::tightwire::__private::run_bits(#slots, #here)));
    let names = fields.iter().map(|field| field.name());
    let targets = fields.iter().map(|field| target(field, place));
    let ranges = fields.iter().filter_map(|field| field.rule.as_ref()).map(layout::float_range);
    let code = quote!(::tightwire::__private::compressed_fields(
        &mut __run,
        [#(#names),*],
        [#(#targets),*],
        const { [#(#ranges),*] },
    ));
    *slot += fields.len();
    let code = return_on_error(code);
    quote!(#begin #code)
}

/// Generates the target of a field.
fn target(field: &Field, place: Place) -> TokenStream {
    let binding = &field.binding;
    match place {
        Place::Variant { has_conditions: true } => quote!(#binding.reborrow()),
        _ => quote!(#binding),
    }
}

/// Generates one field.
fn step(field: &Field, variant: usize, slot: &mut usize, place: Place) -> TokenStream {
    let Some(rule) = &field.rule else { return reset(field) };
    let (name, target) = (field.name(), target(field, place));
    let slots = quote!(<Self as ::tightwire::__private::Slots>::SLOTS[#variant]);
    let here = *slot;
    *slot += 1;
    let begin = begin_run(&quote!(::tightwire::__private::run_bits(#slots, #here)));
    let in_run = return_on_error(operation(rule, &quote!(__run.named(#name)), &target));
    let end = return_on_error(quote!(__run.end_run()));
    let alone = return_on_error(operation(rule, &quote!(__run.stream().named(#name)), &target));
    let mut code = match layout::width(rule) {
        _ if let Rule::Option { rule, .. } = rule => optional(rule, &target, &alone, &end),
        // A writer puts the length into the word of the preceding fields; the bytes end the run.
        _ if matches!(rule, Rule::Text { .. } | Rule::Blob { .. }) => quote! {
            if __S::WRITING {
                #in_run
            } else {
                #end
                #alone
            }
        },
        Width::Fixed(_) => quote!(#begin #in_run),
        Width::Varies => quote!(#end #alone),
        Width::CompileTime(_) => quote! {
            if const { #slots[#here].is_some() } {
                #begin
                #in_run
            } else {
                #end
                #alone
            }
        },
    };
    if let Some(check) = &field.check {
        *slot += 1;
        let check = return_on_error(quote!(__run.stream().named(#check).check(#check)));
        code.extend(quote!(#end #check));
    }
    code
}

/// Generates an option. A writer puts the bit and a short value into the word of the preceding
/// fields. A reader learns from the bit whether a value follows, and reads the bit and a value of one
/// operation by one call. The value is not coded in a closure: calling it would move the state of the
/// run from registers to memory.
fn optional(
    rule: &Rule,
    target: &TokenStream,
    alone: &TokenStream,
    end: &TokenStream,
) -> TokenStream {
    let (Width::Fixed(bits) | Width::CompileTime(bits)) = layout::width(rule) else {
        return quote!(#end #alone);
    };
    let write_bit = return_on_error(quote!(__run.option_bit(__option.is_some())));
    let (is_direct, bit) = match has_one_part(rule) {
        false => (quote!(__S::MERGES && __S::WRITING), write_bit),
        true => {
            let bits = quote!(const { ::tightwire::__private::word_bits(#bits) });
            let read_bit = return_on_error(
                quote!(::tightwire::__private::read_option(&mut __run, &mut __option, #bits)),
            );
            (quote!(__S::MERGES), quote!(if __S::READING { #read_bit } else { #write_bit }))
        }
    };
    let value = return_on_error(operation(rule, &quote!(__stream), &quote!(__value)));
    quote! {
        if #is_direct && const { ::tightwire::__private::fits_word(#bits) } {
            let mut __option = #target;
            #bit
            if let ::tightwire::__private::core::option::Option::Some(__value) = __option.parts(
                ::tightwire::__private::core::option::Option::as_ref,
                ::tightwire::__private::core::option::Option::as_mut,
            ) {
                let __stream = &mut __run;
                #value
            }
            #end
        } else {
            #end
            #alone
        }
    }
}

/// Whether a value is known to be read by one operation: a packet that ends within it is then refused
/// at its first bit.
fn has_one_part(rule: &Rule) -> bool {
    match rule {
        Rule::Whole(ty) => is(ty, &INTS) || is(ty, &["bool", "f32"]),
        Rule::Boxed { rule } => has_one_part(rule),
        Rule::Int { .. }
        | Rule::Bits { .. }
        | Rule::Compressed { .. }
        | Rule::SmallestThree { .. }
        | Rule::Unit { .. } => true,
        _ => false,
    }
}

/// Generates the binding of a field's target, `mut` if the field can be reset or is sent by
/// reborrowing.
pub(crate) fn binding(field: &Field, place: Place) -> TokenStream {
    let binding = &field.binding;
    let is_lent = matches!(place, Place::Variant { has_conditions: true });
    let is_reset = field.rule.is_none() || field.when.is_some();
    if is_lent || is_reset { quote!(mut #binding) } else { quote!(#binding) }
}
