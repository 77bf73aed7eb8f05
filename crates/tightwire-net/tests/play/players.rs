//! Players that connect twice, and those that come back.

use std::time::Duration;

use tightwire::play::{ClientConfig, ClientEvent, DuplicateLogin, ServerConfig, ServerEvent};
use tightwire::session::{Admit, Admitted};
use tightwire::snapshot::{Level, RelevancyConfig, RoomId, Scope, TeamId};
use tightwire::token::TokenError;
use tightwire::transport::Reason;

use crate::game::{Drive, Play, Tank, link};

/// A gate whose tokens are the number of a client.
struct Numbers;

impl Admit for Numbers {
    fn check(&mut self, token: &[u8], _: Duration) -> Result<Admitted, TokenError> {
        let &[client] = token else { return Err(TokenError::NotGenuine) };
        Ok(Admitted { client: client.into(), user_data: Vec::new() })
    }

    fn redeem(&mut self, _: &[u8], _: Duration) -> Result<(), TokenError> {
        Ok(())
    }
}

/// A player with the number 7 plays, and connects from elsewhere.
fn connect_twice(duplicate_login: DuplicateLogin) -> Play {
    let config = ServerConfig { duplicate_login, ..ServerConfig::default() };
    let mut play = Play::gated(link(60, 5, 0.0), config, Numbers);
    play.join_with(ClientConfig::default(), &[7]);
    play.join_with(ClientConfig::default(), &[8]);
    play.run(2000, |_| {});
    assert_eq!((play.clients[0].mine.len(), play.tanks().len()), (1, 2));
    play.clients[0].drive = Drive { x: 1, y: 0, fire: false };
    play.events.clear();
    play.join_with(ClientConfig::default(), &[7]);
    play.run(3000, |_| {});
    play
}

fn end(play: &Play, client: usize) -> Option<&Reason> {
    play.clients[client].events.iter().find_map(|event| match event {
        ClientEvent::Disconnected { reason } => Some(reason),
        _ => None,
    })
}

#[test]
fn a_second_login_takes_the_place_of_the_first() {
    let mut play = connect_twice(DuplicateLogin::Replace);
    assert_eq!(end(&play, 0), Some(&Reason::Replaced));
    assert_eq!((end(&play, 1), end(&play, 2)), (None, None));
    let [ServerEvent::Resumed { peer }] = &play.events[..] else { panic!("{:?}", play.events) };
    let (peer, mine) = (*peer, play.clients[2].mine.clone());
    assert_eq!(mine, play.clients[0].mine, "the same tank");
    assert_eq!(play.server.world().owner(mine[0]), Some(peer));
    assert_eq!((play.tanks().len(), play.server.peers().count()), (2, 2));
    // The tank follows the new connection.
    let before = play.server.world().get::<Tank>(mine[0]).unwrap().position;
    play.clients[2].drive = Drive { x: 0, y: -1, fire: false };
    play.run(1000, |_| {});
    let after = play.server.world().get::<Tank>(mine[0]).unwrap().position;
    assert!(after[1] < before[1] - 5.0, "{before:?} {after:?}");
}

#[test]
fn a_second_login_is_refused_if_the_server_wants_it_so() {
    let play = connect_twice(DuplicateLogin::Refuse);
    let refused = Reason::Token(TokenError::AlreadyConnected);
    assert_eq!((end(&play, 0), end(&play, 1)), (None, None));
    assert_eq!(end(&play, 2), Some(&refused));
    let [ServerEvent::Refused { reason, .. }] = &play.events[..] else {
        panic!("{:?}", play.events)
    };
    assert_eq!(reason, &refused);
    assert_eq!(play.clients[0].mine.len(), 1);
}

#[test]
fn a_player_that_resumes_keeps_its_rooms_its_team_and_its_viewers() {
    let relevancy = RelevancyConfig { radius: 20.0, ..RelevancyConfig::default() };
    let config = ServerConfig { relevancy, ..ServerConfig::default() };
    let mut play = Play::with(link(60, 5, 0.0), 1, config, ClientConfig::default());
    play.run(1000, |_| {});
    let peer = play.peer_of(0);
    let mut world = play.server.world();
    let tank = |x| Tank { position: [x, -150.0], ..Tank::default() };
    let ids: Vec<_> = (0..4).map(|n| world.spawn(&tank(40.0 * n as f32)).unwrap()).collect();
    world.set_scope(ids[0], Scope::Room(RoomId(3)));
    world.set_scope(ids[1], Scope::Team(TeamId(2)));
    world.set_rooms(peer, &[RoomId(3)]);
    world.set_team(peer, Some(TeamId(2)));
    world.set_viewers(peer, &[[80.0, -150.0, 0.0]]);
    let shown = |play: &Play| {
        let world = play.clients[0].client.world();
        ids.iter().map(|id| world.get::<Tank>(*id).is_some()).collect::<Vec<_>>()
    };
    play.run(1000, |_| {});
    assert_eq!(shown(&play), [true, true, true, false]);
    play.clients[0].is_suspended = true;
    play.run(15_000, |_| {});
    play.clients[0].is_suspended = false;
    play.run(3000, |_| {});
    let resumed = |event: &ServerEvent| matches!(event, ServerEvent::Resumed { .. });
    assert!(play.events.iter().any(resumed), "{:?}", play.events);
    assert_eq!(shown(&play), [true, true, true, false]);
    assert_eq!(play.peer_of(0), peer);
}

/// Bytes of snapshots per second of a world of forty tanks that move.
fn bytes_per_second(set: impl FnOnce(&mut Play)) -> f64 {
    let mut play = Play::new(link(60, 0, 0.0), 1);
    let mut ids = Vec::new();
    for number in 0..40 {
        let position = [-100.0 + number as f32, 30.0];
        ids.push(play.server.world().spawn(&Tank { position, ..Tank::default() }).unwrap());
    }
    play.on_tick = Box::new(move |server, tick| {
        for (number, id) in (0..).zip(&ids) {
            let angle = 0.05 * (tick.0 + 7 * number) as f32;
            let position = [-100.0 + number as f32 + 3.0 * angle.cos(), 30.0 + 3.0 * angle.sin()];
            server.world().set(*id, &Tank { position, ..Tank::default() }).unwrap();
        }
    });
    play.run(2000, |_| {});
    set(&mut play);
    play.run(3000, |_| {});
    let peer = play.peer_of(0);
    let before = play.server.stats(peer).unwrap().snapshot_bytes;
    play.run(10_000, |_| {});
    (play.server.stats(peer).unwrap().snapshot_bytes - before) as f64 / 10.0
}

#[test]
fn rate_and_level_of_a_peer_can_be_set_while_playing() {
    let level = |level| {
        bytes_per_second(move |play| {
            let peer = play.peer_of(0);
            play.server.set_level(peer, level);
        })
    };
    let (packed, modeled) = (level(Level::Packed), level(Level::Modeled));
    let limited = bytes_per_second(|play| {
        let peer = play.peer_of(0);
        play.server.set_level(peer, Level::Packed);
        play.server.set_max_rate(peer, 6000);
    });
    println!("packed {packed} modeled {modeled} limited {limited} bytes per second");
    assert!(modeled < 0.9 * packed, "{modeled} {packed}");
    assert!(packed > 7000.0 && limited < 6000.0, "{packed} {limited}");
}
