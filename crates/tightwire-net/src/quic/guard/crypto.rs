//! TLS as QUIC uses it, with a [`Guard`] at the keys of packets.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};

use super::{EncryptionLevel, Guard};

/// TLS configuration of a server: one for all first packets, and then one for each connection.
pub(crate) struct GuardedServer {
    pub(crate) inner: Arc<dyn crypto::ServerConfig>,
    pub(crate) guard: Guard,
}

impl crypto::ServerConfig for GuardedServer {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        // A first packet has no connection yet, so nothing is to be added up.
        let guard = Guard::new(true);
        Ok(guarded(self.inner.initial_keys(version, id)?, &guard, EncryptionLevel::Initial))
    }

    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = self.inner.clone().start_session(version, params);
        Box::new(Guarded { inner, guard: self.guard.clone(), level: EncryptionLevel::Initial })
    }
}

/// TLS configuration of a client.
pub(crate) struct GuardedClient {
    pub(crate) inner: Arc<dyn crypto::ClientConfig>,
    pub(crate) guard: Guard,
}

impl crypto::ClientConfig for GuardedClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.inner.clone().start_session(version, name, params)?;
        Ok(Box::new(Guarded { inner, guard: self.guard.clone(), level: EncryptionLevel::Initial }))
    }
}

struct Guarded {
    inner: Box<dyn Session>,
    guard: Guard,
    /// Level of the newest keys.
    level: EncryptionLevel,
}

impl Session for Guarded {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        guarded(self.inner.initial_keys(id, side), &self.guard, EncryptionLevel::Initial)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, inner) = self.inner.early_crypto()?;
        let key = GuardedKey { inner, guard: self.guard.clone(), level: EncryptionLevel::OneRtt };
        Some((header, Box::new(key)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(bytes)?;
        self.level = if self.level == EncryptionLevel::Initial {
            EncryptionLevel::Handshake
        } else {
            EncryptionLevel::OneRtt
        };
        Some(guarded(keys, &self.guard, self.level))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.guard.handle_key_update();
        Some(guarded_pair(self.inner.next_1rtt_keys()?, &self.guard, EncryptionLevel::OneRtt))
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

fn guarded(keys: Keys, guard: &Guard, level: EncryptionLevel) -> Keys {
    Keys { header: keys.header, packet: guarded_pair(keys.packet, guard, level) }
}

fn guarded_pair(
    pair: KeyPair<Box<dyn PacketKey>>,
    guard: &Guard,
    level: EncryptionLevel,
) -> KeyPair<Box<dyn PacketKey>> {
    let wrap = |inner| Box::new(GuardedKey { inner, guard: guard.clone(), level });
    KeyPair { local: wrap(pair.local), remote: wrap(pair.remote) }
}

struct GuardedKey {
    inner: Box<dyn PacketKey>,
    guard: Guard,
    level: EncryptionLevel,
}

impl PacketKey for GuardedKey {
    fn encrypt(&self, packet: u64, buffer: &mut [u8], header: usize) {
        if self.level == EncryptionLevel::OneRtt {
            let end = buffer.len().saturating_sub(self.inner.tag_len());
            self.guard.handle_outgoing(packet, buffer.get(header..end).unwrap_or_default());
        }
        self.inner.encrypt(packet, buffer, header);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.guard.begin();
        self.inner.decrypt(packet, header, payload)?;
        self.guard.inspect(self.level, packet, payload).map_err(|_| CryptoError)
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
