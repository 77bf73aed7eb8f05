//! Derived code in a crate that denies every lint and shadows every name.
#![deny(warnings, unused, missing_docs, unreachable_pub, private_bounds, private_interfaces)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![deny(clippy::arithmetic_side_effects, clippy::as_conversions, clippy::unreachable)]
#![deny(clippy::allow_attributes, clippy::missing_const_for_fn)]
#![deny(single_use_lifetimes, trivial_casts, trivial_numeric_casts, unused_qualifications)]
#![deny(elided_lifetimes_in_paths, missing_debug_implementations, let_underscore_drop)]
#![forbid(unsafe_code)]

/// Modules and types with the names that derived code uses.
pub mod shadowed {
    /// Not the crate.
    pub mod tightwire {}
    /// Not the crate.
    pub mod core {}
    /// Not the crate.
    pub mod alloc {}
    /// Not the crate.
    pub mod std {}

    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Result;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Some;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct None;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Ok;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Default;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Stream;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct String;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Vec;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Box;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Option;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Err;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Clone;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct From;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Into;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Iterator;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Wire;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Target;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Shape;
    /// Not the standard library's.
    #[derive(Debug)]
    pub struct Self_;

    /// Not the standard library's.
    #[macro_export]
    macro_rules! shadowed_matches {
        () => {};
    }
    /// Not the standard library's.
    pub use crate::shadowed_matches as matches;
    /// Not the standard library's.
    pub use crate::shadowed_matches as vec;
    /// Not the standard library's.
    pub use crate::shadowed_matches as unreachable;

    /// Derived, among all of that.
    #[derive(::tightwire::Wire, ::std::fmt::Debug)]
    pub struct Derived {
        /// Sent.
        pub flag: bool,
        /// Sent if the other is.
        #[wire(when = !self.flag, range = 0..=9, check = "all")]
        pub number: ::std::option::Option<u8>,
        /// A list.
        #[wire(max_len = 3)]
        pub list: ::std::vec::Vec<::std::boxed::Box<Choice>>,
    }

    /// Derived, among all of that.
    #[derive(::tightwire::Wire, ::std::fmt::Debug, ::std::default::Default)]
    pub enum Choice {
        /// Nothing.
        #[default]
        Nothing,
        /// A name.
        Named(#[wire(max_len = 4)] ::std::string::String),
    }
}

/// Nothing in scope at all.
#[no_implicit_prelude]
pub mod bare {
    /// A constant.
    pub const MOST: u8 = 9;

    /// Derived without a prelude.
    #[derive(::tightwire::Wire, ::std::fmt::Debug, ::std::default::Default)]
    pub struct Derived {
        /// Sent.
        #[wire(check = "flag")]
        pub flag: bool,
        /// Sent.
        pub kind: Choice,
        /// Sent if others are.
        #[wire(when = self.flag && self.kind == Choice::Nothing, range = 0..=MOST)]
        pub number: u8,
        /// Compressed.
        #[wire(min = -1, max = 1, resolution = 0.01)]
        pub vector: [f32; 3],
        /// Text.
        #[wire(when = self.vector.len() < 9 && self.kind == Choice::Nothing, max_len = 4)]
        pub text: ::std::string::String,
    }

    /// Derived without a prelude.
    #[derive(
        ::tightwire::Wire,
        ::std::fmt::Debug,
        ::std::default::Default,
        ::std::clone::Clone,
        ::std::cmp::PartialEq,
        ::std::cmp::Eq,
    )]
    pub enum Choice {
        /// Nothing.
        #[default]
        Nothing,
        /// Numbers.
        Numbers {
            /// Sent.
            first: u8,
            /// Sent if the other is large.
            #[wire(when = self.first > 3, varint)]
            second: u32,
        },
    }
}

/// Types that lints check.
pub mod linted {
    use core::marker::PhantomData;

    use tightwire::Wire;

    /// An enum of one variant: a pattern that cannot fail.
    #[derive(Wire, Debug)]
    pub enum Only {
        /// The one.
        One {
            /// Sent.
            flag: bool,
            /// Sent if the other is.
            #[wire(when = self.flag)]
            more: u64,
        },
    }

    /// An enum of one variant without fields.
    #[derive(Wire, Debug)]
    pub enum Lonely {
        /// The one.
        One,
    }

    /// Without fields.
    #[derive(Wire, Debug)]
    pub struct Nothing;

    /// With nothing that is sent.
    #[derive(Wire, Debug)]
    pub struct Local {
        /// Not sent.
        #[wire(skip)]
        pub cache: u64,
    }

