//! Sealed datagrams: encrypted, authenticated, and each accepted once.
//!
//! The packet is written into memory of the seal and encrypted from there into the buffer of the
//! caller, and decrypted the other way round: nothing is copied, a datagram to read need not be
//! mutable, and the last packet can be explained and recorded. The direction is part of the nonce,
//! although each direction has its own key: using one key for both directions then weakens the
//! game, but does not break the cipher. The sequence number is sent in full, as a varint: its
//! lowest bits alone would save one byte, and lose the connection after a long gap.

use alloc::boxed::Box;
use core::fmt;

use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{AeadInOut, ChaCha20Poly1305, Key, KeyInit, Nonce, Tag};

use super::replay::ReplayWindow;
use super::{PacketError, PacketWriteError};
use crate::stream::{ReadStream, Stream as _, encode, measure};
use tightwire_derive::Wire;

/// Keys of one connection, as one of its sides uses them: one for each direction.
///
/// The game's backend makes both keys at random and gives them to both sides over a secure channel.
/// Keys are for one connection, and a new connection needs new keys: two datagrams with the same
/// key and sequence number would reveal their contents. Therefore keys are not `Clone`, and the
/// [`Protocol`](crate::packet::Protocol) that takes them owns the sequence number.
///
/// ```
/// use tightwire::packet::{Keys, Protection, Protocol};
///
/// // From the backend; a constant would be no secret.
/// let (client_to_server, server_to_client) = ([1; 32], [2; 32]);
/// let keys = Keys::client(client_to_server, server_to_client);
/// let mut client = Protocol::<u16>::new("arena", "1.0", Protection::Sealed(keys));
/// let keys = Keys::server(client_to_server, server_to_client);
/// let mut server = Protocol::<u16>::new("arena", "1.0", Protection::Sealed(keys));
///
/// let mut buffer = [0; 64];
/// let datagram = client.write(&7, &mut buffer)?;
/// assert_eq!(datagram.len(), 1 + 2 + 16);
///
/// let mut read = 0;
/// server.read(datagram, &mut read)?;
/// assert_eq!(read, 7);
/// assert!(server.read(datagram, &mut read).is_err(), "a second time");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Keys {
    send: ChaCha20Poly1305,
    receive: ChaCha20Poly1305,
    direction: Direction,
}

impl Keys {
    /// Creates the keys of the client.
    #[must_use]
    pub fn client(client_to_server: [u8; 32], server_to_client: [u8; 32]) -> Self {
        Self::new(client_to_server, server_to_client, Direction::ToServer)
    }

    /// Creates the keys of the server.
    #[must_use]
    pub fn server(client_to_server: [u8; 32], server_to_client: [u8; 32]) -> Self {
        Self::new(server_to_client, client_to_server, Direction::ToClient)
    }

    fn new(send: [u8; 32], receive: [u8; 32], direction: Direction) -> Self {
        let cipher = |key: [u8; 32]| ChaCha20Poly1305::new(&Key::from(key));
        Self { send: cipher(send), receive: cipher(receive), direction }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(secret)")
    }
}

/// Sealing state of one side: its next sequence number, and the window of received ones.
pub(super) struct Seal {
    keys: Keys,
    /// Protocol id, which is authenticated and not sent.
    id: [u8; 8],
    /// Sequence number of the next datagram.
    next: u64,
    window: ReplayWindow,
    /// Packet that was opened or sealed last, in its first `length` bytes.
    packet: Box<[u8]>,
    length: usize,
}

/// Direction of a datagram: part of the nonce, so that using one key for both directions does not
/// break the cipher.
#[derive(Clone, Copy)]
enum Direction {
    ToServer,
    ToClient,
}

/// Header before the sealed packet.
#[derive(Wire, Default)]
struct Header {
    #[wire(varint)]
    sequence: u64,
}

/// Size in bytes of the tag behind the sealed packet.
pub(super) const TAG_LEN: usize = 16;

