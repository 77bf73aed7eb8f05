//! A recorded session, and its replay.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tightwire::recording::{Recorder, RecordingError, Replay};
use tightwire::transport::Transport;
use tightwire::{Context, Delivery};
use tightwire::{Server, SessionConfig, SessionEvent};

use crate::common::game::{Chat, Count, Level, Numbers, client, config, messages};
use crate::common::mutate::mutate;
use crate::common::net::Net;
use crate::common::rng::Rng;
use crate::common::volume::volume;

/// A game whose state depends on every event, in order.
struct Game {
    hash: u64,
    random: Rng,
    received: u64,
}

impl Game {
    fn mix(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

fn server<T: Transport>(config: SessionConfig, transport: T) -> Server<Game, T> {
    let builder = Server::builder(config).with_tokens(Numbers::default());
    builder
        .handle(|chat: &Chat, context: &mut Context<'_, Game>| {
            assert_ne!(chat.text, "crash");
            chat.text.bytes().for_each(|byte| context.state.mix(byte.into()));
            if context.state.random.below(20) == 0 {
                context.kick(context.sender(), "bad luck");
            }
        })
        .handle(|count: &Count, context: &mut Context<'_, Game>| {
            context.state.received += 1;
            let luck = context.state.random.next();
            context.state.mix(u64::from(count.0) ^ luck);
            let hash = context.state.hash as u32;
            let _ = context.broadcast(None, &Count(hash), Delivery::Unreliable);
        })
        .handle(|level: &Level, context: &mut Context<'_, Game>| {
            context.state.mix(level.data.len() as u64);
        })
        .build(transport)
        .unwrap()
}

fn game(seed: u64) -> Game {
    Game { hash: 0, random: Rng::new(seed), received: 0 }
}

/// Runs a tick, and returns the state after it.
fn tick<T: Transport>(server: &mut Server<Game, T>, game: &mut Game, now: Duration) -> u64 {
    server.receive(now, game);
    server.transmit(now);
    while let Some(event) = server.poll_event() {
        match event {
            SessionEvent::Connected { client, peer, .. } => {
                game.mix(client);
                server.request_schema(peer);
                let _ = server.send(peer, &Count(7), Delivery::Reliable);
            }
            SessionEvent::Disconnected { reason, .. } => game.mix(reason.to_string().len() as u64),
            _ => game.mix(1),
        }
    }
    game.hash
}

/// Records a session of this many ticks; returns the file, and the state after each tick.
fn record(ticks: usize, crash_at: Option<usize>) -> (Vec<u8>, Vec<u64>, u64) {
    let net = Net::default();
    let config = SessionConfig { hello_timeout: Duration::from_secs(1), ..config() };
    let recorder = Recorder::new(net.server(), Vec::new(), &config).unwrap();
    let mut live = server(config, recorder);
    let identity = live.identity().clone();
    live.transport_mut().describe(&identity);
    let mut state = game(live.seed());
    let mut random = Rng::new(3);
    let (mut clients, mut hashes, mut tokens) = (Vec::new(), Vec::new(), 0);
    for step in 0..ticks {
        let now = Duration::from_micros(step as u64 * 16_667);
        if clients.len() < 12 && random.below(3) == 0 {
            tokens += 1;
            let token = if random.below(5) == 0 { "x".into() } else { tokens.to_string() };
            clients.push(client(&token, &net));
        }
        for client in &mut clients {
            if client.session.server().is_some() {
                let delivery = Delivery::ALL[random.below(5)];
                let count = Count(random.next() as u32);
                let _ = client.session.send(&count, delivery);
                if random.below(10) == 0 {
                    client.chat("some words", delivery);
                }
                if random.below(30) == 0 {
                    let level = Level { data: vec![1; random.below(30_000)] };
                    let route = Delivery::ReliableOrderedFragmented;
                    client.session.send(&level, route).unwrap();
                }
                if crash_at == Some(step) {
                    client.chat("crash", Delivery::Reliable);
                }
            }
            client.tick(step as u64 * 16);
            if random.below(60) == 0 {
                client.session.disconnect(now);
            }
        }
        clients.retain(|client| client.reasons().is_empty());
        let ticked = catch_unwind(AssertUnwindSafe(|| tick(&mut live, &mut state, now)));
        match ticked {
            Ok(hash) => hashes.push(hash),
            Err(_) => break,
        }
    }
    assert_eq!(live.transport().error(), None);
    (live.transport().file(Vec::clone), hashes, state.received)
}

