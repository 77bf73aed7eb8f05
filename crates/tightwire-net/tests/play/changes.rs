//! The list of shown objects that changed, from which an engine updates its own.

use std::collections::BTreeMap;
use std::time::Duration;

use tightwire::play::{ClientConfig, PredictConfig, ServerConfig, Touch};
use tightwire::schema::ObjectId;
use tightwire::snapshot::ChangeKind;

use crate::arena::{Rng, drive};
use crate::game::{Play, Player, Tank, link, step};

/// The tanks of an engine that copies only what the list says, and the predicted ones.
#[derive(Default)]
struct Copies {
    tanks: BTreeMap<ObjectId, Tank>,
    /// Objects that were predicted in the frame before.
    predicted: Vec<ObjectId>,
    /// Objects that were predicted all the time, and that the list has in spite of that.
    listed: usize,
}

impl Copies {
    fn update(&mut self, player: &Player) {
        let world = player.client.world();
        for change in world.changes() {
            match (change.kind, world.get::<Tank>(change.id)) {
                (ChangeKind::Despawned, _) => drop(self.tanks.remove(&change.id)),
                (_, Some(tank)) => drop(self.tanks.insert(change.id, tank)),
                (_, None) => {}
            }
            let is_motion = change.kind == ChangeKind::Changed;
            let was_predicted = self.predicted.contains(&change.id);
            let is_predicted = world.is_predicted(change.id);
            self.listed += usize::from(is_motion && was_predicted && is_predicted);
        }
        self.predicted.clear();
        for (id, tank) in world.iter::<Tank>().filter(|(id, _)| world.is_predicted(*id)) {
            self.tanks.insert(id, tank);
            self.predicted.push(id);
        }
    }
}

/// A frame with several calls of `receive`, as is advised.
fn frame(play: &mut Play, rng: &mut Rng, copies: &mut [Copies]) {
    for call in 0..5 {
        play.now += Duration::from_millis(3);
        play.serve();
        for (player, copies) in play.clients.iter_mut().zip(&mut *copies) {
            if call < 4 {
                player.client.receive(play.now);
                continue;
            }
            drive(player, rng, [-30.0, 35.0], 25.0);
            player.client.receive(play.now);
            while let Some(event) = player.client.poll_event() {
                if let tightwire::play::ClientEvent::Mine { id } = event {
                    player.mine.push(id);
                }
            }
            player.client.input(&player.drive);
            while let Some(mut scene) = player.client.next_step() {
                step(&mut scene);
            }
            copies.update(player);
            player.client.send(play.now);
        }
    }
}

#[test]
fn an_engine_that_copies_what_changed_shows_the_same_world() {
    let touch = Some(Touch { enter: 12.0, leave: 15.0, ..Touch::default() });
    let predict = PredictConfig { touch, ..PredictConfig::default() };
    let config = ClientConfig { predict, ..ClientConfig::default() };
    let mut play = Play::with(link(100, 10, 0.03), 4, ServerConfig::default(), config);
    let mut rng = Rng::new(5);
    let mut copies: Vec<_> = (0..4).map(|_| Copies::default()).collect();
    let (mut switches, mut before) = (0, Vec::new());
    for number in 0..4000 {
        frame(&mut play, &mut rng, &mut copies);
        for (player, copies) in play.clients.iter().zip(&copies) {
            let world = player.client.world();
            let shown: BTreeMap<_, _> = world.iter::<Tank>().collect();
            assert_eq!(copies.tanks, shown, "frame {number}");
            // `time` reports the time of the shown world.
            assert_eq!(player.client.time().shown, player.client.shown_time());
        }
        switches += usize::from(copies[0].predicted != before);
        before.clone_from(&copies[0].predicted);
    }
    assert!(switches > 10, "tanks begin and end to be predicted: {switches}");
    assert!(copies.iter().all(|copies| copies.listed == 0));
    assert!(play.clients[0].client.time().shown.is_some());
}
