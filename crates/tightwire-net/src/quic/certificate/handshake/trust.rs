//! The client's side of a handshake: authentication of the server.

use core::fmt;
use std::sync::Arc;

use quinn_proto::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

use super::server::certificates;
use super::{CertificateError, Fingerprint, PROTOCOL, failed, provider};

/// The servers that a client trusts.
///
/// ```
/// use tightwire::quic::{Certificate, Trust};
///
/// // Given to the client by the backend, along with the server's address.
/// let fingerprint = Certificate::self_signed(["eu-west-3"])?.fingerprint().to_string();
/// let trust = Trust::Pinned(vec![fingerprint.parse()?]);
/// assert!(matches!(trust, Trust::Pinned(fingerprints) if fingerprints.len() == 1));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Trust {
    /// Servers whose own certificate has one of these fingerprints. Its names and dates do not
    /// matter; the proof of the private key does.
    Pinned(Vec<Fingerprint>),
    /// Servers whose certificate is for the name that is connected to, is valid now, and was signed
    /// by one of these authorities, whose certificates are given as PEM.
    Authorities(String),
}

/// Accepts servers with one of these fingerprints.
#[derive(Debug)]
struct Pins {
    fingerprints: Vec<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The server's certificate is not one of the pinned ones.
struct PinError {
    found: Fingerprint,
    pinned: Vec<Fingerprint>,
}

/// Returns the TLS configuration of a QUIC client.
pub(crate) fn client_crypto(trust: &Trust) -> Result<Arc<QuicClientConfig>, CertificateError> {
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier(trust)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.into()];
    config.enable_early_data = false;
    config.resumption = Resumption::disabled();
    QuicClientConfig::try_from(config).map(Arc::new).map_err(failed)
}

fn verifier(trust: &Trust) -> Result<Arc<dyn ServerCertVerifier>, CertificateError> {
    match trust {
        Trust::Pinned(fingerprints) if fingerprints.is_empty() => {
            Err(CertificateError::NobodyTrusted)
        }
        Trust::Pinned(fingerprints) => Ok(Arc::new(Pins {
            fingerprints: fingerprints.clone(),
            algorithms: provider().signature_verification_algorithms,
        })),
        Trust::Authorities(pem) => {
            let what = "the list of authorities";
            let mut roots = RootCertStore::empty();
            for certificate in certificates(pem, what)? {
                roots.add(certificate).map_err(|why| {
                    let part = "the certificate of an authority";
                    CertificateError::Unreadable { part, reason: why.into() }
                })?;
            }
            let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), provider());
            Ok(builder.build().map_err(failed)?)
        }
    }
}

impl ServerCertVerifier for Pins {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(own);
        if self.fingerprints.contains(&found) {
            return Ok(ServerCertVerified::assertion());
        }
        let refused = PinError { found, pinned: self.fingerprints.clone() };
        Err(Error::InvalidCertificate(rustls::CertificateError::Other(OtherError(Arc::new(
            refused,
        )))))
    }

    // The certificate is public: only the signature shows that the server has its key.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, pinned } = self;
        // Short, so that both fit into a `Reason`.
        write!(f, "the server has the fingerprint {found}, this client trusts ")?;
        for (index, fingerprint) in pinned.iter().enumerate() {
            let separator = if index == 0 { "" } else { " or " };
            write!(f, "{separator}{fingerprint}")?;
        }
        Ok(())
    }
}

// TLS shows errors that it does not know like this, and people see it.
impl fmt::Debug for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for PinError {}
