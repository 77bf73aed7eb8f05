//! Recordings that were changed or cut off, sessions that diverge, and the length of a file.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::Server;
use tightwire::recording::{Recorder, Replay};

use crate::common::game::{ReceivedMessages, client, config, messages};
use crate::common::net::Net;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

type Recorded = Server<ReceivedMessages, Recorder<crate::common::net::End, Vec<u8>>>;

/// Records a server with a client, which is kicked if `kick`.
fn record(kick: bool) -> (Vec<u8>, usize) {
    let net = Net::default();
    let recorder = Recorder::new(net.server(), Vec::new(), &config()).unwrap();
    let mut server: Recorded =
        Server::builder(config()).open_to_anyone().register(messages).build(recorder).unwrap();
    let mut client = client("7", &net);
    let mut received = ReceivedMessages::default();
    for frame in 0..8 {
        server.receive(ms(frame * 16), &mut received);
        server.transmit(ms(frame * 16));
        client.tick(frame * 16);
        if frame == 2 {
            client.chat("words", Delivery::Reliable);
        }
        if frame == 5 && kick {
            let peer = server.peers().next().unwrap();
            server.kick(peer, "out");
        }
    }
    (server.transport().file(Vec::clone), received.texts.len())
}

/// Plays a recording; returns the numbers of steps, of messages and of clients at the end, or the
/// error.
fn play(file: &[u8]) -> Result<(usize, usize, usize), String> {
    let replay = Replay::new(file).map_err(|error| error.to_string())?;
    let mut server = Server::builder(replay.config(config()))
        .open_to_anyone()
        .register(messages)
        .build(replay)
        .map_err(|error| error.to_string())?;
    let (mut received, mut steps) = (ReceivedMessages::default(), 0);
    while let Some(step) = server.transport_mut().next_step() {
        server.receive(step.receive_at, &mut received);
        server.transmit(step.receive_at);
        steps += 1;
    }
    let result = (steps, received.texts.len(), server.peers().count());
    match server.transport_mut().error() {
        None => Ok(result),
        Some(error) => Err(error.to_string()),
    }
}

#[test]
fn a_recording_plays() {
    let (file, received) = record(false);
    assert_eq!(play(&file), Ok((8, received, 1)));
}

#[test]
fn a_changed_bit_of_a_recording_is_noticed() {
    let (file, _) = record(false);
    let whole = play(&file);
    let mut missed = Vec::new();
    for bit in 0..file.len() * 8 {
        let mut changed = file.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        if let Ok(played) = play(&changed) {
            missed.push((bit, played));
        }
    }
    assert!(missed.is_empty(), "{whole:?}, but {} bits: {:?}", missed.len(), &missed[..3]);
}

#[test]
fn a_recording_that_was_cut_off_plays_to_its_end() {
    let (file, _) = record(false);
    for length in 0..file.len() {
        match play(&file[..length]) {
            Ok(_) => {}
            Err(error) => assert_eq!(error, "not a recording of a session", "{length}"),
        }
    }
}

#[test]
fn a_replay_that_kicks_nobody_has_diverged() {
    let (file, _) = record(true);
    let played = play(&file);
    let said = played.unwrap_err();
    assert!(said.contains("the session did less"), "{said}");
}

#[test]
fn a_recording_of_an_idle_peer_is_small() {
    let net = Net::default();
    let recorder = Recorder::new(net.server(), Vec::new(), &config()).unwrap();
    let mut server: Recorded =
        Server::builder(config()).open_to_anyone().register(messages).build(recorder).unwrap();
    let mut client = client("7", &net);
    let mut received = ReceivedMessages::default();
    let length = |server: &Recorded| server.transport().file(Vec::len);
    let mut before = 0;
    for frame in 0..1010 {
        if frame == 10 {
            before = length(&server);
        }
        server.receive(ms(frame * 16), &mut received);
        server.transmit(ms(frame * 16));
        client.tick(frame * 16);
    }
    let each = (length(&server) - before) / 1000;
    assert!(each < 100, "{each} bytes for each tick in which nothing happens");
}
