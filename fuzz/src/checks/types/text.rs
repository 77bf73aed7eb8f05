//! Text and bytes.

use tightwire::{Stream, Wire};

use super::Hostile;

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct Text {
    name: String,
    is_quiet: bool,
    motto: String,
    lines: Vec<String>,
}

impl Wire for Text {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.named("name").string(&mut self.name, 31)?;
        stream.bool(&mut self.is_quiet)?;
        stream.wide_string(&mut self.motto, 1000)?;
        stream.array(&mut self.lines, 1000, |line, stream| stream.string(line, 200))
    }
}

impl Hostile for Text {
    const IS_CANONICAL: bool = true;

    fn heap(&self) -> usize {
        let strings = self.lines.iter().map(String::capacity).sum::<usize>();
        let lines = self.lines.capacity() * size_of::<String>() + strings;
        self.name.capacity() + self.motto.capacity() + lines
    }
}

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct Blobs {
    blob: Vec<u8>,
    crumbs: u64,
    raw: [u8; 5],
    crumb: bool,
    plain: [u16; 3],
    tiny: Vec<u8>,
}

impl Wire for Blobs {
    fn serialize<S: Stream>(&mut self, stream: &mut S) -> Result<(), S::Error> {
        stream.named("blob").blob(&mut self.blob, 100_000)?;
        stream.bits(&mut self.crumbs, 3)?;
        stream.bytes(&mut self.raw)?;
        stream.bool(&mut self.crumb)?;
        stream.align()?;
        stream.pod(&mut self.plain)?;
        stream.blob(&mut self.tiny, 1)
    }
}

impl Hostile for Blobs {
    const IS_CANONICAL: bool = true;

    fn heap(&self) -> usize {
        self.blob.capacity() + self.tiny.capacity()
    }
}
