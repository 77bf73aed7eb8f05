//! The level of the snapshots to each receiver.

use super::{ReceiverId, Sender};
use crate::{CodedUpdates, Level};

impl Sender {
    /// Sets the level of the next snapshots to a receiver. Each packet says whether it is `Packed`
    /// or `Modeled`, so it may change at any time, and a receiver reads both. What a level has
    /// learned of the world stays while snapshots are of another level. New receivers have [the
    /// level of the configuration](crate::Config::level). [`Level::Auto`] takes effect with the next tick.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving, Level};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u32>().build()?;
    /// # let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// for (tick, level) in [(1, Level::Modeled), (2, Level::Packed), (3, Level::Modeled)] {
    ///     sender.begin_tick(tick);
    ///     sender.set(7, &(100 * tick))?;
    ///     sender.set_level(client, level);
    ///     receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    ///     sender.handle_ack(client, receiver.ack().unwrap());
    ///     assert_eq!(receiver.get::<u32>(7), Some(100 * tick));
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn set_level(&mut self, receiver: ReceiverId, level: Level) {
        if let Some(place) = self.slot_of(receiver)
            && let Some(view) = &mut self.views[place]
        {
            view.level = level;
            if level != Level::Auto {
                view.packet_level = level.first();
            }
        }
    }

    /// Returns how many updates were coded at each level since the sender was created. The time that
    /// snapshots take is nearly proportional to these numbers; `docs/SNAPSHOTS.md` has the time of an
    /// update.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving, Level};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u32>().build()?;
    /// # let mut sender = snapshot::Sender::new(&protocol);
    /// # let clients = [(); 2].map(|()| sender.add_receiver(Leaving::Despawn));
    /// sender.begin_tick(1);
    /// sender.set(7, &100u32)?;
    /// for client in clients {
    ///     sender.set_level(client, Level::Packed);
    ///     sender.snapshot(client, 1000).unwrap();
    /// }
    /// // Both share the body.
    /// assert_eq!((sender.coded_updates().packed, sender.coded_updates().modeled), (1, 0));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn coded_updates(&self) -> CodedUpdates {
        self.bodies.coded_updates
    }

    /// Returns the level that was set for a receiver; `None` if it was removed. [`Snapshot::level`]
    /// is the one that [`Level::Auto`] picked.
    ///
    /// [`Snapshot::level`]: crate::Snapshot::level
    #[must_use]
    pub fn level(&self, receiver: ReceiverId) -> Option<Level> {
        Some(self.views[self.slot_of(receiver)?].as_ref()?.level)
    }
}
