//! The implementation of `Wire`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::DeriveInput;

use crate::bounds;
use crate::condition;
use crate::describe;
use crate::hints;
use crate::layout::{self, Layout, Width};
use crate::operation::{in_run, operation};
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
            let steps = steps(fields, 0, Place::Struct);
            let end = return_on_error(quote!(__run.end_run()));
            quote!(#steps #end)
        }
        Body::Enum(variants) => serialize_enum(variants),
    };
    let is_enum = matches!(&item.body, Body::Enum(_)).then(|| {
        quote!(
            const IS_ENUM: bool = true;
        )
    });
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
            #is_enum
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

/// The place of the code in the slots of `layout`.
struct Slots {
    variant: usize,
    /// The first slot that a reader gets within a run.
    first: usize,
    /// The slot of the next field.
    next: usize,
    /// The slot behind the last field that has several parts.
    known: usize,
}

impl Slots {
    /// Generates the slots as a value for functions of the library.
    fn layout(&self) -> TokenStream {
        let Self { variant, first, known, .. } = self;
        quote!(::tightwire::__private::Layout {
            slots: <Self as ::tightwire::__private::Slots>::SLOTS[#variant],
            first: #first,
            known: #known,
        })
    }

    /// Generates the step of the next field.
    fn step(&self) -> TokenStream {
        let (layout, next) = (self.layout(), self.next);
        quote!(const { ::tightwire::__private::step(#layout, #next) })
    }

    /// Generates the step of a part behind the run, after `before` bits.
    fn step_behind(&self, before: u32, bits: &TokenStream) -> TokenStream {
        let (layout, next) = (self.layout(), self.next);
        quote!(const { ::tightwire::__private::step_behind(#layout, #next, #before, #bits) })
    }
}

/// Generates the fields one after the other.
pub(crate) fn steps(fields: &[Field], variant: usize, place: Place) -> TokenStream {
    let first = usize::from(matches!(place, Place::Variant { .. }));
    let mut slots = Slots { variant, first, next: first, known: 0 };
    let mut code = TokenStream::new();
    for (index, (when, group)) in layout::groups(fields).into_iter().enumerate() {
        if index > 0 || when.is_some() {
            slots.next += 1;
        }
        let mut taken = TokenStream::new();
        let used: Vec<&Field> = group.iter().copied().filter(|field| is_used(field)).collect();
        if let (Place::Struct, false) = (place, used.is_empty()) {
            let parts = parts(&pattern(&quote!(Self), &used), &used, false);
            let bindings = tuple(&used, &|field| binding(field, place));
            taken = quote!(let #bindings = #parts;);
        }
        let mut sent = TokenStream::new();
        for fields in layout::parts(&group) {
            sent.extend(match fields {
                [field] => step(field, &mut slots, place),
                fields => float_steps(fields, &mut slots, place),
            });
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

/// Generates several compressed floats.
fn float_steps(fields: &[&Field], slots: &mut Slots, place: Place) -> TokenStream {
    let step = slots.step();
    slots.next += 1;
    let names = fields.iter().map(|field| field.name());
    let targets = fields.iter().map(|field| target(field, place));
    let ranges = fields.iter().filter_map(|field| field.rule.as_ref()).map(layout::float_range);
    return_on_error(quote!(::tightwire::__private::compressed_fields(
        &mut __run,
        #step,
        [#(#names),*],
        [#(#targets),*],
        const { [#(#ranges),*] },
    )))
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
fn step(field: &Field, slots: &mut Slots, place: Place) -> TokenStream {
    let Some(rule) = &field.rule else { return reset(field) };
    let (name, target) = (field.name(), target(field, place));
    let end = return_on_error(quote!(__run.end_run()));
    let alone = return_on_error(operation(rule, &quote!(__run.stream().named(#name)), &target));
    let in_run = in_run(rule, &slots.step(), &name, &target).map(return_on_error);
    let here = slots.next;
    let mut code = match (layout::width(rule), in_run) {
        _ if let Rule::Option { rule, .. } = rule => optional(rule, slots, &target, &alone, &end),
        _ if let Rule::Text { max_len } = rule => {
            let bits = quote!(::tightwire::__private::length_bits(#max_len) as u32);
            let step = slots.step_behind(0, &bits);
            return_on_error(quote!(::tightwire::__private::text_behind_run(
                &mut __run, #step, #name, #target, #max_len
            )))
        }
        (Width::Fixed(_), Some(in_run)) => in_run,
        (Width::Varies, _) => quote!(#end #alone),
        (_, in_run) => {
            let in_run = in_run.unwrap_or_else(|| {
                let layout = slots.layout();
                slots.known = here + 1;
                let code = operation(rule, &quote!(__run.named(#name)), &target);
                let code = return_on_error(code);
                quote! {
                    if const { #layout.begins(#here) > 0 } {
                        __run.begin_run(const { #layout.begins(#here) });
                    }
                    #code
                }
            });
            let layout = slots.layout();
            quote! {
                if const { #layout.slots[#here].is_some() } {
                    #in_run
                } else {
                    #end
                    #alone
                }
            }
        }
    };
    slots.next += 1;
    if let Some(check) = &field.check {
        slots.next += 1;
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
    slots: &Slots,
    target: &TokenStream,
    alone: &TokenStream,
    end: &TokenStream,
) -> TokenStream {
    let (Width::Fixed(bits) | Width::CompileTime(bits)) = layout::width(rule) else {
        return quote!(#end #alone);
    };
    let word_bits = quote!(::tightwire::__private::word_bits(#bits));
    let step = slots.step_behind(0, &quote!(1));
    let write_bit = return_on_error(quote!(
        ::tightwire::__private::write_option(&mut __run, #step, __option.is_some())
    ));
    let (is_direct, bit) = match has_one_part(rule) {
        false => (quote!(__S::MERGES && __S::WRITING), write_bit),
        true => {
            let read_bit = return_on_error(quote!(
                ::tightwire::__private::read_option(&mut __run, &mut __option, const { #word_bits })
            ));
            (quote!(__S::MERGES), quote!(if __S::READING { #read_bit } else { #write_bit }))
        }
    };
    let step = slots.step_behind(1, &word_bits);
    let value = in_run(rule, &step, "", &quote!(__value));
    let value = value.unwrap_or_else(|| operation(rule, &quote!((&mut __run)), &quote!(__value)));
    let value = return_on_error(value);
    quote! {
        if #is_direct && const { ::tightwire::__private::fits_word(#bits) } {
            let mut __option = #target;
            #bit
            if let ::tightwire::__private::core::option::Option::Some(__value) = __option.parts(
                ::tightwire::__private::core::option::Option::as_ref,
                ::tightwire::__private::core::option::Option::as_mut,
            ) {
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
