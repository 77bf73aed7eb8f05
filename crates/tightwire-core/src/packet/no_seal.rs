//! Uninhabited stand-ins for sealing, where the feature `sealing` is off.

use alloc::boxed::Box;

use super::{PacketError, PacketWriteError};

/// Keys of a connection. Without the feature `sealing` there are none.
#[derive(Debug)]
pub enum Keys {}

#[derive(Debug)]
pub(super) enum Seal {}

/// Size in bytes of the tag behind a sealed packet.
pub(super) const TAG_LEN: usize = 16;

impl Seal {
    pub(super) fn new(keys: Keys, _: u64, _: usize) -> Box<Self> {
        match keys {}
    }

    pub(super) fn change(&mut self, _: u64, _: usize) {
        match *self {}
    }

    pub(super) fn packet(&self) -> &[u8] {
        match *self {}
    }

    pub(super) fn packet_mut(&mut self) -> &mut [u8] {
        match *self {}
    }

    pub(super) fn header_len(&self) -> usize {
        match *self {}
    }

    pub(super) fn seal(&mut self, _: &mut [u8]) -> Result<(), PacketWriteError> {
        match *self {}
    }

    pub(super) fn open(&mut self, _: &[u8]) -> Result<&[u8], PacketError> {
        match *self {}
    }
}
