//! The server's side.

use core::fmt;
use std::sync::Arc;

use pem::{EncodeConfig, LineEnding, Pem};
use quinn_proto::crypto::rustls::QuicServerConfig;
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ED25519};
use ring::digest;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{Error, InconsistentKeys};

use super::{BadCertificate, Fingerprint, PROTOCOL, provider};

/// A server's certificate with its private key.
///
/// [`self_signed`](Self::self_signed) is all that most games need: the backend gives the
/// [`fingerprint`](Self::fingerprint) to the clients along with the server's address. A server that
/// keeps its certificate between starts, so that the fingerprint stays, writes
/// [`chain_pem`](Self::chain_pem) and [`secret_key_pem`](Self::secret_key_pem) into files.
///
/// ```
/// use tightwire_transport::{Certificate, Trust};
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
/// # Ok::<(), tightwire_transport::BadCertificate>(())
/// ```
pub struct Certificate {
    /// The server's own first; never empty.
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    fingerprint: Fingerprint,
}

/// What messages call the chain.
const CHAIN: &str = "the server's chain";

impl Certificate {
    /// A new certificate for these names, DNS names or IP addresses, signed by itself. It does not
    /// expire.
    ///
    /// Names matter to clients with [`Trust::Authorities`](crate::Trust::Authorities) only.
    ///
    /// # Errors
    ///
    /// [`BadCertificate`] if a certificate cannot have one of the names.
    pub fn self_signed<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, BadCertificate> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        for name in &names {
            let checked = name.strip_prefix("*.").unwrap_or(name);
            if ServerName::try_from(checked).is_err() {
                return Err(BadCertificate::Name(name.clone()));
            }
        }
        let common = names.first().cloned().unwrap_or_else(|| "tightwire".into());
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, common);
        // Its signatures have one length, those of ECDSA several: a handshake has the same size each
        // time.
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        Self::new(vec![certificate.into()], PrivatePkcs8KeyDer::from(key).into())
    }

    /// From PEM, as authorities and [`chain_pem`](Self::chain_pem) give it: the chain begins with the
    /// server's own certificate.
    ///
    /// # Errors
    ///
    /// [`BadCertificate`] says what is wrong.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, BadCertificate> {
        let chain = certificates(chain, CHAIN)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| match error {
            PemError::NoItemsFound => BadCertificate::NoKey,
            // It might repeat a line of the key.
            _ => BadCertificate::Damaged("the private key"),
        })?;
        Self::new(chain, key)
    }

    /// From DER: the chain begins with the server's own certificate, and the key is PKCS #8, PKCS #1 or
    /// SEC 1.
    ///
    /// # Errors
    ///
    /// [`BadCertificate`] says what is wrong.
    pub fn from_der(chain: Vec<Vec<u8>>, key: Vec<u8>) -> Result<Self, BadCertificate> {
        let key = PrivateKeyDer::try_from(key).map_err(|why| unreadable_key(&why))?;
        Self::new(chain.into_iter().map(CertificateDer::from).collect(), key)
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, BadCertificate> {
        let own = chain.first().ok_or(BadCertificate::NoCertificate(CHAIN))?;
        let fingerprint = Fingerprint::of(own);
        // Now, and not when the first client comes.
        let provider = provider();
        let signing = provider.key_provider.load_private_key(key.clone_key());
        let signing = signing.map_err(|why| unreadable_key(&why))?;
        match CertifiedKey::new(chain.clone(), signing).keys_match() {
            // A library that cannot tell lets the first handshake do it.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
                Ok(Self { chain, key, fingerprint })
            }
            Err(Error::InconsistentKeys(_)) => Err(BadCertificate::OtherKey),
            Err(why) => {
                let what = "the server's certificate";
                Err(BadCertificate::Unreadable { what, why: why.to_string() })
            }
        }
    }

    /// A secret that stays the same as long as the certificate does, for what clients must recognise
    /// after a restart. Another one for each purpose.
    pub(crate) fn secret_for(&self, purpose: &str) -> [u8; 32] {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"tightwire secret for ");
        context.update(purpose.as_bytes());
        context.update(self.key.secret_der());
        let mut key = [0; 32];
        key.copy_from_slice(context.finish().as_ref());
        key
    }

    /// What clients can know the server by.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The certificates as PEM, which are public.
    #[must_use]
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(|certificate| encode("CERTIFICATE", certificate)).collect()
    }

    /// The private key as PEM, to be kept secret: whoever has it can pretend to be the server.
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

/// What a QUIC server does its handshakes with.
pub(crate) fn server_crypto(
    certificate: &Certificate,
) -> Result<Arc<QuicServerConfig>, BadCertificate> {
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

/// All certificates of a text, which are called so in messages. There is at least one.
pub(super) fn certificates(
    pem: &str,
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, BadCertificate> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err(BadCertificate::NoCertificate(what)),
        Ok(found) => Ok(found),
        Err(_) => Err(BadCertificate::Damaged(what)),
    }
}

pub(super) fn failed(why: impl fmt::Display) -> BadCertificate {
    BadCertificate::Failed(why.to_string())
}

fn unreadable_key(why: &dyn fmt::Display) -> BadCertificate {
    BadCertificate::Unreadable { what: "the private key", why: why.to_string() }
}

fn encode(tag: &str, der: &[u8]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new(tag, der), config)
}
