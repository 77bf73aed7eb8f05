//! Sends the objects that changed, out of a world that both sides have.

use tightwire::Stream;
use tightwire::stream::{ReadStream, Selection, SubsetCoding, WriteStream};

const OBJECTS: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut server = vec![0u8; OBJECTS];
    let mut client = vec![0u8; OBJECTS];
    let mut changed = Selection::new(OBJECTS);
    for index in (100..4000).step_by(117) {
        server[index] = 200;
        changed.insert(index);
    }

    let mut buffer = [0; 8192];
    for coding in [
        SubsetCoding::BitPerObject,
        SubsetCoding::CountAndIndex,
        SubsetCoding::SentinelIndex,
        SubsetCoding::RelativeIndex,
        SubsetCoding::Best,
    ] {
        let mut stream = WriteStream::new(&mut buffer);
        stream.subset(&mut server, &mut changed, coding, |object, s| s.int(object, 0..=255))?;
        let packet = stream.finish()?;
        println!("{coding:?}: {} objects in {} bytes", changed.count(), packet.len());

        let mut received = Selection::new(OBJECTS);
        let mut stream = ReadStream::new(packet);
        stream.subset(&mut client, &mut received, coding, |object, s| s.int(object, 0..=255))?;
        stream.finish()?;
        assert_eq!(received, changed);
        assert_eq!(client, server);
        client.fill(0);
    }
    Ok(())
}
