//! The last values that were given to `set`, as they were given: unquantised, a word for each
//! number.
//!
//! Most objects of a game are at rest, and its loop sets them all. A value with the same words is
//! the same value, so that a comparison finds out that nothing changed, without quantising and
//! packing it again. The words are written by the serialize function of the type, so that types need
//! no `PartialEq`.

use alloc::vec::Vec;
use core::convert::Infallible;

use tightwire_core::stream::{ErrorKind, RawStream, Shared, Wire};

/// The value that an object was last set to.
#[derive(Debug, Default)]
pub(super) struct GivenValue {
    /// Class of the value, whose words are these; `None` if the state of the object is another one.
    class: Option<u16>,
    words: Vec<u64>,
}

impl GivenValue {
    /// Compares a value with the last one, and keeps it. If it differs,
    /// [`confirm`](Self::confirm) follows once the object has this state.
    pub(super) fn replace<T: Wire>(&mut self, class: u16, value: &T) -> bool {
        let is_kept = self.class == Some(class);
        let mut stream = WordStream { words: &mut self.words, next: 0, differs: !is_kept };
        let Ok(()) = T::serialize(value.into(), &mut stream);
        let is_same = !stream.differs && stream.next == stream.words.len();
        if !is_same {
            let len = stream.next;
            self.words.truncate(len);
            self.class = None;
        }
        is_same
    }

    /// Confirms that the object has the state that was last compared.
    pub(super) fn confirm(&mut self, class: u16) {
        self.class = Some(class);
    }

    /// Forgets the value, since the object has another state.
    pub(super) fn forget(&mut self) {
        self.class = None;
    }
}

/// Compares and replaces the words of a value.
struct WordStream<'w> {
    words: &'w mut Vec<u64>,
    next: usize,
    differs: bool,
}

impl WordStream<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(&mut self, word: u64) {
        match self.words.get_mut(self.next) {
            Some(before) => {
                self.differs |= *before != word;
                *before = word;
            }
            None => self.push(word),
        }
        self.next += 1;
    }

    #[cold]
    fn push(&mut self, word: u64) {
        self.words.push(word);
        self.differs = true;
    }
}

