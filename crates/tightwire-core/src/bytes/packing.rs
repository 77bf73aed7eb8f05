//! The choice between the fewest bits and readable bytes.

use crate::stream::{
    ByteStream, MeasureStream, ReadError, ReadStream, Trace, Wire, WriteError, WriteStream,
    decode_into, encode, explain, explain_bytes, measure,
};

/// Packing of a protocol's values: a setting that both sides share.
///
/// Types, ranges, refusals and values are the same; only the bytes differ. In whole bytes, a hex
/// dump shows the numbers, and two dumps can be compared by eye.
///
/// ```
/// use tightwire::Wire;
/// use tightwire::bytes::Packing;
///
/// #[derive(Wire, Default, PartialEq, Debug)]
/// struct Player {
///     #[wire(range = -100..=100)]
///     health: i8,
///     alive: bool,
///     #[wire(range = 1..=1000)]
///     score: u32,
/// }
///
/// let mut buffer = [0; 16];
/// let mut player = Player { health: -3, alive: true, score: 258 };
/// assert_eq!(Packing::Bits.encode(&player, &mut buffer)?, [0x61, 0x03, 0x02]);
///
/// let packet = Packing::Bytes.encode(&player, &mut buffer)?;
/// assert_eq!(packet, [0xfd, 0x01, 0x02, 0x01]);
/// assert_eq!(Packing::Bytes.decode::<Player>(packet)?, player);
///
/// let trace = Packing::Bytes.explain::<Player>(&[0xfd, 1, 0xff, 0xff]);
/// assert!(trace.to_string().ends_with("Player.score at bit 16: 65535 is not in 1..=1000\n"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Wire, Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Packing {
    /// The fewest bits, as [`encode`] writes them: for released games.
    #[default]
    Bits,
    /// Whole bytes without packing, as a [`ByteStream`] writes them: for debugging.
    Bytes,
}

impl Packing {
    /// Like [`encode`]. A buffer of [`MAX_BYTES`](Wire::MAX_BYTES) is enough for bits; whole bytes
    /// can take more, see [`measure`](Self::measure).
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the buffer is too small or a value is out of its range.
    #[inline]
    pub fn encode<'a, T: Wire>(
        self,
        value: &T,
        buffer: &'a mut [u8],
    ) -> Result<&'a [u8], WriteError> {
        match self {
            Self::Bits => encode(value, buffer),
            Self::Bytes => encode_in_bytes(value, buffer),
        }
    }

    /// Like [`decode`](crate::stream::decode).
    ///
    /// # Errors
    ///
    /// [`ReadError`] for anything but a complete valid packet.
    #[inline]
    pub fn decode<T: Wire + Default>(self, packet: &[u8]) -> Result<T, ReadError> {
        let mut value = T::default();
        self.decode_into(packet, &mut value)?;
        Ok(value)
    }

    /// Like [`decode_into`].
    ///
    /// # Errors
    ///
    /// [`ReadError`] for anything but a complete valid packet.
    #[inline]
    pub fn decode_into<T: Wire>(self, packet: &[u8], value: &mut T) -> Result<(), ReadError> {
        match self {
            Self::Bits => decode_into(packet, value),
            Self::Bytes => {
                let mut stream = ByteStream::new(ReadStream::new(packet));
                T::serialize(value.into(), &mut stream)?;
                stream.into_inner().finish()
            }
        }
    }

    /// Returns the most bytes that `value` takes.
    ///
    /// ```
    /// use tightwire::bytes::Packing;
    ///
    /// let value = ([true; 8], 300u16);
    /// assert_eq!(Packing::Bits.measure(&value), 3);
    /// assert_eq!(Packing::Bytes.measure(&value), 10);
    /// ```
    #[must_use]
    pub fn measure<T: Wire>(self, value: &T) -> usize {
        let bits = match self {
            Self::Bits => measure(value),
            Self::Bytes => {
                let mut stream = ByteStream::new(MeasureStream::new());
                let Ok(()) = T::serialize(value.into(), &mut stream);
                stream.into_inner().bits()
            }
        };
        bits.div_ceil(8) as usize
    }

    /// Like [`explain`]: returns the meaning of every byte of `packet`, and where and why it was
    /// refused.
    ///
    /// ```
    /// use tightwire::bytes::Packing;
    ///
    /// let trace = Packing::Bytes.explain::<[u16; 2]>(&[1, 0, 2]);
    /// assert_eq!(trace.spans().next().unwrap().bits(), 0..16);
    /// assert!(trace.failure().is_some());
    /// ```
    #[must_use]
    pub fn explain<T: Wire + Default>(self, packet: &[u8]) -> Trace {
        match self {
            Self::Bits => explain::<T>(packet),
            Self::Bytes => explain_bytes::<T>(packet),
        }
    }
}

/// Not inlined, so that the code that writes bits stays short enough to be inlined into its caller.
#[inline(never)]
fn encode_in_bytes<'a, T: Wire>(value: &T, buffer: &'a mut [u8]) -> Result<&'a [u8], WriteError> {
    let mut stream = ByteStream::new(WriteStream::new(buffer));
    let Ok(()) = T::serialize(value.into(), &mut stream);
    stream.into_inner().finish()
}
