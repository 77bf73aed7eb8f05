//! Keys that encrypt nothing, around which the guard puts its own.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError};

use super::guard::{Guard, GuardedServer};

/// The guarded keys of a connection, by level: initial, handshake, 1-RTT.
pub(super) type Levels = [KeyPair<Box<dyn PacketKey>>; 3];

/// Makes the keys of a connection as QUIC does.
pub(super) fn levels(guard: &Guard) -> Levels {
    let server = Arc::new(GuardedServer { inner: Arc::new(Plain), guard: guard.clone() });
    let Ok(parameters) = TransportParameters::read(Side::Client, &mut &[][..]) else {
        unreachable!("all of them have defaults")
    };
    let mut session = server.start_session(1, &parameters);
    let initial = session.initial_keys(&ConnectionId::new(&[7; 8]), Side::Server);
    let mut next = || match session.write_handshake(&mut Vec::new()) {
        Some(keys) => keys.packet,
        None => unreachable!("there are always keys"),
    };
    [initial.packet, next(), next()]
}

struct Plain;

impl Plain {
    fn pair() -> KeyPair<Box<dyn PacketKey>> {
        KeyPair { local: Box::new(Plain), remote: Box::new(Plain) }
    }

    fn keys() -> Keys {
        let header =
            KeyPair::<Box<dyn HeaderKey>> { local: Box::new(Plain), remote: Box::new(Plain) };
        Keys { header, packet: Self::pair() }
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], _: &mut BytesMut) -> Result<(), CryptoError> {
        Ok(())
    }

    fn tag_len(&self) -> usize {
        0
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        0
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(Self::keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, _: &TransportParameters) -> Box<dyn Session> {
        Box::new(Plain)
    }
}

impl Session for Plain {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        Self::keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        false
    }

    fn read_handshake(&mut self, _: &[u8]) -> Result<bool, TransportError> {
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(None)
    }

    fn write_handshake(&mut self, _: &mut Vec<u8>) -> Option<Keys> {
        Some(Self::keys())
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(Self::pair())
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
