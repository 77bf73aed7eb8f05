//! Objects whose ids the sender chooses.

use super::Sender;
use crate::{Row, SetError};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::Wire;

impl Sender {
    /// Adds an object from this tick on, and returns its id: the lowest free one.
    ///
    /// An id is free again when every receiver has acked the despawn of its object, and the
    /// [quarantine](Self::set_id_quarantine) has passed since, so that a reference to the old
    /// object is not mistaken for one to a new object. Ids are below 2^20 - 1. Ids that the
    /// application gives to [`set`](Self::set) are left out.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, SetError};
    /// # use tightwire::ObjectId;
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
    /// # let mut sender = snapshot::Sender::new(&protocol);
    /// sender.begin_tick(1);
    /// let ids = [sender.spawn(&true)?, sender.spawn(&false)?];
    /// assert_eq!(ids, [ObjectId(0), ObjectId(1)]);
    ///
    /// sender.remove(ids[0])?;
    /// assert_eq!(sender.set(ids[0], &true), Err(SetError::IdInQuarantine { id: ids[0] }));
    /// assert_eq!(sender.spawn(&true)?, ObjectId(2));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn spawn<T: Wire + 'static>(&mut self, value: &T) -> Result<ObjectId, SetError> {
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        let class = self.protocol.cells_of(value, &mut self.value, &mut self.cells)?;
        self.store.spawn(class, &self.cells).ok_or(SetError::TooManyObjects)
    }

    /// Adds an object by its cells, as [`spawn`](Self::spawn) does by a value.
    ///
    /// # Errors
    ///
    /// As [`set_row`](Self::set_row).
    pub fn spawn_row(&mut self, row: Row<'_>) -> Result<ObjectId, SetError> {
        if self.is_sent {
            return Err(SetError::TickFrozen);
        }
        if !self.protocol.accepts(row) {
            return Err(SetError::Row { class: row.class });
        }
        self.store.spawn(row.class, row.cells).ok_or(SetError::TooManyObjects)
    }

    /// Sets the quarantine of ids that [`spawn`](Self::spawn) gave out, in ticks after the last
    /// receiver has acked the despawn. The default is 2 seconds: twice
    /// [`ticks_per_second`](crate::Config::ticks_per_second).
    pub fn set_id_quarantine(&mut self, ticks: u32) {
        self.store.spawn_ids.quarantine = ticks;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Config, Leaving, Protocol, Receiver};

    #[test]
    fn an_id_is_free_once_every_receiver_forgot_it_and_the_quarantine_has_passed() {
        let protocol = Protocol::builder(Config::default()).class::<u16>().build().unwrap();
        let (mut sender, mut receiver) = (Sender::new(&protocol), Receiver::new(&protocol));
        sender.set_id_quarantine(20);
        let client = sender.add_receiver(Leaving::Despawn);
        let deaf = sender.add_receiver(Leaving::Despawn);
        let mut free_at = None;
        for tick in 1..=100 {
            sender.begin_tick(tick);
            match tick {
                1 => assert_eq!(sender.spawn(&7u16), Ok(ObjectId(0))),
                5 => sender.remove(0).unwrap(),
                30 => sender.remove_receiver(deaf),
                _ => {}
            }
            if tick > 5 && free_at.is_none() {
                let id = sender.spawn(&8u16).unwrap();
                if id == ObjectId(0) {
                    free_at = Some(tick);
                } else {
                    let refused = SetError::IdInQuarantine { id: ObjectId(0) };
                    assert_eq!(sender.set(0, &7u16), Err(refused), "tick {tick}");
                }
            }
            receiver.handle_snapshot(sender.snapshot(client, 4000).unwrap()).unwrap();
            sender.handle_ack(client, receiver.ack().unwrap());
            sender.snapshot(deaf, 4000);
        }
        // The slot is freed at the start of tick 31, which counts as the end of tick 30.
        assert_eq!(free_at, Some(50));
        assert_eq!(receiver.get::<u16>(0), Some(8));
    }

    #[test]
    fn ids_of_the_application_are_left_out_and_have_no_quarantine() {
        let protocol = Protocol::builder(Config::default()).class::<u16>().build().unwrap();
        let mut sender = Sender::new(&protocol);
        sender.begin_tick(1);
        sender.set(1, &1u16).unwrap();
        let row = Row { class: 0, cells: &[300] };
        let ids = [(); 3].map(|()| sender.spawn_row(row).unwrap().0);
        assert_eq!(ids, [0, 2, 3]);
        assert_eq!(sender.get::<u16>(2), Some(300));
        for tick in 2..9 {
            sender.begin_tick(tick);
            sender.remove(1).unwrap();
            sender.set(1, &(tick as u16)).unwrap();
        }
        assert!(sender.spawn_row(Row { class: 0, cells: &[1 << 16] }).is_err());
    }

    #[test]
    fn a_full_world_refuses_a_spawn() {
        let config = Config { max_objects: 2, ..Config::default() };
        let protocol = Protocol::builder(config).class::<u16>().build().unwrap();
        let mut sender = Sender::new(&protocol);
        sender.begin_tick(1);
        sender.spawn(&1u16).unwrap();
        let second = sender.spawn(&1u16).unwrap();
        assert_eq!(sender.spawn(&1u16), Err(SetError::TooManyObjects));
        sender.remove(second).unwrap();
        sender.begin_tick(2);
        assert_eq!(
            sender.spawn(&1u16),
            Ok(ObjectId(2)),
            "the id is in quarantine, the slot is not"
        );
    }
}
