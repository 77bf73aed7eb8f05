//! Streams within bytes: sections of bits, and values with a wire form.

use core::convert::Infallible;

use super::{Buffer, ByteError, ByteReader, ByteWriter, Packing};
use crate::stream::{
    ByteStream, ErrorKind, RawStream, ReadError, ReadStream, Stream, Wire, WriteError, WriteStream,
};

impl<B: Buffer> ByteWriter<B> {
    /// Writes a section of bits, padded with zeros to a whole byte. The section has no length of
    /// its own: the reader has to read the same bits.
    ///
    /// In a growing buffer, `write` is called again if there was not enough room.
    ///
    /// ```
    /// use tightwire::Stream;
    /// use tightwire::bytes::{ByteReader, ByteWriter};
    ///
    /// let mut writer = ByteWriter::new([0xff; 8]);
    /// writer.write(7u8)?;
    /// writer.write_bits(|stream| {
    ///     stream.bool(&mut true)?;
    ///     stream.int(&mut 1000u16, 0..=1023)
    /// })?;
    /// writer.write(8u8)?;
    /// let packet = writer.finish()?;
    /// assert_eq!(packet, [7, 0b1101_0001, 0b0000_0111, 8]);
    ///
    /// let mut reader = ByteReader::new(packet);
    /// reader.seek(1)?;
    /// let (mut is_there, mut number) = (false, 0u16);
    /// reader.read_bits(|stream| {
    ///     stream.bool(&mut is_there)?;
    ///     stream.int(&mut number, 0..=1023)
    /// })?;
    /// assert_eq!((is_there, number, reader.position()), (true, 1000, 3));
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`], [`ByteError::Refused`] for a value outside its range, and
    /// [`ByteError::NotAtEnd`] after a seek.
    #[inline]
    pub fn write_bits(
        &mut self,
        mut write: impl FnMut(&mut WriteStream<'_>) -> Result<(), Infallible>,
    ) -> Result<(), ByteError> {
        self.write_section(|room| {
            let place = room.as_ptr();
            let mut stream = WriteStream::new(room);
            let Ok(()) = write(&mut stream);
            let packet = stream.finish()?;
            // The closure may have replaced the stream by one of another buffer, whose bytes are
            // not here.
            match packet.as_ptr() == place {
                true => Ok(packet.len()),
                false => Err(WriteError::Value { kind: ErrorKind::Misuse, bit: 0 }),
            }
        })
    }

    /// Writes a value with a wire form: in bits, padded with zeros to a whole byte, or in whole
    /// bytes without packing. The protocol's configuration chooses.
    ///
    /// ```
    /// use tightwire::bytes::{ByteReader, ByteWriter, Packing};
    ///
    /// let mut writer = ByteWriter::new([0; 8]);
    /// writer.write_wire(&(true, Some(7u8)), Packing::Bytes)?;
    /// writer.write_wire(&(true, Some(7u8)), Packing::Bits)?;
    /// let packet = writer.finish()?;
    /// assert_eq!(packet, [1, 1, 7, 0b0001_1111, 0]);
    ///
    /// let mut value = (false, None::<u8>);
    /// ByteReader::new(packet).read_wire(&mut value, Packing::Bytes)?;
    /// assert_eq!(value, (true, Some(7)));
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`], [`ByteError::Value`] for a value outside its range, whose field
    /// [`explain_write`](crate::stream::explain_write) names, and [`ByteError::NotAtEnd`] after a
    /// seek.
    #[inline]
    pub fn write_wire<T: Wire>(&mut self, value: &T, packing: Packing) -> Result<(), ByteError> {
        match self.write_section(|room| Ok(packing.encode(value, room)?.len())) {
            Err(ByteError::Refused { kind, bit }) => Err(ByteError::Value { kind, bit }),
            result => result,
        }
    }

    /// Writes a section by a closure that returns its length in bytes.
    #[inline]
    fn write_section(
        &mut self,
        mut write: impl FnMut(&mut [u8]) -> Result<usize, WriteError>,
    ) -> Result<(), ByteError> {
        // A stream stores whole words, and would overwrite bytes behind its end.
        let start = self.end()?;
        loop {
            let room = self.buffer.as_mut_slice().get_mut(start..).unwrap_or_default();
            let capacity = room.len();
            let needed = match write(room) {
                Ok(length) => {
                    self.advance(length);
                    return Ok(());
                }
                Err(WriteError::Value { kind, bit }) => {
                    return Err(ByteError::Refused { kind, bit: start as u64 * 8 + bit });
                }
                Err(WriteError::Full { needed_bits, .. }) => needed_bits.div_ceil(8) as usize,
            };
            // The buffer must grow in each round, or the loop would not end.
            let is_more = needed > capacity;
            if !is_more || !self.buffer.grow_to(start.saturating_add(needed)) {
                return Err(ByteError::Full { byte: start, needed });
            }
        }
    }
}

impl<'a> ByteReader<'a> {
    /// Reads a section of bits that was written by [`ByteWriter::write_bits`]; padding bits that
    /// are set are refused.
    ///
    /// # Errors
    ///
    /// [`ByteError::Refused`], with the refusal of the stream, or [`ErrorKind::Padding`].
    #[inline]
    pub fn read_bits<R>(
        &mut self,
        read: impl FnOnce(&mut ReadStream<'a>) -> Result<R, ReadError>,
    ) -> Result<R, ByteError> {
        let start = self.position();
        let mut stream = ReadStream::new(self.rest());
        let result = read(&mut stream).and_then(|result| {
            stream.align()?;
            Ok(result)
        });
        let result = result.map_err(|refused| ByteError::read(refused, start))?;
        self.seek(start.saturating_add((stream.position() / 8) as usize))?;
        Ok(result)
    }

    /// Reads a value that was written by [`ByteWriter::write_wire`] with the same packing, into an
    /// existing value. After a refusal the value is partly read, and the position has not moved.
    ///
    /// # Errors
    ///
    /// [`ByteError::Refused`], with the refusal of the stream.
    #[inline]
    pub fn read_wire<T: Wire>(&mut self, value: &mut T, packing: Packing) -> Result<(), ByteError> {
        let start = self.position();
        let refused = |refused| ByteError::read(refused, start);
        match packing {
            Packing::Bits => self.read_bits(|stream| T::serialize(value.into(), stream)),
            Packing::Bytes => {
                let mut stream = ByteStream::new(ReadStream::new(self.rest()));
                T::serialize(value.into(), &mut stream).map_err(refused)?;
                self.seek(start + (RawStream::position(&stream) / 8) as usize)
            }
        }
    }
}
