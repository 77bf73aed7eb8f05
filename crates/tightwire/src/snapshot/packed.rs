//! Placeholder.
use super::mention::{Change, Knowledge, Mentions};
use super::protocol::SnapshotProtocol;
use crate::schema::ObjectId;
use crate::stream::{ErrorKind, Stream};

pub(super) fn code<S: Stream>(
    stream: &mut S,
    protocol: &SnapshotProtocol,
    mentions: &mut Mentions,
    knowledge: &impl Knowledge,
) -> Result<(), S::Error> {
    let mut count = mentions.list.len() as u32;
    stream.varint(&mut count)?;
    let mut next = 0u32;
    for place in 0..count as usize {
        let (mut gap, mut change, mut class) = (0, 0u64, 0u16);
        if S::WRITING {
            let mention = mentions.list[place];
            gap = mention.id.0 - next;
            change = mention.change as u64;
            class = mention.class;
        }
        stream.varint(&mut gap)?;
        stream.bits(&mut change, 2)?;
        let id = ObjectId(next.wrapping_add(gap));
        next = id.0.wrapping_add(1);
        let known = knowledge.pasts(place, id);
        if change == Change::Fresh as u64 {
            stream.varint(&mut class)?;
        } else if let Some(known) = known {
            class = known.class;
        }
        let layout = match protocol.classes().get(usize::from(class)) {
            Some(class) if change < 3 && (known.is_some() || change > 0) => &class.layout,
            _ => {
                let bit = stream.position();
                return stream.refuse_at(ErrorKind::OutOfRange, bit);
            }
        };
        let change = [Change::Update, Change::Fresh, Change::Gone][change as usize];
        if S::READING {
            mentions.push(id, class, change, layout.columns.len());
        }
        let mention = mentions.list[place];
        let cells = &mut mentions.cells[mention.start..][..mention.columns];
        for (place, (cell, column)) in cells.iter_mut().zip(&layout.columns).enumerate() {
            let mut predicted = 0u64;
            if let Some(known) = known.filter(|_| change == Change::Update) {
                for past in known.states() {
                    predicted = predicted * 3 + u64::from(past.cells[place]) + u64::from(past.age);
                }
                predicted += knowledge.mentioned_before().len() as u64;
            }
            let modulus = u64::from(column.max) + 1;
            let mut delta = (u64::from(*cell) + modulus - predicted % modulus) % modulus;
            stream.int(&mut delta, 0..=u64::from(column.max))?;
            *cell = ((delta + predicted) % modulus) as u32;
        }
    }
    Ok(())
}
