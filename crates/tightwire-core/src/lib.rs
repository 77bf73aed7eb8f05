//! Bits, streams, schemas and packets: the lower layers of [Tightwire](https://docs.rs/tightwire).
//! Programs add the crate `tightwire`, which re-exports everything here and has the tour.
//!
//! [`bits`] → [`stream`] → [`bytes`] and [`schema`] → [`packet`]: a module imports only from its
//! left.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
// Derived code uses the path `::tightwire`, also inside this crate.
extern crate self as tightwire;

pub mod bits;
pub mod bytes;
pub mod packet;
pub mod schema;
pub mod stream;

pub use stream::Wire;

/// Paths that derived code uses.
#[doc(hidden)]
pub mod __private {
    pub use alloc::boxed::Box;
    pub use alloc::vec;
    pub use core;
    pub use tightwire_derive::BevyWire;

    pub use crate::schema::derived::*;
    pub use crate::stream::derived::*;
    pub use crate::stream::float_fields::*;
    pub use crate::stream::long_floats::*;
    pub use crate::stream::maybe_wire::*;
    pub use crate::stream::word::*;
    pub use crate::stream::{
        Binary, Condition, Elements, Field, FloatRange, Hints, Int, List, Name, Number, Op, Pod,
        Quaternion, RawStream, Run, Shape, Stream, Target, Variant, Vector, Wire,
    };
}
