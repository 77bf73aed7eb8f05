#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use quinn_proto::Side;
use quinn_proto::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn_proto::crypto::{ClientConfig as _, ServerConfig as _, Session};
use quinn_proto::transport_parameters::TransportParameters;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PKCS_ED25519,
    date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use super::*;

/// Version of QUIC.
const VERSION: u32 = 1;

/// Runs a handshake; returns its bytes, or the client's error about the server.
fn handshake(
    server: &Arc<QuicServerConfig>,
    trust: &Trust,
    name: &str,
) -> Result<(usize, String), String> {
    let params = TransportParameters::read(Side::Client, &mut &[][..]).unwrap();
    let client = client_crypto(trust).unwrap();
    let mut client = client.start_session(VERSION, name, &params).unwrap();
    let mut server = server.clone().start_session(VERSION, &params);
    let mut size = 0;
    while client.is_handshaking() || server.is_handshaking() {
        let before = size;
        for part in written(&mut *client) {
            size += part.len();
            server.read_handshake(&part).map_err(|error| format!("server: {error}"))?;
        }
        for part in written(&mut *server) {
            size += part.len();
            client.read_handshake(&part).map_err(|error| error.reason)?;
        }
        assert!(size > before, "both wait");
    }
    let data = client.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
    Ok((size, String::from_utf8(data.protocol.unwrap()).unwrap()))
}

/// Returns the written bytes, split by the keys that they are sent under.
fn written(session: &mut dyn Session) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    loop {
        let mut part = Vec::new();
        let keys = session.write_handshake(&mut part);
        if !part.is_empty() {
            parts.push(part);
        }
        if keys.is_none() {
            return parts;
        }
    }
}

fn connect(certificate: &Certificate, trust: &Trust, name: &str) -> Result<(), String> {
    handshake(&server_crypto(certificate).unwrap(), trust, name).map(|_| ())
}

fn certificate() -> Certificate {
    Certificate::self_signed(["game.example.com", "127.0.0.1"]).unwrap()
}

#[test]
fn pinned_certificates_are_accepted_under_any_name() {
    let certificate = certificate();
    let other = Fingerprint([7; 32]);
    let trust = Trust::Pinned(vec![other, certificate.fingerprint()]);
    for name in ["game.example.com", "somewhere.else", "10.1.2.3"] {
        let server = server_crypto(&certificate).unwrap();
        let (_, protocol) = handshake(&server, &trust, name).unwrap();
        assert_eq!(protocol, "tightwire/1");
    }
}

#[test]
fn a_mismatched_fingerprint_is_refused_with_both_values() {
    let (here, there) = (certificate().fingerprint(), certificate());
    assert_ne!(here, there.fingerprint());
    let refused = connect(&there, &Trust::Pinned(vec![here]), "game.example.com").unwrap_err();
    let expected = format!(
        "the server has the fingerprint {}, this client trusts {here}",
        there.fingerprint()
    );
    assert!(refused.contains(&expected), "{refused}");
    assert!(crate::reason::Reason::certificate(&refused).to_string().contains(&expected));
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    let (real, thief) = (certificate(), certificate());
    let own = CertificateDer::from(pem::parse(real.chain_pem()).unwrap().into_contents());
    let key = pem::parse(thief.secret_key_pem()).unwrap().into_contents();
    let key = provider().key_provider.load_private_key(key.try_into().unwrap()).unwrap();
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(vec![own], key))));
    config.alpn_protocols = vec![PROTOCOL.into()];
    let server = Arc::new(QuicServerConfig::try_from(config).unwrap());
    let trust = Trust::Pinned(vec![real.fingerprint()]);
    let refused = handshake(&server, &trust, "game.example.com").unwrap_err();
    assert!(refused.contains("BadSignature"), "{refused}");
}

#[test]
fn certificates_of_an_authority_are_checked_for_name_and_time() {
    let authority = Authority::new();
    let trust = authority.trust();
    let (valid, expired) = (authority.certificate(4000), authority.certificate(2020));
    assert_eq!(connect(&valid, &trust, "game.example.com"), Ok(()));

    let refused = connect(&valid, &trust, "other.example.com").unwrap_err();
    assert!(refused.contains("other.example.com") && refused.contains("game.example.com"));
    let refused = connect(&expired, &trust, "game.example.com").unwrap_err();
    assert!(refused.contains("certificate expired"), "{refused}");
    let refused = connect(&valid, &Authority::new().trust(), "game.example.com").unwrap_err();
    assert!(refused.starts_with("invalid peer certificate"), "{refused}");
    let refused = connect(&certificate(), &trust, "game.example.com").unwrap_err();
    assert!(refused.contains("UnknownIssuer"), "{refused}");

    // A fingerprint does not expire.
    let pinned = Trust::Pinned(vec![expired.fingerprint()]);
    assert_eq!(connect(&expired, &pinned, "game.example.com"), Ok(()));
}

