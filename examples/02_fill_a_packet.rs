//! Fills a packet until it is full, and rolls back the last item.

use tightwire::stream::{ReadStream, WriteStream};
use tightwire::{FloatRange, Stream};

const POSITION: FloatRange = FloatRange::new(0.0, 100.0, 0.1);
const MTU: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut things: Vec<[f32; 2]> = (0..40u8).map(|i| [f32::from(i), 50.0]).collect();

    let mut buffer = [0; MTU];
    let mut stream = WriteStream::new(&mut buffer);
    let mut sent = 0;
    for thing in &mut things {
        let before = stream.checkpoint();
        // A one bit before each thing, a zero bit after the last.
        stream.bool(&mut true)?;
        stream.compressed_vector(thing, POSITION)?;
        let after = stream.checkpoint();
        stream.bool(&mut false)?;
        if stream.has_overflowed() {
            stream.rollback(before);
            break;
        }
        stream.rollback(after);
        sent += 1;
    }
    stream.bool(&mut false)?;
    let packet = stream.finish()?;

    let mut stream = ReadStream::new(packet);
    let mut received = 0;
    loop {
        let mut another = false;
        stream.bool(&mut another)?;
        if !another {
            break;
        }
        stream.compressed_vector(&mut [0.0; 2], POSITION)?;
        received += 1;
    }
    stream.finish()?;
    println!("{sent} of {} things fit into {} bytes", things.len(), packet.len());
    assert_eq!(received, sent);
    assert_eq!(sent, 12);
    Ok(())
}