/// Plays a file; returns the states, the messages, whether it panicked, and the error.
fn replay(file: &[u8]) -> (Vec<u64>, u64, bool, Option<RecordingError>) {
    let replay = match Replay::new(file) {
        Ok(replay) => replay,
        Err(error) => return (Vec::new(), 0, false, Some(error)),
    };
    let rest = SessionConfig { hello_timeout: Duration::from_secs(1), ..config() };
    let config = replay.config(rest);
    let mut again = server(config, replay);
    let mut state = game(again.seed());
    let (mut hashes, mut panicked) = (Vec::new(), false);
    while let Some(step) = again.transport_mut().next_step() {
        let ticked =
            catch_unwind(AssertUnwindSafe(|| tick(&mut again, &mut state, step.receive_at)));
        match ticked {
            Ok(hash) => hashes.push(hash),
            Err(_) => {
                panicked = true;
                break;
            }
        }
    }
    let replay = again.transport_mut();
    let error = replay.error().map(|error| match error {
        RecordingError::Diverged { record, action } => {
            RecordingError::Diverged { record: *record, action }
        }
        RecordingError::Corrupt { record } => RecordingError::Corrupt { record: *record },
        other => panic!("{other}"),
    });
    (hashes, state.received, panicked, error)
}

#[test]
fn a_replay_has_the_same_state_after_every_tick() {
    let ticks = volume(500, 3000);
    let (file, hashes, received) = record(ticks, None);
    let (again, heard_again, panicked, error) = replay(&file);
    assert!(error.is_none() && !panicked, "{error:?}");
    assert_eq!(hashes.len(), ticks);
    assert!(again == hashes && received == heard_again);
    println!(
        "{ticks} ticks, {received} counts received, {} bytes recorded: the same states",
        file.len()
    );
}

#[test]
fn a_file_that_was_cut_off_is_played_to_its_end() {
    let (file, hashes, _) = record(200, None);
    let mut random = Rng::new(5);
    for _ in 0..20 {
        let length = random.below(file.len());
        let (again, _, panicked, error) = replay(&file[..length]);
        assert!(!panicked);
        match error {
            None | Some(RecordingError::NotARecording) => {}
            error => panic!("{error:?}"),
        }
        // The last tick may have less input than in the original.
        let whole = again.len().saturating_sub(1);
        assert_eq!(again[..whole], hashes[..whole]);
    }
}

#[test]
fn a_replay_panics_at_the_same_message() {
    let (file, hashes, received) = record(300, Some(150));
    assert!(hashes.len() >= 150 && hashes.len() < 300);
    let (again, heard_again, panicked, error) = replay(&file);
    assert!(panicked, "{error:?}");
    assert!(again == hashes && received == heard_again);
}

#[test]
fn another_program_is_noticed() {
    let (file, ..) = record(50, None);
    let replay = Replay::new(&file[..]).unwrap();
    let mut other = Server::builder(replay.config(SessionConfig::default()))
        .register(messages)
        .open_to_anyone()
        .build(replay)
        .unwrap();
    let mut received = crate::common::game::ReceivedMessages::default();
    while let Some(step) = other.transport_mut().next_step() {
        other.receive(step.receive_at, &mut received);
        other.transmit(step.receive_at);
    }
    let identity = other.transport_mut().identity().unwrap().clone();
    assert_eq!((identity.game(), identity.version()), ("arena", "1.0"));
    let error = other.transport_mut().error().unwrap().to_string();
    assert!(error.starts_with("after record "), "{error}");
}

#[test]
fn recordings_that_were_changed_are_refused_and_harm_nobody() {
    let (file, ..) = record(40, None);
    let mut random = Rng::new(9);
    let rounds = volume(60, 2000);
    let (mut refused, mut bytes) = (0, Vec::new());
    for _ in 0..rounds {
        bytes.clone_from(&file);
        mutate(&mut random, &mut bytes);
        let info = allocation_counter::measure(|| {
            let (.., error) = replay(&bytes);
            refused += u32::from(error.is_some());
        });
        assert!(info.bytes_max < 4 << 20, "{}", info.bytes_max);
    }
    assert!(refused > rounds / 2, "{refused}");
    println!("{rounds} changed recordings, {refused} refused");
    let not = [&b""[..], b"tightrec", b"hello there, this is something else"];
    for not in not {
        assert!(matches!(Replay::new(not), Err(RecordingError::NotARecording)));
    }
    // A length beyond the file.
    let mut long = b"tightrec".to_vec();
    long.extend_from_slice(&[0xff; 12]);
    assert!(matches!(Replay::new(&long[..]), Err(RecordingError::Corrupt { record: 0 })));
}
