//! Authentication of the server: TLS 1.3, as QUIC uses it.

mod chain;
mod error;
mod fingerprint;
#[cfg(feature = "quic")]
mod handshake;

pub use chain::Certificate;
pub use error::CertificateError;
pub use fingerprint::Fingerprint;
#[cfg(feature = "quic")]
pub use handshake::Trust;
#[cfg(feature = "quic")]
pub(crate) use handshake::{client_crypto, server_crypto};
