//! Connect tokens: who may connect is decided by the game's backend, and the server believes it.

mod claims;
mod gate;
mod key;
mod sealed;

pub use crate::hex::NotHex;
pub use crate::reason::TokenFault;
pub use claims::{Claims, NotMinted};
pub use gate::{Admission, TokenGate, TokenGateConfig};
pub use key::TokenKey;
pub use sealed::SealedToken;
