//! Helpers of the tests: sessions, and networks between them.

pub(crate) mod arena;
pub(crate) mod by_hand;
pub(crate) mod game;
#[path = "../../../tightwire/tests/common/mutate.rs"]
pub(crate) mod mutate;
pub(crate) mod net;
pub(crate) mod networks;
#[path = "../../../tightwire/tests/common/replay.rs"]
pub(crate) mod replay;
#[path = "../../../tightwire/tests/common/rng.rs"]
pub(crate) mod rng;
#[path = "../../../tightwire/tests/common/seed.rs"]
pub(crate) mod seed;
#[path = "../../../tightwire/tests/common/volume.rs"]
pub(crate) mod volume;

// Declared by the fuzz target, which needs all of it.
pub(crate) use crate::checks::quic::raw;
