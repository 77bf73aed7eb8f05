//! postcard, by serde's derive.

use super::Codec;
use serde::{Serialize, de::DeserializeOwned};

pub struct Postcard;

impl<P: Serialize + DeserializeOwned> Codec<P> for Postcard {
    const NAME: &'static str = "postcard";

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        postcard::to_slice(packet, buffer).expect("postcard writes").len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        *slot = postcard::from_bytes(&buffer[..len]).expect("postcard reads");
    }
}
