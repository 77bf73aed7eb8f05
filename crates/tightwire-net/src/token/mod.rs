//! Connect tokens: the game's backend decides which clients may connect, and the server verifies
//! it.

mod claims;
mod gate;
mod key;
mod sealed;

pub use crate::hex::HexError;
pub use crate::reason::TokenError;
pub use claims::{Claims, MintError};
pub use gate::{Admission, TokenGate, TokenGateConfig};
pub use key::TokenKey;
pub use sealed::SealedToken;
