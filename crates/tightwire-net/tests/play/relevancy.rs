//! Relevancy of objects to players.

use tightwire::play::{ClientConfig, ServerConfig};
use tightwire::schema::ObjectId;
use tightwire::snapshot::{RelevancyConfig, RoomId, Scope, TeamId};

use crate::game::{Play, Tank, link};

/// Tanks along a line, each 10 metres from the next, and one player at the start of it.
fn line() -> (Play, Vec<ObjectId>) {
    let relevancy = RelevancyConfig { radius: 45.0, ..RelevancyConfig::default() };
    let config = ServerConfig { relevancy, ..ServerConfig::default() };
    let mut play = Play::with(link(40, 0, 0.0), 1, config, ClientConfig::default());
    let tank = |number| Tank { position: [-100.0 + 10.0 * number as f32, 1.0], ..Tank::default() };
    let ids = (0..20).map(|number| play.server.world().spawn(&tank(number)).unwrap()).collect();
    play.run(2000, |_| {});
    (play, ids)
}

fn seen(play: &Play, ids: &[ObjectId]) -> Vec<usize> {
    let world = play.clients[0].client.world();
    (0..ids.len()).filter(|&place| world.get::<Tank>(ids[place]).is_some()).collect()
}

#[test]
fn a_player_gets_what_is_near_its_objects_or_its_viewers() {
    let (mut play, ids) = line();
    assert_eq!(seen(&play, &ids), [0, 1, 2, 3, 4]);
    let peer = play.server.peers().next().unwrap();
    play.server.world().set_viewers(peer, &[[94.0, 0.0, 0.0]]);
    play.run(300, |_| {});
    assert_eq!(seen(&play, &ids), [15, 16, 17, 18, 19]);
    play.server.world().set_viewers(peer, &[]);
    play.run(300, |_| {});
    assert_eq!(seen(&play, &ids), [0, 1, 2, 3, 4]);
}

#[test]
fn rooms_teams_and_owners_decide_in_the_same_tick() {
    let (mut play, ids) = line();
    let peer = play.server.peers().next().unwrap();
    let mut world = play.server.world();
    world.set_scope(ids[10], Scope::Always);
    world.set_scope(ids[11], Scope::Room(RoomId(3)));
    world.set_scope(ids[12], Scope::Team(TeamId(2)));
    world.set_scope(ids[13], Scope::Owner);
    world.set_scope(ids[1], Scope::NearInRoom(RoomId(3)));
    world.set_scope(ids[2], Scope::Custom);
    world.set_custom(|_, _| None);
    play.run(300, |_| {});
    assert_eq!(seen(&play, &ids), [0, 3, 4, 10]);
    let mut world = play.server.world();
    world.set_rooms(peer, &[RoomId(3)]);
    world.set_team(peer, Some(TeamId(2)));
    world.set_owner(ids[13], Some(peer));
    world.set_custom(|_, object| object.get::<Tank>().map(|_| 1));
    play.run(300, |_| {});
    let expected = [0, 1, 2, 3, 4, 10, 11, 12, 13];
    // The owner sees from the tank that it got, too.
    let seen = seen(&play, &ids);
    assert!(expected.iter().all(|place| seen.contains(place)), "{seen:?}");
    assert!(!seen.contains(&6) && seen.contains(&14), "{seen:?}");
}
