//! wincode, by derive.

use super::Codec;
use wincode::config::DefaultConfig;
use wincode::{SchemaRead, SchemaWrite};

pub struct Wincode;

impl<P> Codec<P> for Wincode
where
    P: SchemaWrite<DefaultConfig, Src = P> + for<'de> SchemaRead<'de, DefaultConfig, Dst = P>,
{
    const NAME: &'static str = "wincode";

    fn write(&mut self, packet: &mut P, buffer: &mut [u8]) -> usize {
        let capacity = buffer.len();
        let mut rest = buffer;
        wincode::serialize_into(&mut rest, packet).expect("wincode writes");
        capacity - rest.len()
    }

    fn read(&mut self, buffer: &[u8], len: usize, slot: &mut P) {
        *slot = wincode::deserialize(&buffer[..len]).expect("wincode reads");
    }
}
