//! A packet in its datagram: with or without checks, in bits or in whole bytes.

use alloc::vec;
use core::convert::Infallible;

use crate::bytes::Packing;
use crate::stream::{
    self, ByteStream, RawStream, ReadError, ReadStream, Reading, Shared, Stream, Trace, Wire,
    WriteError, WriteStream, explain_with, trace_write,
};

/// Settings for the bytes of a packet, besides its layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PacketForm {
    pub(super) checks: bool,
    pub(super) packing: Packing,
}

impl PacketForm {
    /// The form of released games: the fewest bits.
    const PLAIN: Self = Self { checks: false, packing: Packing::Bits };

    /// Plain packets have their own compiled code, so that no field tests the settings at run time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn encode<'b, P: Wire>(
        self,
        packet: &P,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], WriteError> {
        if self != Self::PLAIN {
            return self.encode_otherwise(packet, buffer);
        }
        // A packet of fixed size contains no checks that could be left out.
        if P::FIXED_BITS.is_some() {
            return stream::encode(packet, buffer);
        }
        let mut stream = WriteStream::new(buffer).without_checks();
        let Ok(()) = P::serialize(packet.into(), &mut stream);
        stream.finish()
    }

    #[cold]
    fn encode_otherwise<'b, P: Wire>(
        self,
        packet: &P,
        buffer: &'b mut [u8],
    ) -> Result<&'b [u8], WriteError> {
        let stream = WriteStream::new(buffer);
        let mut stream = if self.checks { stream } else { stream.without_checks() };
        match self.packing {
            Packing::Bits => {
                let Ok(()) = P::serialize(packet.into(), &mut stream);
                let Ok(()) = check_end(&mut stream);
            }
            Packing::Bytes => {
                let mut bytes = ByteStream::new(stream);
                let Ok(()) = P::serialize(packet.into(), &mut bytes);
                let Ok(()) = check_end(&mut bytes);
                stream = bytes.into_inner();
            }
        }
        stream.finish()
    }

    /// Plain packets have their own compiled code, as in [`encode`](Self::encode).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn decode<P: Wire>(self, bytes: &[u8], packet: &mut P) -> Result<(), ReadError> {
        if self != Self::PLAIN {
            return self.decode_otherwise(bytes, packet);
        }
        if P::FIXED_BITS.is_some() {
            return stream::decode_into(bytes, packet);
        }
        read(ReadStream::new(bytes).without_checks(), packet)
    }

    #[cold]
    fn decode_otherwise<P: Wire>(self, bytes: &[u8], packet: &mut P) -> Result<(), ReadError> {
        let stream = self.read_stream(bytes);
        match self.packing {
            Packing::Bits => read(stream, packet),
            Packing::Bytes => read(ByteStream::new(stream), packet),
        }
    }

    /// Reads a packet again as an object named `name`, and returns the trace.
    pub(super) fn explain<P: Wire>(self, bytes: &[u8], name: &str, packet: &mut P) -> Trace {
        fn explain<S: Reading, P: Wire>(
            bytes: &[u8],
            stream: S,
            name: &str,
            packet: &mut P,
        ) -> Trace {
            explain_with(bytes, stream, name, |stream| {
                P::serialize(packet.into(), stream)?;
                check_end(stream)
            })
        }
        let stream = self.read_stream(bytes);
        match self.packing {
            Packing::Bits => explain(bytes, stream, name, packet),
            Packing::Bytes => explain(bytes, ByteStream::new(stream), name, packet),
        }
    }

    /// Writes a packet again as an object named `name` into a buffer of `capacity` bytes, and
    /// returns the trace.
    pub(super) fn explain_write<P: Wire>(self, packet: &P, name: &str, capacity: usize) -> Trace {
        fn explain<S: RawStream<Error = Infallible, Access = Shared>, P: Wire>(
            stream: S,
            name: &str,
            packet: &P,
        ) -> Trace {
            let (_, trace) = trace_write(stream, name, |stream| {
                P::serialize(packet.into(), stream)?;
                check_end(stream)
            });
            trace
        }
        let mut buffer = vec![0; capacity];
        let stream = WriteStream::new(&mut buffer);
        let stream = if self.checks { stream } else { stream.without_checks() };
        match self.packing {
            Packing::Bits => explain(stream, name, packet),
            Packing::Bytes => explain(ByteStream::new(stream), name, packet),
        }
    }

    pub(super) fn read_stream(self, bytes: &[u8]) -> ReadStream<'_> {
        let stream = ReadStream::new(bytes);
        if self.checks { stream } else { stream.without_checks() }
    }

    /// Largest size of a packet in bytes, limited by the 16-bit length of a datagram.
    pub(super) fn max_packet<P: Wire>(self) -> usize {
        let most = match self.packing {
            Packing::Bits => P::MAX_BITS.div_ceil(8),
            // The worst case of whole bytes is not computed.
            Packing::Bytes => u64::MAX,
        };
        most.saturating_add(END_CHECK_LEN as u64).min(u16::MAX.into()) as usize
    }
}

/// Size in bytes of the check at the end of a packet.
pub(super) const END_CHECK_LEN: usize = 4;

#[cfg_attr(not(debug_assertions), inline(always))]
fn read<S: Reading, P: Wire>(mut stream: S, packet: &mut P) -> Result<(), ReadError> {
    P::serialize(packet.into(), &mut stream)?;
    check_end(&mut stream)?;
    stream.end()
}

/// The check at the end of every packet, in a protocol with checks.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn check_end<S: Stream>(stream: &mut S) -> Result<(), S::Error> {
    // A check that is not sent should not show in a trace.
    if stream.has_checks() { stream.named("end").check("end") } else { Ok(()) }
}
