//! Placeholder.
use super::mention::{Knowledge, Mentions};
use super::packed;
use super::protocol::SnapshotProtocol;
use crate::stream::{ReadError, ReadStream, WriteStream};
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Model {}

impl Model {
    pub(super) fn new(_: &SnapshotProtocol) -> Self {
        Self {}
    }
}

pub(super) fn write(
    protocol: &SnapshotProtocol,
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    _model: &mut Model,
    bytes: &mut Vec<u8>,
    limit: usize,
) -> bool {
    let start = bytes.len();
    bytes.resize(limit, 0);
    let mut stream = WriteStream::new(&mut bytes[start..]);
    let Ok(()) = packed::code(&mut stream, protocol, mentions, knowledge);
    let Ok(length) = stream.finish().map(<[u8]>::len) else { return false };
    bytes.truncate(start + length);
    true
}

pub(super) fn read(
    protocol: &SnapshotProtocol,
    bytes: &[u8],
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
    _model: &mut Model,
) -> Result<(), ReadError> {
    let mut stream = ReadStream::new(bytes);
    packed::code(&mut stream, protocol, mentions, knowledge)?;
    stream.finish()
}
