//! Subsets of arrays, and their indices.

use tightwire::stream::{Selection, SubsetCoding};
use tightwire::{Stream, Target, Wire, at};

use super::Hostile;

/// Codings that leave a writer no choice.
#[derive(PartialEq, Debug)]
pub(in crate::checks) struct Sets {
    coded: [(Selection, SubsetCoding); 6],
    indices: [u32; 3],
}

impl Default for Sets {
    fn default() -> Self {
        // Up to 125 elements, `RelativeIndex` needs no bits for its last step.
        let coded = [
            (125, SubsetCoding::RelativeIndex),
            (70, SubsetCoding::BitPerObject),
            (100, SubsetCoding::CountAndIndex),
            (64, SubsetCoding::SentinelIndex),
            (300, SubsetCoding::RelativeIndex),
            (0, SubsetCoding::CountAndIndex),
        ];
        Self { coded: coded.map(|(len, coding)| (Selection::new(len), coding)), indices: [0; 3] }
    }
}

/// Length of the array that the indices point into.
const COUNT: u32 = 1000;

impl Wire for Sets {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        for mut set in at!(this.coded).target().elements() {
            let coding = set.1;
            stream.selection(at!(set.0), coding)?;
        }
        let mut previous = None;
        for mut index in at!(this.indices).target().elements() {
            // No index follows the end.
            if previous == Some(COUNT) {
                index.put(COUNT);
                continue;
            }
            stream.index(previous, index.reborrow(), COUNT)?;
            previous = Some(*index);
        }
        Ok(())
    }
}

impl Hostile for Sets {
    const IS_CANONICAL: bool = true;
}

/// Codings that leave a writer a choice: a packet may use more bits than it needs.
#[derive(PartialEq, Debug)]
pub(in crate::checks) struct Choices {
    sets: [Selection; 3],
    objects: [u8; 40],
    chosen: Selection,
    sequence: [u32; 2],
}

impl Default for Choices {
    fn default() -> Self {
        let sets = [300, 1, 0].map(Selection::new);
        Self { sets, objects: [0; 40], chosen: Selection::new(40), sequence: [0; 2] }
    }
}

impl Wire for Choices {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        for set in at!(this.sets).target().elements() {
            stream.selection(set, SubsetCoding::Best)?;
        }
        // Elements that are not sent would keep their previous values.
        at!(this.objects).put([0; 40]);
        let (objects, chosen) = this.parts(
            |this| (&this.objects, &this.chosen),
            |this| (&mut this.objects, &mut this.chosen),
        );
        stream.named("objects").subset(objects, chosen, SubsetCoding::Best, |object, stream| {
            stream.int(object, 1..=200)
        })?;
        stream.int_relative(0, at!(this.sequence[0]))?;
        let first = this.sequence[0];
        stream.int_relative(first, at!(this.sequence[1]))
    }
}

impl Hostile for Choices {
    const IS_CANONICAL: bool = false;
}
