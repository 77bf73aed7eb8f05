//! Helpers of the tests.

pub(crate) mod datagrams;
pub(crate) mod everything;
pub(crate) mod field;
pub(crate) mod figures;
pub(crate) mod game;
pub(crate) mod identities;
pub(crate) mod mutate;
pub(crate) mod office;
pub(crate) mod replay;
pub(crate) mod rng;
pub(crate) mod seed;
pub(crate) mod shapes;
pub(crate) mod volume;

// Declared by the fuzz target.
pub(crate) use crate::checks::snapshots::moving;
