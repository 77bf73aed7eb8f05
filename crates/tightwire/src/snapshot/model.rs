//! Placeholder.
use super::mention::{Knowledge, Mentions};
use super::packed;
use super::protocol::SnapshotProtocol;
use crate::stream::{ReadError, ReadStream, WriteStream};
use alloc::vec::Vec;

/// What is learned with each packet, for those that it is the base of.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// What the writer of the level `Packed` goes by; its reader needs nothing.
    pub(super) packed: packed::Tuning,
}

impl Model {
    pub(super) fn new(_: &SnapshotProtocol) -> Self {
        Self::default()
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self { packed: self.packed.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        // Into the memory that is there, which a derived one would not do.
        self.packed.clone_from(&source.packed);
    }
}

pub(super) fn write(
    protocol: &SnapshotProtocol,
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    model: &mut Model,
    bytes: &mut Vec<u8>,
    limit: usize,
) -> bool {
    let start = bytes.len();
    bytes.resize(limit, 0);
    let mut stream = WriteStream::new(&mut bytes[start..]);
    let Ok(()) = packed::code(&mut stream, protocol, mentions, knowledge, &mut model.packed);
    let Ok(length) = stream.finish().map(<[u8]>::len) else { return false };
    bytes.truncate(start + length);
    true
}

pub(super) fn read(
    protocol: &SnapshotProtocol,
    bytes: &[u8],
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    model: &mut Model,
) -> Result<(), ReadError> {
    let mut stream = ReadStream::new(bytes);
    packed::code(&mut stream, protocol, mentions, knowledge, &mut model.packed)?;
    stream.finish()
}
