//! A server's certificate with its key.

use core::error::Error;
use core::fmt;

use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ED25519};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};

use super::{CertificateError, Fingerprint};

/// A server's certificate with its private key.
///
/// [`self_signed`](Self::self_signed) is all that most games need: the backend gives the
/// [`fingerprint`](Self::fingerprint) to the clients along with the server's address. A server that
/// keeps its certificate between starts, so that the fingerprint stays, writes
/// [`chain_pem`](Self::chain_pem) and [`secret_key_pem`](Self::secret_key_pem) into files.
///
/// ```
/// use tightwire::quic::{Certificate, Trust};
///
/// let certificate = Certificate::self_signed(["game.example.com"])?;
/// let (chain, key) = (certificate.chain_pem(), certificate.secret_key_pem());
///
/// // At the next start.
/// let same = Certificate::from_pem(&chain, &key)?;
/// assert_eq!(same.fingerprint(), certificate.fingerprint());
///
/// // At the client.
/// let trust = Trust::Pinned(vec![certificate.fingerprint()]);
/// # let _ = trust;
/// # Ok::<(), tightwire::quic::CertificateError>(())
/// ```
pub struct Certificate {
    /// The server's own certificate first; never empty.
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    pub(super) fingerprint: Fingerprint,
}

impl Certificate {
    /// Creates a self-signed certificate for these names, DNS names or IP addresses. It does not
    /// expire.
    ///
    /// Names matter to clients with [`Trust::Authorities`](crate::quic::Trust::Authorities) only.
    ///
    /// # Errors
    ///
    /// [`CertificateError`] if a certificate cannot have one of the names.
    pub fn self_signed<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, CertificateError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        for name in &names {
            let checked = name.strip_prefix("*.").unwrap_or(name);
            if ServerName::try_from(checked).is_err() {
                return Err(CertificateError::Name(name.clone()));
            }
        }
        let common = names.first().cloned().unwrap_or_else(|| "tightwire".into());
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, common);
        // Its signatures have one length, those of ECDSA several: a handshake has the same size each
        // time.
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let own = CertificateDer::from(certificate);
        let fingerprint = Fingerprint::of(&own);
        Ok(Self { chain: vec![own], key: PrivatePkcs8KeyDer::from(key).into(), fingerprint })
    }

    /// Returns the fingerprint, by which clients can authenticate the server.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the certificates as PEM, which are public.
    #[must_use]
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(|certificate| encode("CERTIFICATE", certificate)).collect()
    }

    /// Returns the private key as PEM, to be kept secret: its owner can impersonate the server.
    #[must_use]
    pub fn secret_key_pem(&self) -> String {
        let tag = match self.key {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        encode(tag, self.key.secret_der())
    }
}

impl Clone for Certificate {
    fn clone(&self) -> Self {
        let (chain, key) = (self.chain.clone(), self.key.clone_key());
        Self { chain, key, fingerprint: self.fingerprint }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.fingerprint)
    }
}

pub(super) fn failed(why: impl Error + Send + Sync + 'static) -> CertificateError {
    CertificateError::Failed(why.into())
}

fn encode(tag: &str, der: &[u8]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new(tag, der), config)
}
