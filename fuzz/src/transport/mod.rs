//! The checks of `tightwire-transport`: one function per fuzz target, as in `checks`.

mod token;

pub(crate) use token::token;