    /// A private type in a public one with a parameter.
    #[derive(Wire, Debug)]
    pub struct Outer<'a, T> {
        inner: Inner<T>,
        #[wire(skip)]
        label: PhantomData<&'a str>,
    }

    #[derive(Wire, Debug)]
    struct Inner<T> {
        value: T,
        #[wire(range = 0..=5, when = (true))]
        small: u8,
    }

    impl<T> Outer<'_, T> {
        /// A value.
        pub const fn new(value: T) -> Self {
            Self { inner: Inner { value, small: 1 }, label: PhantomData }
        }
    }

    /// A type with every kind of field.
    #[derive(Wire, Debug, Default)]
    pub struct Everything {
        /// Sent.
        #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
        pub position: [f32; 3],
        /// Sent.
        #[wire(smallest_three = 10)]
        pub orientation: [f32; 4],
        /// Sent.
        #[wire(range = (-4)..=(4))]
        pub turns: [i8; 2],
        /// Sent.
        #[wire(max_len = (3), bits = (4))]
        pub list: Vec<u8>,
        /// Sent.
        #[wire(when = (self.turns.len() > 3), default = (7))]
        pub extra: u8,
        /// Sent.
        pub nested: Option<Box<[(u8, bool); 2]>>,
        /// Sent.
        #[wire(pod)]
        pub plain: [u16; 2],
        /// Not sent.
        #[wire(skip, default = 5)]
        pub local: u8,
    }
}

/// Constants with names that derived code might bind: a pattern of this name would match the
/// constant instead of binding a variable.
mod constants {
    #![allow(non_upper_case_globals, dead_code)]

    macro_rules! all_of {
        ($($name:ident)*) => { $(const $name: usize = 3;)* };
    }

    all_of! {
        low high min max field fields other others rest inner outer first second one last next
        this value values index count result bits item items element elements len length list
        name names path state stream target access parts part place run word width range bound
        bounds ordinal variant variants flag flags number numbers text buffer packet bytes byte
        serialize describe shape hints error kind size step check when default condition read write
        writer reader message messages context builder handler position velocity
        a b c d e f g h i j k l m n o p q r s t u v w x y z
    }

    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(super) struct Everything {
        #[wire(range = 0..=100)]
        pub(super) x: u8,
        #[wire(range = low..=high)]
        pub(super) y: usize,
        #[wire(max_len = 9)]
        pub(super) text: String,
        #[wire(max_len = 9, range = 0..=100)]
        pub(super) list: Vec<u8>,
        pub(super) flag: bool,
        #[wire(when = self.flag && self.x > 3, min = -1.0, max = 1.0, resolution = 0.1)]
        pub(super) position: [f32; 3],
        #[wire(when = self.flag)]
        pub(super) value: Option<u8>,
        #[wire(check = "here")]
        pub(super) other: (u8, bool),
        #[wire(smallest_three = 9)]
        pub(super) rest: [f32; 4],
        pub(super) kind: Kind,
    }

    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(super) enum Kind {
        #[default]
        None,
        Named {
            x: u8,
            #[wire(when = self.x > 3)]
            y: u16,
            #[wire(when = self.x > 3, max_len = 3)]
            text: String,
        },
        Tuple(
            u8,
            #[wire(when = self.0 == 1, max_len = 3)] Vec<u8>,
            #[wire(when = self.0 == 1)] Option<Box<u8>>,
        ),
    }

    #[derive(tightwire::Wire, tightwire::Message, Default, Clone, PartialEq, Debug)]
    pub(super) struct Hello {
        pub(super) x: u8,
        pub(super) flag: bool,
        pub(super) all: Everything,
    }
}