impl Direction {
    fn opposite(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

impl Seal {
    /// Creates a seal with memory for packets of `max_packet` bytes.
    pub(super) fn new(keys: Keys, id: u64, max_packet: usize) -> Box<Self> {
        let packet = alloc::vec![0; max_packet].into();
        let window = ReplayWindow::default();
        Box::new(Self { keys, id: id.to_le_bytes(), next: 0, window, packet, length: 0 })
    }

    /// Changes the protocol id and the largest size of packets in bytes.
    pub(super) fn change(&mut self, id: u64, max_packet: usize) {
        self.id = id.to_le_bytes();
        self.length = 0;
        self.packet = alloc::vec![0; max_packet].into();
    }

    /// Packet that was sealed or opened last.
    pub(super) fn packet(&self) -> &[u8] {
        &self.packet[..self.length]
    }

    /// Memory for the packet to seal. The last packet is discarded.
    pub(super) fn packet_mut(&mut self) -> &mut [u8] {
        self.length = 0;
        &mut self.packet
    }

    /// Size in bytes of the header of the next datagram.
    pub(super) fn header_len(&self) -> usize {
        (measure(&Header { sequence: self.next }) / 8) as usize
    }

    /// Seals the packet that was written; its length is the space between header and tag.
    pub(super) fn seal(&mut self, datagram: &mut [u8]) -> Result<(), PacketWriteError> {
        let sequence = self.next;
        // Sequence numbers never wrap, so that none is used twice.
        let next = sequence.checked_add(1).ok_or(PacketWriteError::KeysUsedUp)?;
        let (header, rest) = datagram.split_at_mut(self.header_len());
        let (sealed, tag) = rest.split_at_mut(rest.len() - TAG_LEN);
        encode(&Header { sequence }, header)?;
        self.length = sealed.len();
        let nonce = nonce(self.keys.direction, sequence);
        let authentic = InOutBuf::new(self.packet(), sealed).ok().and_then(|buffer| {
            self.keys.send.encrypt_inout_detached(&nonce, &self.id, buffer).ok()
        });
        // Both buffers have the same length, which is below the cipher's limit of 256 GiB per
        // nonce.
        tag.copy_from_slice(&authentic.ok_or(PacketWriteError::KeysUsedUp)?);
        self.next = next;
        Ok(())
    }

    /// Opens a datagram, and records its sequence number if it is authentic.
    // Not inlined: a call costs little beside the cipher, while inlined code made reading an
    // unprotected input a tenth slower, by `--packet protection` of bench/.
    #[inline(never)]
    pub(super) fn open(&mut self, datagram: &[u8]) -> Result<&[u8], PacketError> {
        // If this datagram is refused, the packet of an earlier one must not be taken for its
        // contents.
        self.length = 0;
        let Some((rest, tag)) = datagram.split_last_chunk().filter(|(rest, _)| !rest.is_empty())
        else {
            return Err(PacketError::TooShort { length: datagram.len(), minimum: 1 + TAG_LEN });
        };
        let mut stream = ReadStream::new(rest);
        let mut header = Header::default();
        stream.object(&mut header).map_err(|_| PacketError::NotAuthentic)?;
        let Header { sequence } = header;
        if !self.window.is_new(sequence) {
            return Err(PacketError::Replayed { sequence });
        }
        let sealed = &rest[(stream.position() / 8) as usize..];
        // A datagram longer than any packet was not sealed by this protocol.
        let packet = self.packet.get_mut(..sealed.len()).ok_or(PacketError::NotAuthentic)?;
        let nonce = nonce(self.keys.direction.opposite(), sequence);
        InOutBuf::new(sealed, packet)
            .ok()
            .and_then(|buffer| {
                let tag = &Tag::from(*tag);
                self.keys.receive.decrypt_inout_detached(&nonce, &self.id, buffer, tag).ok()
            })
            .ok_or(PacketError::NotAuthentic)?;
        self.window.remember(sequence);
        self.length = sealed.len();
        Ok(self.packet())
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").field("next", &self.next).finish_non_exhaustive()
    }
}

/// Nonce of a datagram: the direction in four bytes, the sequence number in eight.
fn nonce(direction: Direction, sequence: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[0] = direction as u8;
    nonce[4..].copy_from_slice(&sequence.to_le_bytes());
    nonce.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_refuses_to_wrap() {
        let keys = Keys::client([1; 32], [2; 32]);
        let mut seal = Seal::new(keys, 7, 64);
        let mut last = [0; 64];
        seal.next = u64::MAX - 1;
        assert_eq!(seal.header_len(), 10);
        assert_eq!(seal.seal(&mut last[..10 + 3 + TAG_LEN]), Ok(()));
        let before = last;
        for _ in 0..3 {
            let refused = seal.seal(&mut last[..10 + 3 + TAG_LEN]);
            assert_eq!(refused, Err(PacketWriteError::KeysUsedUp));
        }
        assert_eq!(last, before, "nothing was sealed");
    }
}
