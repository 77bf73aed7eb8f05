//! The implementation of `Wire`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{DeriveInput, Type};

use crate::bounds;
use crate::condition;
use crate::describe;
use crate::hints;
use crate::layout::{self, Layout, Width};
use crate::parse::{Body, Item, Variant};
use crate::syntax::{INTS, generic, is, peeled};
use crate::validate::{Field, Rule};

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
fn return_on_error(step: TokenStream) -> TokenStream {
    quote! {
        if let ::tightwire::__private::core::result::Result::Err(__error) = #step {
            return ::tightwire::__private::core::result::Result::Err(__error);
        }
    }
}

/// Generates the begin of a run, if a run begins here.
fn begin_run(bits: &TokenStream) -> TokenStream {
    quote! {
        if const { #bits > 0 } {
            __run.begin_run(const { #bits });
        }
    }
}

/// Whether the code is only runs, one after the other: it must be inlined so that its position in
/// the packet is known wherever it is used.
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

/// Access to the fields.
#[derive(Clone, Copy)]
enum Place {
    /// Each group of fields that is sent together is borrowed from the struct.
    Struct,
    /// A variant is destructured as a whole. With conditions, fields are read again after they were
    /// sent.
    Variant { has_conditions: bool },
}

/// Generates a call that borrows parts of the value by the same pattern twice: shared for writing,
/// unique for reading.
fn parts(pattern: &TokenStream, fields: &[&Field], is_variant: bool) -> TokenStream {
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
fn tuple(fields: &[&Field], each: &impl Fn(&Field) -> TokenStream) -> TokenStream {
    const MOST: usize = 8;
    if fields.len() <= MOST {
        let parts = fields.iter().map(|field| each(field));
        return quote!((#(#parts,)*));
    }
    let size = MOST.pow((fields.len() - 1).ilog(MOST));
    let parts = fields.chunks(size).map(|fields| tuple(fields, each));
    quote!((#(#parts,)*))
}

/// Generates the pattern of the fields that are sent or reset.
fn pattern(of: &TokenStream, fields: &[&Field]) -> TokenStream {
    let members = fields.iter().map(|Field { member, binding, .. }| quote!(#member: #binding));
    quote!(#of { #(#members,)* .. })
}

/// Whether code is generated for a field.
fn is_used(field: &Field) -> bool {
    field.rule.is_some() || field.default.is_some()
}

/// Generates the fields one after the other; the first one has the index `slot` in the slots of
/// `layout`.
fn steps(fields: &[Field], variant: usize, mut slot: usize, place: Place) -> TokenStream {
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
        for field in &group {
            sent.extend(step(field, variant, &mut slot, place));
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

/// Generates one field.
fn step(field: &Field, variant: usize, slot: &mut usize, place: Place) -> TokenStream {
    let Some(rule) = &field.rule else { return reset(field) };
    let (name, binding) = (field.name(), &field.binding);
    let target = match place {
        Place::Variant { has_conditions: true } => quote!(#binding.reborrow()),
        _ => quote!(#binding),
    };
    let slots = quote!(<Self as ::tightwire::__private::Slots>::SLOTS[#variant]);
    let here = *slot;
    *slot += 1;
    let begin = begin_run(&quote!(::tightwire::__private::run_bits(#slots, #here)));
    let in_run = return_on_error(operation(rule, &quote!(__run.named(#name)), &target));
    let end = return_on_error(quote!(__run.end_run()));
    let alone = return_on_error(operation(rule, &quote!(__run.stream().named(#name)), &target));
    let mut code = match layout::width(rule) {
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

/// Generates the binding of a field's target, `mut` if the field can be reset or is sent by
/// reborrowing.
fn binding(field: &Field, place: Place) -> TokenStream {
    let binding = &field.binding;
    let is_lent = matches!(place, Place::Variant { has_conditions: true });
    let is_reset = field.rule.is_none() || field.when.is_some();
    if is_lent || is_reset { quote!(mut #binding) } else { quote!(#binding) }
}

/// Generates code that sets a field that was not sent to its default, when reading.
fn reset(field: &Field) -> TokenStream {
    let binding = &field.binding;
    match &field.default {
        Some(default) => quote!(if __S::READING { #binding.put(#default); }),
        // A field that is never sent stays unchanged.
        None if field.rule.is_none() => TokenStream::new(),
        None => {
            let place = quote!((*__value));
            // Of a type that is only called as one on the heap, nothing is known.
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

fn default_of(ty: &Type) -> TokenStream {
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

/// Generates the operation of a value, an expression of type `Result`.
fn operation(rule: &Rule, stream: &TokenStream, target: &TokenStream) -> TokenStream {
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
            ::tightwire::__private::Perhaps::<#ty>::serialize(#target, #stream)
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
        Rule::List { max_len, rule, .. } => {
            let element = each(rule);
            quote!(#stream.array(#target, #max_len, #element))
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

/// Generates the ordinal, then the fields of that variant. A writer puts the ordinal into the first
/// run.
fn serialize_enum(variants: &[Variant<Field>]) -> TokenStream {
    let count = variants.len();
    let names = variants.iter().map(|variant| variant.name.unraw().to_string());
    let ordinals = variants.iter().enumerate().map(|(ordinal, variant)| {
        let name = &variant.name;
        quote!(Self::#name { .. } => #ordinal,)
    });
    let arms = variants.iter().enumerate().map(|(ordinal, variant)| {
        let arm = serialize_variant(ordinal, variant);
        quote!(#ordinal => { #arm })
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
        } else {
            __ordinal = match &*__this { #(#ordinals)* };
        }
        match __ordinal {
            #(#arms)*
            _ => {}
        }
    }
}

fn serialize_variant(ordinal: usize, variant: &Variant<Field>) -> TokenStream {
    let name = &variant.name;
    let slots = quote!(<Self as ::tightwire::__private::Slots>::SLOTS[#ordinal]);
    let begin = begin_run(&quote!(::tightwire::__private::run_bits(#slots, 0)));
    let write_ordinal = return_on_error(
        quote!(::tightwire::__private::ordinal(&mut __run, &mut { #ordinal }, &__NAMES)),
    );
    let ordinal_in_run = quote!(#begin #write_ordinal);
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
            if __S::READING { __this.put(#fresh); } else { #ordinal_in_run }
            #end
        };
    }
    let place =
        Place::Variant { has_conditions: variant.fields.iter().any(|field| field.when.is_some()) };
    let used: Vec<&Field> = variant.fields.iter().filter(|field| is_used(field)).collect();
    let parts = parts(&pattern(&quote!(Self::#name), &used), &used, true);
    let bindings = tuple(&used, &|field| binding(field, place));
    let steps = steps(&variant.fields, ordinal, 1, place);
    // The same variant is read into, so that strings and arrays keep their memory. For variants
    // without such memory the test is left out, since its branch would be mispredicted.
    let keeps_memory =
        !variant.fields.iter().all(|field| field.rule.as_ref().is_some_and(is_plain));
    let is_other = keeps_memory
        .then(|| quote!(&&!::tightwire::__private::core::matches!(&*__this, Self::#name { .. })));
    let begin_rest = begin_run(&quote!(::tightwire::__private::rest_of_run(#slots, 1)));
    quote! {
        if __S::READING #is_other {
            __this.put(#fresh);
        }
        if let ::tightwire::__private::core::option::Option::Some(#bindings) = #parts {
            if __S::READING {
                #begin_rest
            } else {
                #ordinal_in_run
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
