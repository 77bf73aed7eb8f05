//! Links that change, and clocks that drift.

use std::net::SocketAddr;
use std::time::Duration;

use tightwire::play::{ClientConfig, ClientEvent};
use tightwire::quic::{Packet, Packets, Quic, SimulatedSocket, Socket};

use crate::arena::watch;
use crate::game::{Drive, Play, Player, address, link};
use crate::volume::volume;

fn jumps(play: &Play) -> usize {
    let events = play.clients.iter().flat_map(|player| &player.events);
    events.filter(|event| matches!(event, ClientEvent::TimeJump(_))).count()
}

#[test]
fn a_longer_path_is_followed_without_a_jump() {
    let mut play = Play::new(link(20, 0, 0.0), 1);
    play.clients[0].drive = Drive { x: 1, y: 0, fire: false };
    play.run(15_000, |_| {});
    let before = play.clients[0].client.time();
    assert_eq!(jumps(&play), 0, "{:?}", play.clients[0].events);

    let seen = watch(&mut play);
    play.network.set_config(link(300, 0, 0.0));
    play.run(2500, |_| {});
    let settled = play.clients[0].client.time();
    let missing = seen.lock().unwrap().missing();
    play.run(17_500, |_| {});
    let long = play.clients[0].client.time();
    println!(
        "20 to 300 ms: {missing} missing, lead {:.2}, {:.2} after 2.5 s, then {:.2}",
        before.lead, settled.lead, long.lead
    );
    assert!(missing <= 100, "{missing}");
    assert_eq!(seen.lock().unwrap().missing(), missing, "none after 2.5 s");
    assert_eq!(jumps(&play), 0, "{:?}", play.clients[0].events);

    let seen = watch(&mut play);
    play.network.set_config(link(20, 0, 0.0));
    let mut settled = None;
    play.run(25_000, |play| {
        let lead = play.clients[0].client.time().lead;
        match (lead - before.lead).abs() < 0.5 {
            true if settled.is_none() => settled = Some(play.now),
            false => settled = None,
            true => {}
        }
    });
    let settled = settled.unwrap() - (play.now - Duration::from_secs(25));
    println!("300 to 20 ms: {} missing, settled after {settled:?}", seen.lock().unwrap().missing());
    assert_eq!((seen.lock().unwrap().missing(), jumps(&play)), (0, 0));
    assert!(settled <= Duration::from_secs(15), "{settled:?}");
}

/// A socket of a client whose clock drifts, or whose path down is longer than the one up.
struct Shaped {
    socket: SimulatedSocket,
    parts_per_million: i64,
    down: Duration,
}

impl Shaped {
    /// Returns the network's time at a time of the client's clock.
    fn real(&self, local: Duration) -> Duration {
        scale(local, -self.parts_per_million)
    }
}

fn scale(time: Duration, parts_per_million: i64) -> Duration {
    let nanos = time.as_nanos() as i64;
    Duration::from_nanos((nanos + nanos / 1_000_000 * parts_per_million) as u64)
}

impl Socket for Shaped {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        self.socket.receive(self.real(now).saturating_sub(self.down), take);
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        self.socket.send(self.real(now), packets)
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn finds_mtu(&self) -> bool {
        self.socket.finds_mtu()
    }
}

/// Joins with a shaped socket, and runs until the clock has settled and then on. Returns the player,
/// and the number of missing inputs in the second part.
fn run_shaped(latency: u64, down: u64, parts_per_million: i64) -> (Player<Quic<Shaped>>, u64) {
    let mut play = Play::new(link(2 * latency, 0, 0.0), 0);
    let (socket, down) = (play.network.socket(address(1)), Duration::from_millis(down));
    let transport = play.connect(Shaped { socket, parts_per_million, down });
    let mut player = Player::new(ClientConfig::default(), transport);
    player.drive = Drive { x: 1, y: 0, fire: false };
    let mut frame = |play: &mut Play| player.frame(scale(play.now, parts_per_million));
    play.run(20_000, &mut frame);
    let seen = watch(&mut play);
    play.run(volume(60_000, 600_000), &mut frame);
    let missing = seen.lock().unwrap().missing();
    assert!(seen.lock().unwrap().inputs > 3500);
    let jumps = player.events.iter().filter(|event| matches!(event, ClientEvent::TimeJump(_)));
    assert_eq!(jumps.count(), 0, "{:?}", player.events);
    (player, missing)
}

#[test]
fn clocks_that_drift_miss_no_input() {
    for parts_per_million in [-500, 500] {
        let (player, missing) = run_shaped(50, 0, parts_per_million);
        let (time, stats) = (player.client.time(), player.client.stats().prediction);
        println!("{parts_per_million} ppm: {missing} missing, {time:?}, {stats:?}");
        assert_eq!((missing, stats.mispredicted), (0, 0));
        assert!((0.2..1.2).contains(&time.margin), "{time:?}");
    }
}

#[test]
fn an_asymmetric_path_costs_no_more_than_its_way_up() {
    let (player, missing) = run_shaped(10, 80, 0);
    let (time, stats) = (player.client.time(), player.client.stats().prediction);
    println!("10 ms up, 90 ms down: {missing} missing, {time:?}, {stats:?}");
    assert_eq!((missing, stats.mispredicted), (0, 0));
    // The estimate of the server's tick is wrong by 40 ms; the inputs are not.
    assert!((0.2..1.2).contains(&time.margin), "{time:?}");
}
