//! Objects on their clients: own ones, those of others, and predicted spawns.

use crate::game::{Bullet, Drive, Play, Tank, link};

#[test]
fn a_player_joins_gets_its_tank_and_sees_the_others() {
    let mut play = Play::new(link(40, 0, 0.0), 3);
    play.run(2000, |_| {});
    let tanks = play.tanks();
    assert_eq!(tanks.len(), 3);
    for player in &play.clients {
        assert_eq!(player.mine.len(), 1, "{:?}", player.events);
        let world = player.client.world();
        let seen: Vec<_> = world.iter::<Tank>().collect();
        assert_eq!(seen, tanks);
        for (id, _) in &tanks {
            let is_mine = player.mine.contains(id);
            assert_eq!((world.is_mine(*id), world.is_predicted(*id)), (is_mine, is_mine));
        }
    }
}

#[test]
fn an_own_tank_moves_with_the_tick_of_its_input_and_the_others_follow() {
    let mut play = Play::new(link(100, 0, 0.0), 2);
    play.run(3000, |_| {});
    let id = play.clients[0].mine[0];
    let position = |play: &Play, client: usize| {
        play.clients[client].client.world().get::<Tank>(id).unwrap().position[0]
    };
    let start = position(&play, 0);
    play.clients[0].drive = Drive { x: 1, y: 0, fire: false };
    let mut moved = [None; 2];
    play.run(500, |play| {
        for (client, moved) in moved.iter_mut().enumerate() {
            if moved.is_none() && (position(play, client) - start).abs() > 0.01 {
                *moved = Some(play.now.as_millis() - 3000);
            }
        }
    });
    let [here, there] = moved.map(Option::unwrap);
    assert!(here <= 35, "within two ticks: {here} ms");
    assert!((80..300).contains(&there), "a way of 100 ms, and playback: {there} ms");
    let stats = play.clients[0].client.stats();
    assert_eq!(stats.prediction.mispredicted, 0, "{stats:?}");
    assert!(stats.prediction.compared > 100, "{stats:?}");
}

#[test]
fn a_predicted_bullet_takes_the_id_of_the_servers() {
    let mut play = Play::new(link(100, 0, 0.0), 2);
    play.run(3000, |_| {});
    play.clients[0].drive.fire = true;
    play.run(60, |_| {});
    play.clients[0].drive.fire = false;
    let bullets = |play: &Play, client: usize| {
        let world = play.clients[client].client.world();
        world.iter::<Bullet>().map(|(id, _)| id).collect::<Vec<_>>()
    };
    let provisional = bullets(&play, 0);
    assert_eq!(provisional.len(), 1, "in the frame of the input");
    assert!(bullets(&play, 1).is_empty());
    play.run(300, |_| {});
    let real = bullets(&play, 0);
    assert_eq!(real, bullets(&play, 1));
    assert_ne!(real, provisional);
    play.run(1500, |_| {});
    assert!(bullets(&play, 0).is_empty() && bullets(&play, 1).is_empty());
    let stats = play.clients[0].client.stats().prediction;
    assert_eq!((stats.mispredicted, stats.spawns_unmatched), (0, 0), "{stats:?}");
}

#[test]
fn an_id_that_is_used_again_is_not_taken_for_the_own_object_before() {
    let mut play = Play::new(link(60, 5, 0.02), 2);
    play.run(2000, |_| {});
    let id = play.clients[0].mine[0];
    play.server.world().remove(id);
    play.run(1000, |_| {});
    assert!(play.clients[0].mine.is_empty(), "{:?}", play.clients[0].events);
    let world = play.clients[0].client.world();
    assert!(!world.is_mine(id) && world.get::<Tank>(id).is_none());
    // The id is free again after a quarantine of two seconds.
    play.run(3000, |_| {});
    let again = play.server.world().spawn(&Tank { health: 7, ..Tank::default() }).unwrap();
    assert_eq!(again, id);
    // Without an object of its own, a player is near nothing.
    play.server.world().set_scope(id, tightwire::snapshot::Scope::Always);
    play.run(1000, |_| {});
    let world = play.clients[0].client.world();
    assert_eq!(world.get::<Tank>(id).unwrap().health, 7);
    assert!(!world.is_mine(id) && !world.is_predicted(id));
    // An object that does not exist has no owner.
    let peer = play.server.peers().next().unwrap();
    let mut world = play.server.world();
    world.set_owner(900, Some(peer));
    assert_eq!(world.owner(900), None);
}

#[test]
fn a_client_that_receives_several_times_a_frame_misses_no_input() {
    let mut play = Play::new(link(60, 0, 0.0), 1);
    play.run(3000, |_| {});
    let peer = play.server.peers().next().unwrap();
    let before = play.server.stats(peer).unwrap().inputs;
    for _ in 0..3000 {
        play.now += std::time::Duration::from_millis(1);
        play.serve();
        match play.now.as_millis() % 5 {
            0 => play.clients[0].frame(play.now),
            _ => play.clients[0].client.receive(play.now),
        }
    }
    let after = play.server.stats(peer).unwrap().inputs;
    assert!(after.fresh - before.fresh > 170);
    assert!(after.repeated + after.neutral <= before.repeated + before.neutral + 3, "{after:?}");
}
