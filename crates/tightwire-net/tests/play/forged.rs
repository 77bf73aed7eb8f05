//! A client whose input frames are changed before they are sent.

use tightwire::stream::{ReadStream, WriteStream};
use tightwire::transport::{Connection, NotSentError, Transport, TransportWrapper};
use tightwire::{Delivery, Stream, Wire};

use crate::game::Simulated;

/// Turns the body of an input frame into the bodies that are sent in its place.
pub(crate) type Forge = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>> + Send>;

/// A transport that forges input frames.
pub(crate) struct Forged {
    pub(crate) quic: Simulated,
    pub(crate) forge: Forge,
    /// A batch that is sent once, with the first input.
    pub(crate) extra: Option<Vec<u8>>,
}

/// The header of an input frame, as docs/WIRE.md has it.
#[derive(Wire, Clone, Default, Debug)]
pub(crate) struct Header {
    pub(crate) view: Option<View>,
    pub(crate) inputs: Option<Span>,
}

#[derive(Wire, Clone, Default, Debug)]
pub(crate) struct View {
    pub(crate) newest: u8,
    pub(crate) tag: u16,
    pub(crate) all: bool,
    #[wire(when = !self.all)]
    pub(crate) earlier: u32,
    #[wire(bits = 10)]
    pub(crate) delay: u16,
}

#[derive(Wire, Clone, Default, Debug)]
pub(crate) struct Span {
    #[wire(bits = 12)]
    pub(crate) newest: u16,
    #[wire(range = 1..=32)]
    pub(crate) count: u8,
    pub(crate) is_whole: bool,
}

/// Changes the header of a frame; the inputs behind it stay.
pub(crate) fn edit(body: &[u8], change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut reader = ReadStream::new(body);
    let mut header = Header::default();
    Header::serialize((&mut header).into(), &mut reader).unwrap();
    let rest = body.len() as u64 * 8 - reader.position();
    change(&mut header);
    let mut bytes = vec![0; body.len() + 16];
    let mut writer = WriteStream::new(&mut bytes);
    let Ok(()) = Header::serialize((&header).into(), &mut writer);
    for _ in 0..rest {
        let mut bit = false;
        reader.bool(&mut bit).unwrap();
        let Ok(()) = writer.bool(&bit);
    }
    writer.finish().unwrap().to_vec()
}

impl TransportWrapper for Forged {
    type Inner = Simulated;

    fn inner(&self) -> &Simulated {
        &self.quic
    }

    fn inner_mut(&mut self) -> &mut Simulated {
        &mut self.quic
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let (prefix, body) = batch.split_at(3.min(batch.len()));
        if delivery != Delivery::Unreliable || prefix.last() != Some(&9) {
            return self.quic.send(to, delivery, batch);
        }
        if let Some(extra) = self.extra.take() {
            self.quic.send(to, Delivery::ReliableOrdered, &extra)?;
        }
        for body in (self.forge)(body) {
            let size = u16::try_from(body.len() + 1).unwrap();
            let batch = [&size.to_le_bytes()[..], &[9], &body].concat();
            self.quic.send(to, delivery, &batch)?;
        }
        Ok(())
    }
}