/// Types with the names of types that the derive treats specially.
mod namesakes {
    /// A number, not the standard library's `String`.
    #[derive(tightwire::Wire, Default, Clone, Copy, PartialEq, Debug)]
    pub(super) struct String(#[wire(range = 0..=9)] pub(super) u8);

    pub(super) mod own {
        /// A vector, in the sense of geometry.
        #[derive(tightwire::Wire, Default, Clone, Copy, PartialEq, Debug)]
        pub(in super::super) struct Vec<T>(pub(in super::super) T);
        /// A choice.
        #[derive(tightwire::Wire, Default, Clone, Copy, PartialEq, Debug)]
        pub(in super::super) struct Option<T>(pub(in super::super) T);
        /// A crate.
        #[derive(tightwire::Wire, Default, Clone, Copy, PartialEq, Debug)]
        pub(in super::super) struct Box<T>(pub(in super::super) T);
        /// A chain.
        #[derive(tightwire::Wire, Default, Clone, Copy, PartialEq, Debug)]
        pub(in super::super) struct String(pub(in super::super) bool);
    }

    #[derive(tightwire::Wire, Default, Clone, PartialEq, Debug)]
    pub(super) struct Named {
        pub(super) name: String,
        pub(super) vector: own::Vec<u8>,
        pub(super) choice: own::Option<bool>,
        pub(super) crate_: own::Box<u16>,
        pub(super) chain: own::String,
        pub(super) flag: bool,
        #[wire(when = self.flag)]
        pub(super) perhaps: String,
        pub(super) option: Option<String>,
        pub(super) boxed: Box<String>,
        pub(super) pair: [String; 2],
        #[wire(when = self.flag)]
        pub(super) text: own::String,
    }

    #[derive(tightwire::Wire, Default, Clone, Copy, PartialEq, Debug)]
    pub(super) enum Kind {
        #[default]
        None,
        Some(String),
    }
}

#[test]
fn types_can_have_the_names_of_others() -> Result<(), Box<dyn core::error::Error>> {
    use namesakes::{Kind, Named, String, own};
    let named = Named {
        name: String(9),
        vector: own::Vec(3),
        choice: own::Option(true),
        crate_: own::Box(7),
        chain: own::String(true),
        flag: true,
        perhaps: String(4),
        option: Some(String(5)),
        boxed: Box::new(String(6)),
        pair: [String(1), String(2)],
        text: own::String(true),
    };
    let off = Named {
        flag: false,
        perhaps: String(0),
        text: own::String(false),
        option: None,
        ..named.clone()
    };
    let mut read = named.clone();
    for value in [named, off] {
        let mut buffer = [0; 64];
        let packet = tightwire::encode(&value, &mut buffer)?;
        tightwire::decode_into(packet, &mut read)?;
        assert_eq!(read, value);
        let schema = tightwire::schema::Schema::new(<Named as tightwire::Wire>::describe());
        assert!(schema.is_ok_and(|schema| schema.decode(packet).is_ok()));
    }
    let mut buffer = [0; 8];
    let packet = tightwire::encode(&Kind::Some(String(8)), &mut buffer);
    assert_eq!(packet.map(tightwire::decode::<Kind>), Ok(Ok(Kind::Some(String(8)))));
    Ok(())
}

#[test]
fn constants_can_have_any_names() -> Result<(), Box<dyn core::error::Error>> {
    use constants::{Everything, Hello, Kind};
    let kinds = [
        Kind::None,
        Kind::Named { x: 7, y: 9, text: "ab".into() },
        Kind::Named { x: 3, y: 0, text: String::new() },
        Kind::Tuple(1, vec![1, 2], Some(Box::new(3))),
        Kind::Tuple(0, vec![], None),
    ];
    for kind in kinds {
        let all = Everything {
            x: 50,
            y: 3,
            text: "abc".into(),
            list: vec![1, 2],
            flag: true,
            position: [0.0; 3],
            value: Some(3),
            other: (1, true),
            rest: [0.0, 0.0, 0.0, 1.0],
            kind,
        };
        let hello = Hello { x: 1, flag: true, all };
        let mut buffer = [0; 256];
        let packet = tightwire::encode(&hello, &mut buffer)?;
        let read = tightwire::decode::<Hello>(packet)?;
        let written = (&read.all.kind, &read.all.text, &read.all.list, read.all.value);
        let given = (&hello.all.kind, &hello.all.text, &hello.all.list, hello.all.value);
        assert_eq!(written, given);
        let schema = tightwire::schema::Schema::new(<Hello as tightwire::Wire>::describe());
        assert!(schema.is_ok_and(|schema| schema.decode(packet).is_ok()));
    }
    Ok(())
}

/// Writes, reads and describes a value, so that all generic code is compiled.
fn round_trip<T: tightwire::Wire>(mut value: T) -> Result<(), Box<dyn core::error::Error>> {
    let mut buffer = [0; 256];
    let packet = tightwire::encode(&value, &mut buffer)?;
    tightwire::decode_into(packet, &mut value)?;
    let _shape = T::describe();
    Ok(())
}

#[test]
fn derived_code_does_not_mind_its_surroundings() -> Result<(), Box<dyn core::error::Error>> {
    let list = vec![Box::default(), Box::new(shadowed::Choice::Named("ab".into()))];
    round_trip(shadowed::Derived { flag: false, number: Some(3), list })?;
    round_trip(bare::Derived::default())?;
    round_trip(linted::Only::One { flag: true, more: 1 })?;
    round_trip(linted::Lonely::One)?;
    round_trip(linted::Nothing)?;
    round_trip(linted::Local { cache: 1 })?;
    round_trip(linted::Outer::new(3u8))?;
    let orientation = [0.0, 0.0, 0.0, 1.0];
    round_trip(linted::Everything { orientation, ..Default::default() })
}
