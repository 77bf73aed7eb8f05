//! The client's side of TLS within QUIC.

#[path = "../anyone.rs"]
mod anyone;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, KeyChange, Keys, Secrets, Version};

use super::frames::varint;
use super::packet::Level;

pub(crate) struct Handshake {
    tls: ClientConnection,
    /// By level.
    pub(crate) keys: [Option<Keys>; 3],
    /// Unsent CRYPTO data: level, offset, bytes.
    pub(crate) out: Vec<(Level, u64, Vec<u8>)>,
    first: Vec<(Level, u64, Vec<u8>)>,
    /// Secrets of the next keys of the last level.
    next: Option<Secrets>,
    written: [u64; 3],
    level: Level,
    incoming: [Incoming; 3],
}

/// Received CRYPTO data of a level, in any order.
#[derive(Default)]
struct Incoming {
    parts: BTreeMap<u64, Vec<u8>>,
    read: u64,
}

impl Handshake {
    pub(crate) fn new(source: &[u8], changes: &[ParameterChange]) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(anyone::Anyone))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"tightwire/1".to_vec()];
        let name = ServerName::try_from("game.example").unwrap();
        let params = transport_parameters(source, changes);
        let tls = ClientConnection::new(Arc::new(config), Version::V1, name, params).unwrap();
        let mut this = Self {
            tls,
            keys: [None, None, None],
            out: Vec::new(),
            first: Vec::new(),
            next: None,
            written: [0; 3],
            level: Level::Initial,
            incoming: Default::default(),
        };
        this.write();
        this.first.clone_from(&this.out);
        this
    }

    /// The keys of the first packets follow from the id that they go to.
    pub(crate) fn set_destination(&mut self, destination: &[u8]) {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
        let algorithm = suite.quic.unwrap();
        let keys = Keys::initial(Version::V1, suite, algorithm, destination, Side::Client);
        self.keys[0] = Some(keys);
    }

    /// Handles received CRYPTO data, and writes the response.
    pub(crate) fn read(&mut self, level: Level, offset: u64, data: &[u8]) {
        let incoming = &mut self.incoming[level as usize];
        incoming.parts.insert(offset, data.to_vec());
        while let Some((&offset, part)) = incoming.parts.range(..=incoming.read).next_back() {
            let end = offset + part.len() as u64;
            if end <= incoming.read {
                break;
            }
            let new = part[(incoming.read - offset) as usize..].to_vec();
            incoming.read = end;
            self.tls.read_hs(&new).unwrap();
        }
        self.write();
    }

    /// Goes on with the next keys of the last level.
    pub(crate) fn update_keys(&mut self) {
        let next = self.next.as_mut().unwrap().next_packet_keys();
        let keys = self.keys[2].as_mut().unwrap();
        (keys.local.packet, keys.remote.packet) = (next.local, next.remote);
    }

    /// Says the first thing again, to another id.
    pub(crate) fn restart(&mut self) {
        self.out.clone_from(&self.first);
    }

    fn write(&mut self) {
        loop {
            let (level, mut bytes) = (self.level, Vec::new());
            let change = self.tls.write_hs(&mut bytes);
            let is_changed = change.is_some();
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    self.keys[1] = Some(keys);
                    self.level = Level::Handshake;
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    (self.keys[2], self.next) = (Some(keys), Some(next));
                    self.level = Level::OneRtt;
                }
                None => {}
            }
            if !bytes.is_empty() {
                let offset = &mut self.written[level as usize];
                self.out.push((level, *offset, bytes.clone()));
                *offset += bytes.len() as u64;
            } else if !is_changed {
                return;
            }
        }
    }
}

/// A transport parameter of another value, or without one, by its id.
pub(crate) type ParameterChange = (u64, Option<Vec<u8>>);

/// Generous ones, so that nothing but the server sets limits (RFC 9000, 18.2; RFC 9221).
fn transport_parameters(source: &[u8], changes: &[ParameterChange]) -> Vec<u8> {
    let mut all = vec![(0x0f, source.to_vec())];
    for (id, value) in [
        (0x01, 600_000),
        (0x04, 1 << 30),
        (0x05, 1 << 30),
        (0x06, 1 << 30),
        (0x07, 1 << 30),
        (0x09, 1 << 20),
        (0x0e, 8),
        (0x20, 65535),
    ] {
        all.push((id, number(value)));
    }
    all.retain(|(id, _)| changes.iter().all(|(changed, _)| changed != id));
    all.extend(changes.iter().filter_map(|(id, value)| Some((*id, value.clone()?))));
    let mut out = Vec::new();
    for (id, value) in all {
        varint(&mut out, id);
        varint(&mut out, value.len() as u64);
        out.extend(value);
    }
    out
}

/// A number as the value of a transport parameter.
pub(crate) fn number(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(&mut bytes, value);
    bytes
}
