//! TLS configurations for the handshakes of both sides.

mod server;
#[cfg(test)]
mod tests;
mod trust;

use std::sync::Arc;

use rustls::CipherSuite;
use rustls::crypto::{CryptoProvider, ring};

use super::chain::failed;
use super::{Certificate, CertificateError, Fingerprint};
pub(crate) use server::server_crypto;
pub use trust::Trust;
pub(crate) use trust::client_crypto;

/// ALPN protocol of both sides. Others, as browsers, are refused within the handshake.
const PROTOCOL: &[u8] = b"tightwire/1";

/// Returns the cryptographic provider, which is passed explicitly: a default of the whole process
/// would belong to the game.
///
/// AES with keys of 128 bits comes first: it has four rounds less than with 256, which would come
/// first otherwise.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    let first = CipherSuite::TLS13_AES_128_GCM_SHA256;
    provider.cipher_suites.sort_by_key(|suite| suite.suite() != first);
    Arc::new(provider)
}
