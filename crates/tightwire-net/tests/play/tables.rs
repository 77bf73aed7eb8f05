//! The tables of docs/PLAY.md.

use tightwire::play::{ClientConfig, PredictConfig, ServerConfig, Touch};

use crate::arena::{Corrections, Rng, drive, watch};
use crate::game::{Play, link};
use crate::volume::volume;

const PLAYERS: usize = 8;
const START: u64 = 15_000;

/// Bytes of UDP that all clients have sent, and those that the server has.
fn bytes(play: &Play) -> [u64; 2] {
    let up = play.clients.iter().filter_map(|player| player.client.session().stats());
    let down = play.server.peers().filter_map(|peer| play.server.session().stats(peer));
    [up.map(|report| report.path.bytes_sent).sum(), down.map(|report| report.path.bytes_sent).sum()]
}

/// A row: an arena of eight players on a network.
fn row(round_trip: u64, loss: f64, touch: Option<Touch>) -> [f64; 6] {
    let predict = PredictConfig { touch, ..PredictConfig::default() };
    let config = ClientConfig { predict, ..ClientConfig::default() };
    let network = link(round_trip, 15, loss);
    let mut play = Play::with(network, PLAYERS, ServerConfig::default(), config);
    let mut rng = Rng::new(5);
    let mut move_all = |play: &mut Play| {
        let players = play.clients.iter_mut();
        players.for_each(|player| drive(player, &mut rng, [-30.0, 35.0], 42.0));
    };
    play.run(START, &mut move_all);
    let seen = watch(&mut play);
    let (mut corrections, before) =
        (Corrections::new(PredictConfig::default().blend_position), bytes(&play));
    let (mut lead, mut frames) = (0.0, 0u32);
    let milliseconds = volume(30_000, 120_000);
    play.run(milliseconds, |play| {
        move_all(play);
        corrections.look(play);
        lead += play.clients.iter().map(|player| player.client.time().lead).sum::<f64>();
        frames += 1;
    });
    let seen = seen.lock().unwrap();
    let share = |part: u64, of: u64| 100.0 * part as f64 / of as f64;
    let rate = |now: u64, before: u64| (now - before) as f64 / milliseconds as f64 / PLAYERS as f64;
    [
        share(seen.missing(), seen.inputs),
        lead / f64::from(frames) / PLAYERS as f64 * 1000.0 / 60.0,
        share(seen.contacts, seen.tank_ticks),
        share(corrections.visible, corrections.ticks),
        rate(bytes(&play)[0], before[0]),
        rate(bytes(&play)[1], before[1]),
    ]
}

#[test]
#[ignore = "prints the tables of docs/PLAY.md, which takes minutes"]
fn tables() {
    println!("| RTT | loss | inputs missing | lead | contact | corrections > 1 cm | up | down |");
    println!("|---|---|---|---|---|---|---|---|");
    for round_trip in [50, 100, 250] {
        for loss in [0.0, 0.03, 0.1, 0.2] {
            let [missing, lead, contact, visible, up, down] =
                row(round_trip, loss, Some(Touch::default()));
            println!(
                "| {round_trip} ms | {:.0}% | {missing:.3}% | {lead:.0} ms | {contact:.1}% | \
                 {visible:.2}% | {up:.1} kB/s | {down:.1} kB/s |",
                100.0 * loss
            );
            assert!(missing < 5.0, "{missing}");
        }
    }
}

#[test]
#[ignore = "prints a figure of docs/PLAY.md, which takes minutes"]
fn touch_spares_corrections() {
    let [with, without] = [Some(Touch::default()), None].map(|touch| row(100, 0.03, touch));
    for (name, [_, _, contact, visible, ..]) in [("with", with), ("without", without)] {
        println!("{name} Touch: contact in {contact:.2}% of ticks, corrections in {visible:.2}%");
    }
    assert!(with[3] / with[2] < without[3] / without[2]);
}
