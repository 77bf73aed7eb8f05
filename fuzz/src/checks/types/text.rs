//! Text and bytes.

use tightwire::{Stream, Target, Wire, at};

use super::Hostile;

#[derive(Default, PartialEq, Debug)]
pub(in crate::checks) struct Text {
    name: String,
    is_quiet: bool,
    motto: String,
    lines: Vec<String>,
}

impl Wire for Text {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.string(at!(this.name), 31)?;
        stream.bool(at!(this.is_quiet))?;
        stream.wide_string(at!(this.motto), 1000)?;
        stream.array(at!(this.lines), 1000, |line, stream| stream.string(line, 200))
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
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.blob(at!(this.blob), 100_000)?;
        stream.bits(at!(this.crumbs), 3)?;
        stream.bytes(at!(this.raw))?;
        stream.bool(at!(this.crumb))?;
        stream.align()?;
        stream.pod(at!(this.plain))?;
        stream.blob(at!(this.tiny), 1)
    }
}

impl Hostile for Blobs {
    const IS_CANONICAL: bool = true;

    fn heap(&self) -> usize {
        self.blob.capacity() + self.tiny.capacity()
    }
}