impl RawStream for WordStream<'_> {
    type Error = Infallible;
    type Access = Shared;
    const TRACES: bool = false;
    const PACKS: bool = false;
    const QUANTISES: bool = false;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, _: u32) -> Result<(), Infallible> {
        self.put(*value);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_unary(&mut self, zeros: &mut u32, _: u32) -> Result<(), Infallible> {
        self.put(u64::from(*zeros));
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_align(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], _: usize) -> Result<&'s [u8], Infallible> {
        self.put(source.len() as u64);
        for chunk in source.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.put(u64::from_le_bytes(word));
        }
        Ok(source)
    }

    /// A value that is refused is not compared: what refuses it explains why.
    fn refuse_at(&mut self, _: ErrorKind, _: u64) -> Result<(), Infallible> {
        self.differs = true;
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        u64::from(u64::BITS) * self.next as u64
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use crate::{Config, Leaving, Protocol, Receiver, Row, Sender};
    use tightwire_core::Wire;

    #[derive(Wire, Clone, PartialEq, Debug, Default)]
    struct Door {
        #[wire(min = -10.0, max = 10.0, resolution = 0.1)]
        position: [f32; 3],
        #[wire(smallest_three = 9)]
        rotation: [f32; 4],
        #[wire(min = 0.0, max = 90.0, resolution = 1.0)]
        angle: f32,
        #[wire(unit = 8)]
        handle: [f32; 3],
        #[wire(max_len = 20)]
        name: String,
        key: Option<u16>,
        #[wire(range = 0..=5)]
        locks: u8,
        is_open: bool,
    }

    #[derive(Wire, Clone, PartialEq, Debug, Default)]
    struct Lamp {
        is_lit: bool,
    }

    #[derive(Wire, Clone, PartialEq, Debug, Default)]
    struct Flag {
        is_up: bool,
    }

    fn door() -> Door {
        let rotation = [0.0, 0.0, 0.6, 0.8];
        let position = [1.0, -2.0, 3.03];
        let (angle, handle, name) = (30.2, [0.0, 0.6, 0.8], "Anna".into());
        Door { position, rotation, angle, handle, name, key: Some(7), locks: 2, is_open: true }
    }

    fn protocol() -> Protocol {
        let protocol = Protocol::builder(Config::default());
        protocol.class::<Door>().class::<Lamp>().class::<Flag>().build().unwrap()
    }

    #[test]
    fn every_change_that_the_wire_form_shows_is_a_change() {
        let (mut sender, mut tick) = (Sender::new(&protocol()), 0);
        let mut set = |door: &Door| {
            tick += 1;
            sender.begin_tick(tick);
            sender.set(3, door).unwrap();
            (sender.changed_objects(), sender.get::<Door>(3).unwrap())
        };
        let base = door();
        assert_eq!(set(&base).0, 1);
        (0..3).for_each(|_| assert_eq!(set(&base).0, 0));
        let changes: [fn(&mut Door); 12] = [
            |door| door.position[1] += 0.2,
            |door| door.rotation = [0.0, 0.0, 0.8, 0.6],
            |door| door.angle += 1.0,
            |door| door.handle = [0.0, 0.8, 0.6],
            |door| door.name.push('e'),
            |door| door.name = "Anne".into(),
            |door| door.name.clear(),
            |door| door.key = None,
            |door| door.key = Some(8),
            |door| door.locks = 3,
            |door| door.is_open = false,
            |door| door.handle[1] = -0.6,
        ];
        for change in changes {
            let mut other = base.clone();
            change(&mut other);
            let (changed, state) = set(&other);
            assert_eq!(changed, 1, "{other:?}");
            assert_eq!(set(&other), (0, state.clone()));
            let (changed, again) = set(&base);
            assert_eq!(changed, 1, "{other:?}");
            assert_ne!(again, state);
        }
        // Less than a step.
        let near = Door { angle: base.angle + 0.1, ..base.clone() };
        assert_eq!(set(&near).0, 0);
        assert_eq!(set(&base).0, 0);
    }

    #[test]
    fn a_value_is_not_the_same_after_the_object_changed_in_another_way() {
        let mut sender = Sender::new(&protocol());
        let client = sender.add_receiver(Leaving::Despawn);
        let mut receiver = Receiver::new(&protocol());
        let mut tick = 0;
        let mut next = |sender: &mut Sender| {
            if tick > 0 {
                receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap()).unwrap();
                sender.handle_ack(client, receiver.ack().unwrap());
            }
            tick += 1;
            sender.begin_tick(tick);
        };
        let lit = Lamp { is_lit: true };
        for _ in 0..3 {
            next(&mut sender);
            sender.set(3, &lit).unwrap();
        }
        // By a row, by an edit, as another class with the same words, and by despawning.
        for way in 0..4 {
            next(&mut sender);
            match way {
                0 => sender.set_row(3, Row { class: 1, cells: &[0] }).unwrap(),
                1 => {
                    let mut edit = sender.edit(3).unwrap();
                    edit.put(0..1, &[0]);
                    edit.finish().unwrap();
                }
                2 => sender.set(3, &Flag { is_up: true }).unwrap(),
                _ => sender.remove(3).unwrap(),
            }
            next(&mut sender);
            sender.set(3, &lit).unwrap();
            assert_eq!(sender.changed_objects(), 1, "{way}");
            assert_eq!(sender.get::<Lamp>(3), Some(lit.clone()));
            for _ in 0..2 {
                next(&mut sender);
                sender.set(3, &lit).unwrap();
                assert_eq!(sender.changed_objects(), 0);
            }
        }
    }

    #[test]
    fn a_refused_value_is_refused_again() {
        let mut sender = Sender::new(&protocol());
        sender.begin_tick(1);
        sender.set(3, &door()).unwrap();
        let refused = [
            Door { locks: 6, ..door() },
            Door { angle: f32::NAN, ..door() },
            Door { rotation: [0.0; 4], ..door() },
        ];
        for (tick, value) in (2..).zip(&refused) {
            sender.begin_tick(tick);
            let before = sender.get::<Door>(3);
            let error = sender.set(3, value).unwrap_err();
            let again = sender.set(3, value).unwrap_err();
            assert_eq!(format!("{again:?}"), format!("{error:?}"));
            assert_eq!(sender.get::<Door>(3), before);
            sender.set(3, &door()).unwrap();
            assert_eq!(sender.changed_objects(), 0);
        }
    }
}
