//! Snapshots for many receivers at once.

use super::{ReceiverId, Sender, Snapshot};

/// A receiver that gets a snapshot by [`Sender::snapshot_all`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotRequest {
    /// The receiver.
    pub receiver: ReceiverId,
    /// The most bytes of its packet, without the prefix.
    pub budget: usize,
}

impl Sender {
    /// Makes the packets of this tick for several receivers, and passes each to `each`, in the
    /// order of the requests. The packets are the same as those that
    /// [`snapshot_into`](Self::snapshot_into) makes one by one, with `prefix` free bytes before
    /// each. Receivers that would get no packet, for example because they already got one in this
    /// tick, are left out.
    ///
    /// With the feature `parallel`, the packets are coded on all cores, by the thread pool of
    /// `rayon`. Receivers with the same baseline share one body, which is coded once.
    ///
    /// ```
    /// use tightwire::snapshot::{self, Leaving, SnapshotRequest};
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u32>().build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// let clients = [(); 3].map(|()| sender.add_receiver(Leaving::Despawn));
    /// let mut receivers = [(); 3].map(|()| snapshot::Receiver::new(&protocol));
    /// sender.begin_tick(1);
    /// sender.set(7, &100u32)?;
    /// let requests = clients.map(|receiver| SnapshotRequest { receiver, budget: 1000 });
    /// let mut next = receivers.iter_mut();
    /// sender.snapshot_all(&requests, 0, |client, made| {
    ///     next.next().unwrap().handle_snapshot(made.bytes).unwrap();
    /// });
    /// assert!(receivers.iter().all(|receiver| receiver.get::<u32>(7) == Some(100)));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn snapshot_all(
        &mut self,
        requests: &[SnapshotRequest],
        prefix: usize,
        mut each: impl FnMut(ReceiverId, Snapshot<'_>),
    ) {
        #[cfg(feature = "parallel")]
        if requests.len() > 1 {
            self.snapshot_parallel(requests, prefix, &mut each);
            return;
        }
        for &SnapshotRequest { receiver, budget } in requests {
            if let Some(snapshot) = self.snapshot_into(receiver, budget, prefix, None) {
                each(receiver, snapshot);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::random_worlds::Rng;
    use crate::{Config, Leaving, Level, Protocol, Receiver};
    use alloc::vec::Vec;
    use tightwire_core::Wire;

    #[derive(Wire, Clone, Default)]
    struct Body {
        #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
        position: [f32; 3],
        #[wire(range = 0..=100)]
        health: u8,
    }

    const RECEIVERS: usize = 7;

    /// A sender with its receivers, which lose the same packets as those of another one.
    struct Side {
        sender: Sender,
        ids: Vec<ReceiverId>,
        receivers: Vec<Receiver>,
    }

    impl Side {
        fn new() -> Self {
            let protocol = Protocol::builder(Config::default()).class::<Body>().build().unwrap();
            let mut sender = Sender::new(&protocol);
            let ids = (0..RECEIVERS).map(|_| sender.add_receiver(Leaving::Despawn)).collect();
            let receivers = (0..RECEIVERS).map(|_| Receiver::new(&protocol)).collect();
            Self { sender, ids, receivers }
        }

        fn set(&mut self, tick: u32, rng: &mut Rng) {
            self.sender.begin_tick(tick);
            for id in 0..60u32 {
                if rng.is_one_in(3) {
                    let position = [id as f32, tick as f32 * 0.1, rng.below(50) as f32];
                    let body = Body { position, health: rng.below(100) as u8 };
                    self.sender.set(id, &body).unwrap();
                }
            }
        }
    }

    fn take(rng: &mut Rng, packets: &[(ReceiverId, Vec<u8>)], side: &mut Side) {
        for (id, packet) in packets {
            let place = side.ids.iter().position(|other| other == id).unwrap();
            // The first three lose the same, and so stay equal.
            if place > 2 && rng.is_one_in(4) {
                continue;
            }
            side.receivers[place].handle_snapshot(packet).unwrap();
            side.sender.handle_ack(*id, side.receivers[place].ack().unwrap());
        }
    }

    #[test]
    fn packets_of_many_receivers_are_those_of_one_by_one() {
        let [mut one, mut all] = [Side::new(), Side::new()];
        let [mut rng, mut again] = [Rng(77), Rng(77)];
        let mut incomplete = 0;
        for tick in 1..200u32 {
            one.set(tick, &mut rng);
            all.set(tick, &mut again);
            let level = if tick % 40 < 30 { Level::Modeled } else { Level::Packed };
            for side in [&mut one, &mut all] {
                side.sender.set_level(side.ids[3], level);
            }
            let budget = |place: usize| match place {
                4 => 64 + tick as usize % 100,
                5 if tick % 5 == 0 => 0,
                _ => 400,
            };
            let (mut expected, mut made) = (Vec::new(), Vec::new());
            for (place, &id) in one.ids.iter().enumerate() {
                if let Some(snapshot) = one.sender.snapshot_into(id, budget(place), 3, None) {
                    incomplete += u32::from(!snapshot.is_complete);
                    expected.push((id, snapshot.bytes[3..].to_vec()));
                }
            }
            let ids = all.ids.iter().enumerate();
            let requests: Vec<_> = ids
                .map(|(place, &receiver)| SnapshotRequest { receiver, budget: budget(place) })
                .collect();
            all.sender.snapshot_all(&requests, 3, |id, snapshot| {
                made.push((id, snapshot.bytes[3..].to_vec()));
            });
            assert_eq!(made, expected, "tick {tick}");
            // A second one of the same tick makes nothing.
            all.sender.snapshot_all(&requests, 0, |id, _| {
                assert_eq!((id, tick % 5), (all.ids[5], 0));
            });
            take(&mut rng, &expected, &mut one);
            take(&mut again, &made, &mut all);
        }
        assert!(incomplete > 50, "{incomplete}");
        let coded = all.sender.coded().0;
        assert!(coded <= one.sender.coded().0, "equal receivers share: {coded}");
    }
}
