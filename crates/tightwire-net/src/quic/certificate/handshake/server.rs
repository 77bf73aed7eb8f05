//! The server's side of a handshake: certificates, checked against their keys.

use std::sync::Arc;

use quinn_proto::crypto::rustls::QuicServerConfig;
use ring::digest;
use rustls::server::NoServerSessionStorage;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{Error, InconsistentKeys};
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::{Certificate, CertificateError, Fingerprint, PROTOCOL, failed, provider};
use crate::transport::Cause;

/// Name of the chain in errors.
const CHAIN: &str = "the server's chain";

impl Certificate {
    /// Creates a certificate from PEM, as authorities and [`chain_pem`](Self::chain_pem) give it:
    /// the chain begins with the server's own certificate.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] with the reason.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, CertificateError> {
        let chain = certificates(chain, CHAIN)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| match error {
            PemError::NoItemsFound => CertificateError::NoKey,
            // The text of the error might quote a line of the key.
            _ => CertificateError::Damaged("the private key"),
        })?;
        Self::new(chain, key)
    }

    /// Creates a certificate from DER: the chain begins with the server's own certificate, and the
    /// key is PKCS #8, PKCS #1 or SEC 1.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] with the reason.
    pub fn from_der(chain: Vec<Vec<u8>>, key: Vec<u8>) -> Result<Self, CertificateError> {
        let key = PrivateKeyDer::try_from(key).map_err(|why| unreadable_key(Cause::text(why)))?;
        Self::new(chain.into_iter().map(CertificateDer::from).collect(), key)
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, CertificateError> {
        let own = chain.first().ok_or(CertificateError::NoCertificate(CHAIN))?;
        let fingerprint = Fingerprint::of(own);
        // Checked now, and not in the first handshake.
        let provider = provider();
        let signing = provider.key_provider.load_private_key(key.clone_key());
        let signing = signing.map_err(|why| unreadable_key(why.into()))?;
        match CertifiedKey::new(chain.clone(), signing).keys_match() {
            // If the library cannot compare them, the first handshake fails instead.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
                Ok(Self { chain, key, fingerprint })
            }
            Err(Error::InconsistentKeys(_)) => Err(CertificateError::OtherKey),
            Err(why) => {
                let part = "the server's certificate";
                Err(CertificateError::Unreadable { part, reason: why.into() })
            }
        }
    }

    /// Derives a secret that stays the same as long as the certificate does, for values that
    /// clients must recognise after a restart. Each purpose has its own.
    pub(crate) fn secret_for(&self, purpose: &str) -> [u8; 32] {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"tightwire secret for ");
        context.update(purpose.as_bytes());
        context.update(self.key.secret_der());
        let mut key = [0; 32];
        key.copy_from_slice(context.finish().as_ref());
        key
    }
}

/// Returns the TLS configuration of a QUIC server.
pub(crate) fn server_crypto(
    certificate: &Certificate,
) -> Result<Arc<QuicServerConfig>, CertificateError> {
    let Certificate { chain, key, .. } = certificate.clone();
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(failed)?;
    config.alpn_protocols = vec![PROTOCOL.into()];
    // Nothing is resumed: early data could be replayed, and tickets would be sent for nothing.
    config.max_early_data_size = 0;
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    QuicServerConfig::try_from(config).map(Arc::new).map_err(failed)
}

/// Returns all certificates of a text, which `what` names in errors. There is at least one.
pub(super) fn certificates(
    pem: &str,
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err(CertificateError::NoCertificate(what)),
        Ok(found) => Ok(found),
        Err(_) => Err(CertificateError::Damaged(what)),
    }
}

fn unreadable_key(reason: Cause) -> CertificateError {
    CertificateError::Unreadable { part: "the private key", reason }
}