#[test]
fn handshakes_have_one_size() {
    let certificate = certificate();
    let server = server_crypto(&certificate).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let size = || handshake(&server, &trust, "game.example.com").unwrap().0;
    let first = size();
    println!("{first} bytes of handshake");
    for _ in 0..50 {
        assert_eq!(size(), first);
    }
}

#[test]
fn certificates_round_trip_as_pem_and_der() {
    let certificate = certificate();
    let (chain, key) = (certificate.chain_pem(), certificate.secret_key_pem());
    let again = Certificate::from_pem(&chain, &key).unwrap();
    assert_eq!(again.fingerprint(), certificate.fingerprint());
    assert_eq!((again.chain_pem(), again.secret_key_pem()), (chain.clone(), key.clone()));
    // As others write it.
    let both = format!("hello\r\n{chain}{key}").replace('\n', "\r\n");
    assert_eq!(Certificate::from_pem(&both, &both).unwrap().fingerprint(), again.fingerprint());

    let der = |pem: &str| pem::parse(pem).unwrap().into_contents();
    let again = Certificate::from_der(vec![der(&chain)], der(&key)).unwrap();
    assert_eq!(again.fingerprint(), certificate.fingerprint());
    assert_eq!(format!("{again:?}"), format!("Certificate({})", again.fingerprint()));
}

#[test]
fn invalid_certificates_are_refused_with_their_fault() {
    let certificate = certificate();
    let (chain, key) = (certificate.chain_pem(), certificate.secret_key_pem());
    let refused = |chain: &str, key: &str| Certificate::from_pem(chain, key).unwrap_err();

    assert_eq!(refused("", &key), CertificateError::NoCertificate("the server's chain"));
    assert_eq!(refused(&key, &key), CertificateError::NoCertificate("the server's chain"));
    assert_eq!(refused(&chain, &chain), CertificateError::NoKey);
    let cut = &chain[..chain.len() - 30];
    assert_eq!(refused(cut, &key), CertificateError::Damaged("the server's chain"));
    let cut = &key[..key.len() - 30];
    assert_eq!(refused(&chain, cut), CertificateError::Damaged("the private key"));
    let other = self::certificate().secret_key_pem();
    assert_eq!(refused(&chain, &other), CertificateError::OtherKey);
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(refused(garbage, &key), CertificateError::Unreadable { .. }));
    assert!(Certificate::from_der(vec![], vec![]).is_err());

    for name in ["", "a b", "host:7777", "http://game.example.com", "é.example.com"] {
        let refused = Certificate::self_signed([name]).unwrap_err();
        assert_eq!(refused, CertificateError::Name(name.into()));
    }
    for name in ["localhost", "*.example.com", "::1", "eu-west-3"] {
        assert!(Certificate::self_signed([name]).is_ok(), "{name}");
    }

    let refused = |trust| client_crypto(&trust).err().unwrap();
    assert_eq!(refused(Trust::Pinned(vec![])), CertificateError::NobodyTrusted);
    let what = "the list of authorities";
    assert_eq!(refused(Trust::Authorities("".into())), CertificateError::NoCertificate(what));
    assert!(matches!(
        refused(Trust::Authorities(garbage.into())),
        CertificateError::Unreadable { .. }
    ));
}

#[test]
fn fingerprints_match_openssl() {
    // printf abc | sha256sum
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Fingerprint::of(b"abc").to_string(), abc);
    assert_eq!(abc.parse(), Ok(Fingerprint::of(b"abc")));
    for bad in ["", &abc[1..], &format!("{abc}0"), &abc.replace('f', ":")] {
        assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
    }
}

/// An authority that signs certificates for `game.example.com`.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn trust(&self) -> Trust {
        Trust::Authorities(pem::encode(&pem::Pem::new("CERTIFICATE", self.0.der().to_vec())))
    }

    /// Signs a certificate that expires at the beginning of `year`.
    fn certificate(&self, year: i32) -> Certificate {
        let mut params = CertificateParams::new(["game.example.com".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let signed = params.signed_by(&key, &self.0).unwrap();
        Certificate::from_der(vec![signed.der().to_vec()], key.serialize_der()).unwrap()
    }
}
