//! A recorded server, and its replay.

use std::time::Duration;

use tightwire::play::{Client, ClientConfig, Server, ServerConfig, ServerEvent};
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, Trust};
use tightwire::recording::{Recorder, Replay};
use tightwire::schema::ObjectId;
use tightwire::session::{OpenToAnyone, SessionConfig};
use tightwire::token::TokenKey;
use tightwire::transport::Transport;

use crate::game::{Drive, Player, SERVER, Tank, address, game, link, step};

type Frame = (Vec<ServerEvent>, Vec<(ObjectId, Tank)>);

/// Runs a frame of a server, and returns its events and tanks.
fn serve<T: Transport>(server: &mut Server<Drive, T>, now: Duration) -> Frame {
    server.receive(now);
    let events: Vec<_> = core::iter::from_fn(|| server.poll_event()).collect();
    for event in &events {
        if let ServerEvent::Joined { peer, .. } = event {
            let mut world = server.world();
            let id = world.spawn(&Tank::default()).unwrap();
            world.set_owner(id, Some(*peer));
        }
    }
    while server.begin_tick(now).is_some() {
        step(&mut server.scene());
    }
    server.send(now);
    (events, server.world().iter().collect())
}

#[test]
fn a_replay_has_the_players_that_resumed() {
    let network = Network::new(link(60, 5, 0.01), 7);
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let quic = QuicConfig { seed: Some(7), ..QuicConfig::default() };
    let listening = Quic::listen(network.socket(SERVER.into()), &certificate, quic).unwrap();
    let config =
        ServerConfig { resume_key: Some(TokenKey::generate().unwrap()), ..ServerConfig::default() };
    let recorder = Recorder::new(listening, Vec::new(), &config.session).unwrap();
    let mut server = game().serve(config.clone(), OpenToAnyone::default(), recorder).unwrap();
    let socket = network.socket(address(1));
    let to = SERVER.into();
    let transport = Quic::connect(socket, to, "game.example", &trust, quic, Duration::ZERO);
    let mut player = Player::new(ClientConfig::default(), transport.unwrap());
    let mut live = Vec::new();
    for millisecond in 1..20_000 {
        let now = Duration::from_millis(millisecond);
        player.is_suspended = (2000..15_000).contains(&millisecond);
        player.drive.x = (millisecond / 700 % 3) as i8 - 1;
        player.frame(now);
        live.push(serve(&mut server, now));
    }
    let resumed = |frames: &[Frame]| {
        let mut events = frames.iter().flat_map(|(events, _)| events);
        events.any(|event| matches!(event, ServerEvent::Resumed { .. }))
    };
    assert!(resumed(&live) && is_resumed(&player.client));

    let file = server.session().transport().file(Clone::clone);
    let replay = Replay::new(&file[..]).unwrap();
    let session = replay.config(SessionConfig::default());
    let mut again =
        game().serve(ServerConfig { session, ..config }, OpenToAnyone::default(), replay).unwrap();
    let mut replayed = Vec::new();
    while let Some(step) = again.transport_mut().next_step() {
        replayed.push(serve(&mut again, step.receive_at));
    }
    assert!(again.transport_mut().error().is_none(), "{:?}", again.transport_mut().error());
    assert_eq!(replayed.len(), live.len());
    assert!(replayed == live, "the same events and tanks in each frame");
}

fn is_resumed<T: Transport>(client: &Client<Drive, T>) -> bool {
    client.session().server().is_some()
}
