//! Lag compensation: the server sees what a shooter saw.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tightwire::play::ClientConfig;
use tightwire::schema::ObjectId;
use tightwire::transport::Transport;

use crate::forged::{Forge, Forged, edit};
use crate::game::{Play, Player, Simulated, Tank, address, link};
use crate::shown::{distance, runner};
use crate::volume::volume;

/// Positions of the target, and the times, by tick.
type Views = BTreeMap<u32, ([f32; 2], f64)>;

/// Records where the first player saw the target, as the server computes it.
fn watch_views(play: &mut Play, target: ObjectId) -> Arc<Mutex<Views>> {
    let views = Arc::new(Mutex::new(Views::new()));
    let kept = views.clone();
    let mut before = std::mem::replace(&mut play.on_tick, Box::new(|_, _| ()));
    play.on_tick = Box::new(move |server, tick| {
        before(server, tick);
        let Some(shooter) = server.peers().last() else { return };
        let seen = server.as_seen_by(shooter, |past| (past.get::<Tank>(target), past.time()));
        if let (Some(tank), time) = seen {
            kept.lock().unwrap().insert(tick.0, (tank.position, time));
        }
    });
    views
}

/// Position at which a player is shown the target in the frame of each of its ticks.
fn look<T: Transport>(player: &Player<T>, target: ObjectId, shown: &mut Views) {
    let client = &player.client;
    let tick = client.time().input_tick.floor() as u32;
    if let (Some(tank), Some(time)) = (client.world().get::<Tank>(target), client.shown_time())
        && !shown.contains_key(&tick)
    {
        shown.insert(tick, (tank.position, time));
    }
}

/// Returns the share of shots that hit within half a metre, and the distances in ascending order.
fn compare(shown: &Views, views: &Views, from: u32) -> (f64, Vec<f32>) {
    let pairs = shown.range(from..).filter_map(|(tick, one)| Some((one, views.get(tick)?)));
    let mut errors: Vec<f32> = pairs.map(|(one, other)| distance(one.0, other.0)).collect();
    errors.sort_by(f32::total_cmp);
    let hits = errors.iter().filter(|error| **error < 0.5).count();
    (hits as f64 / errors.len() as f64, errors)
}

#[test]
fn a_shot_at_what_is_shown_hits() {
    for (jitter, loss) in [(0, 0.0), (15, 0.0), (15, 0.03)] {
        let mut play = Play::new(link(100, jitter, loss), 1);
        let (target, _) = runner(&mut play, 30.0);
        let views = watch_views(&mut play, target);
        let mut shown = Views::new();
        play.run(volume(40_000, 300_000), |play| look(&play.clients[0], target, &mut shown));
        let (hits, errors) = compare(&shown, &views.lock().unwrap(), 600);
        let [p50, p99, most] =
            [500, 990, 1000].map(|rank| errors[(errors.len() - 1) * rank / 1000]);
        let peer = play.server.peers().next().unwrap();
        println!(
            "jitter {jitter}, loss {loss}: {:.3}% of {} hit; off by p50 {p50:.4}, p99 {p99:.4}, most {most:.4}; {:?}",
            100.0 * hits,
            errors.len(),
            play.server.stats(peer).unwrap().views
        );
        assert!(errors.len() as u64 > volume(1700, 17_000));
        assert!(hits >= 0.999, "{hits}");
        if loss == 0.0 {
            // Half of a 32nd of a tick at 12 m/s, and the rounding of both.
            assert!(p99 <= 0.005, "{p99}");
        }
    }
}

#[test]
fn the_gain_of_a_liar_is_bounded() {
    let mut play = Play::new(link(60, 0, 0.0), 1);
    let (target, _) = runner(&mut play, 30.0);
    let quic: Simulated = play.connect(play.network.socket(address(9)));
    let mut count = 0u32;
    // Honest for 10 s, then now and then a view that is far older.
    let forge: Forge = Box::new(move |body| {
        count += 1;
        vec![edit(body, |header| {
            if let Some(view) = header.view.as_mut().filter(|_| count > 600 && count % 120 < 20) {
                view.delay = 1023;
            }
        })]
    });
    let mut liar = Player::new(ClientConfig::default(), Forged { quic, forge, extra: None });
    let views = watch_views(&mut play, target);
    let mut shown = Views::new();
    play.run(60_000, |play| {
        liar.frame(play.now);
        look(&liar, target, &mut shown);
    });
    let views = views.lock().unwrap();
    let pairs = shown.range(700..).filter_map(|(tick, one)| Some((one.1, views.get(tick)?.1)));
    let gains: Vec<f64> = pairs.map(|(shown, granted)| shown - granted).collect();
    let most = gains.iter().copied().fold(f64::MIN, f64::max);
    let peer = play.server.peers().last().unwrap();
    println!(
        "gain {most:.2} ticks of {}, {:?}",
        gains.len(),
        play.server.stats(peer).unwrap().views
    );
    assert!(gains.len() > 2000 && most > 1.0, "the lies have an effect");
    // Six ticks, and the share by which lies move the average.
    assert!(most <= 8.0, "{most}");
}
