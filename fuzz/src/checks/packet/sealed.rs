//! Sealed protection: only a peer with the keys can make a datagram, and that peer may be hostile.

use std::cell::OnceCell;
use std::marker::PhantomData;

use tightwire::packet::{Keys, PacketError, Protection, Protocol};
use tightwire::stream::{ReadStream, Shape};
use tightwire::{Stream, Target, Wire};

use super::sets::{Input, Message};
use super::{Packets, check_explained, expected, read, write_again};

thread_local! {
    static PROTOCOLS: OnceCell<Protocols> = const { OnceCell::new() };
}

/// Checks the whole input as a datagram, and as the packet in one. A sum over the input chooses the
/// bit to flip, and whether a packet of a protocol with checks ends with its own bits.
pub(crate) fn packet_sealed(data: &[u8]) {
    PROTOCOLS.with(|protocols| protocols.get_or_init(Protocols::new).check(data));
}

/// Protocols of each set, without and with checks.
struct Protocols {
    messages: [Sides<Message>; 2],
    inputs: [Sides<Input>; 2],
}

/// Two protocols with the same id: `raw` seals any bytes. Each check uses copies with new keys, so
/// that inputs do not affect each other.
struct Sides<P> {
    typed: Protocol<P>,
    raw: Protocol<Raw<P>>,
}

/// Bits that claim to be a `P`.
struct Raw<P> {
    bytes: Vec<u8>,
    bits: usize,
    packets: PhantomData<P>,
}

impl<P: Wire> Wire for Raw<P> {
    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        let (whole, rest) = (this.bits / 8, this.bits % 8);
        for byte in &this.bytes[..whole] {
            stream.bits(&mut (*byte).into(), 8)?;
        }
        if rest > 0 {
            let last = this.bytes[whole] & ((1 << rest) - 1);
            stream.bits(&mut last.into(), rest as u32)?;
        }
        Ok(())
    }

    fn describe() -> Shape {
        P::describe()
    }
}

impl Protocols {
    fn new() -> Self {
        Self {
            messages: [Sides::new(false), Sides::new(true)],
            inputs: [Sides::new(false), Sides::new(true)],
        }
    }

    fn check(&self, data: &[u8]) {
        self.messages.iter().for_each(|sides| sides.check(data));
        self.inputs.iter().for_each(|sides| sides.check(data));
    }
}

fn client() -> Keys {
    Keys::client([1; 32], [2; 32])
}

fn server() -> Keys {
    Keys::server([1; 32], [2; 32])
}

impl<P: Packets> Sides<P> {
    fn new(checks: bool) -> Self {
        let typed = Protocol::new("fuzz", "1", Protection::Sealed(server()));
        let raw = Protocol::new("fuzz", "1", Protection::Sealed(client()));
        let sides = if checks {
            Self { typed: typed.with_checks(), raw: raw.with_checks() }
        } else {
            Self { typed, raw }
        };
        assert_eq!(sides.typed.identity().id(), sides.raw.identity().id());
        sides
    }

    fn check(&self, data: &[u8]) {
        self.check_datagram(data);
        self.check_packet(data);
    }

    /// Checks that the datagram is refused, unless it was sealed with these keys: some of the
    /// corpus are.
    fn check_datagram(&self, data: &[u8]) {
        let mut reader = self.typed.sealed(server());
        let result = read(&mut reader, data);
        check_explained(&mut self.typed.sealed(server()), data, &result);
        let Ok(mut value) = result else { return };
        let again = read(&mut reader, data).err();
        assert_eq!(again, Some(PacketError::Replayed { sequence: data[0].into() }));
        // As many datagrams as were sealed before it.
        let mut writer = self.typed.sealed(client());
        let mut buffer = vec![0; data.len()];
        for _ in 0..data[0] {
            assert!(writer.write(&value, &mut buffer).is_ok());
        }
        assert_eq!(write_again(&mut writer, &mut value, data.len()), data, "sealed by nobody");
    }

    /// Checks the input as a packet that a peer seals twice.
    fn check_packet(&self, data: &[u8]) {
        let mut reader = self.typed.sealed(server());
        let sum = data.iter().fold(data.len(), |sum, byte| sum * 31 % 0xffff + usize::from(*byte));
        let mut sealer = self.raw.sealed(client());
        let raw = self.raw_of(data, sum % 2 == 0);
        let mut buffer = [vec![0; data.len() + 64], vec![0; data.len() + 64]];
        let [first, second] = buffer.each_mut().map(|buffer| match sealer.write(&raw, buffer) {
            Ok(datagram) => datagram,
            Err(refused) => panic!("{refused}: bytes are always written"),
        });
        let packet = sealer.unsealed(second);
        let expected = self.expected(packet);

        // The second datagram arrives first, after a copy that was changed on its way.
        let mut changed = second.to_vec();
        changed[sum / 8 % second.len()] ^= 1 << (sum % 8);
        assert!(read(&mut reader, &changed).is_err());
        for (number, datagram) in [(1, second), (0, first)] {
            let result = read(&mut reader, datagram);
            assert_eq!(result, expected);
            if datagram.len() - OVERHEAD > max_packet::<P>() {
                // Refused by its length, before its sequence number is remembered.
                continue;
            }
            assert_eq!(reader.unsealed(datagram), packet);
            if let Ok(mut value) = result {
                let mut writer = self.typed.sealed(client());
                write_again(&mut writer, &mut value, datagram.len());
                assert_eq!(writer.unsealed(datagram), packet);
            }
            let again = read(&mut reader, datagram).err();
            assert_eq!(again, Some(PacketError::Replayed { sequence: number }));
        }
        check_explained(&mut self.typed.sealed(server()), first, &expected);
    }

    /// Returns all bits, or only those of a valid packet, whose end check follows.
    fn raw_of(&self, data: &[u8], is_cut: bool) -> Raw<P> {
        let mut bits = data.len() * 8;
        if is_cut && self.typed.identity().has_checks() {
            let mut stream = ReadStream::new(data);
            let mut value = P::default();
            if Wire::serialize(Target::from(&mut value), &mut stream).is_ok() {
                bits = stream.position() as usize;
            }
        }
        Raw { bytes: data.to_vec(), bits, packets: PhantomData }
    }

    fn expected(&self, packet: &[u8]) -> Result<P, PacketError> {
        if packet.len() > max_packet::<P>() {
            return Err(PacketError::NotAuthentic);
        }
        expected(packet, self.typed.identity().has_checks())
    }
}

/// Length of a one-byte sequence number and the tag, in bytes.
const OVERHEAD: usize = 1 + 16;

/// Returns the maximum length of a packet in bytes, with the end check that it may have.
fn max_packet<P: Wire>() -> usize {
    P::MAX_BYTES + 4
}
