//! Memory in the steady state.

use std::time::Duration;

use tightwire::play::{
    Client, ClientConfig, ClientEvent, PredictConfig, Server, ServerConfig, ServerEvent, Touch,
};
use tightwire::schema::ObjectId;
use tightwire::session::OpenToAnyone;
use tightwire::transport::InProcess;

use crate::arena::Rng;
use crate::game::{Bullet, Drive, Player, Tank, game, step};
use crate::hub::{HubEnd, hub};

/// Over queues in the process, since QUIC allocates for each packet.
#[test]
fn nothing_is_allocated_in_the_steady_state() {
    let (here, there) = InProcess::pair();
    let mut server = game().serve(ServerConfig::default(), OpenToAnyone::default(), there).unwrap();
    let mut player = Player::new(ClientConfig::default(), here);
    let mut others = Vec::new();
    let mut counts = [0; 2];
    for millisecond in 1..40_000u64 {
        let now = Duration::from_millis(millisecond);
        let is_steady = millisecond > 30_000;
        let serve = || {
            server.receive(now);
            while let Some(event) = server.poll_event() {
                if let ServerEvent::Joined { peer, .. } = event {
                    let mut world = server.world();
                    let id = world.spawn(&Tank { health: 100, ..Tank::default() }).unwrap();
                    world.set_owner(id, Some(peer));
                    let place = |number: u8| [10.0 * f32::from(number), 40.0];
                    others.extend((0..8).map(|number| {
                        world.spawn(&Tank { position: place(number), ..Tank::default() }).unwrap()
                    }));
                }
            }
            while let Some(tick) = server.begin_tick(now) {
                step(&mut server.scene());
                for (number, id) in (0..).zip(&others) {
                    let mut tank: Tank = server.world().get(*id).unwrap();
                    tank.position[1] = 40.0 + 5.0 * ((tick.0 + 9 * number) as f32 * 0.05).sin();
                    server.world().set(*id, &tank).unwrap();
                }
            }
            server.send(now);
        };
        let on_server = allocation_counter::measure(serve).count_total;
        // Back and forth, and still now and then.
        let turn = (millisecond / 300 % 4) as i8;
        player.drive = Drive { x: [1, 0, -1, 0][turn as usize], y: 0, fire: false };
        let on_client = allocation_counter::measure(|| player.frame(now)).count_total;
        if is_steady {
            counts[0] += on_server;
            counts[1] += on_client;
        }
    }
    let stats = player.client.stats();
    assert!(stats.snapshots > 2300 && stats.prediction.compared > 2000, "{stats:?}");
    assert_eq!(player.client.world().iter::<Tank>().count(), 9);
    assert_eq!(counts, [0, 0], "allocations of the server, and of the client");
}

/// A client with a bot that allocates nothing.
struct Bot {
    client: Client<Drive, HubEnd>,
    mine: Option<ObjectId>,
    drive: Drive,
    matched: u64,
}

impl Bot {
    fn frame(&mut self, now: Duration) {
        self.client.receive(now);
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Mine { id } => self.mine = self.mine.or(Some(id)),
                ClientEvent::Matched { .. } => self.matched += 1,
                _ => {}
            }
        }
        self.client.input(&self.drive);
        while let Some(mut scene) = self.client.next_step() {
            step(&mut scene);
        }
        self.client.send(now);
    }

    /// Drives at random within a small arena, and fires.
    fn choose(&mut self, rng: &mut Rng) {
        let Some(tank) = self.mine.and_then(|id| self.client.world().get::<Tank>(id)) else {
            return;
        };
        if rng.below(500) == 0 {
            let [x, y] = [0; 2].map(|_| rng.below(3) as i8 - 1);
            // As many shells as there can be, from the start on.
            self.drive = Drive { x, y, fire: true };
        }
        for (push, at) in [&mut self.drive.x, &mut self.drive.y].into_iter().zip(tank.position) {
            if at.abs() > 15.0 {
                *push = if at > 0.0 { -1 } else { 1 };
            }
        }
    }
}

/// A frame of the server: each player looks at all tanks as it saw them.
fn serve(server: &mut Server<Drive, HubEnd>, now: Duration, looked: &mut u64) {
    server.receive(now);
    while let Some(event) = server.poll_event() {
        if let ServerEvent::Joined { peer, .. } = event {
            let mut world = server.world();
            let id = world.spawn(&Tank { health: 100, ..Tank::default() }).unwrap();
            world.set_owner(id, Some(peer));
        }
    }
    while server.begin_tick(now).is_some() {
        step(&mut server.scene());
        for peer in server.peers() {
            *looked += server.as_seen_by(peer, |past| past.iter::<Tank>().count()) as u64;
        }
    }
    server.send(now);
}

#[test]
fn eight_players_that_lose_packets_touch_and_shoot_allocate_nothing() {
    let (there, here) = hub(8, 3);
    let touch = Some(Touch { enter: 8.0, leave: 12.0, ..Touch::default() });
    let predict = PredictConfig { touch, ..PredictConfig::default() };
    let config = ClientConfig { predict, ..ClientConfig::default() };
    let mut server = game().serve(ServerConfig::default(), OpenToAnyone::default(), there).unwrap();
    let bots = here.into_iter().map(|end| {
        let client = game().connect(config.clone(), &[], end).unwrap();
        Bot { client, mine: None, drive: Drive::default(), matched: 0 }
    });
    let mut bots: Vec<Bot> = bots.collect();
    let mut rng = Rng::new(9);
    let (mut counts, mut looked) = ([0; 2], 0);
    let mut windows: Vec<[u64; 2]> = Vec::new();
    for millisecond in 1..=crate::volume::volume(90_000, 300_000) {
        let now = Duration::from_millis(millisecond);
        let on_server =
            allocation_counter::measure(|| serve(&mut server, now, &mut looked)).count_total;
        bots.iter_mut().for_each(|bot| bot.choose(&mut rng));
        let frames = || bots.iter_mut().for_each(|bot| bot.frame(now));
        let on_clients = allocation_counter::measure(frames).count_total;
        if millisecond % 10_000 == 1 {
            windows.push([0; 2]);
        }
        let [server, clients] = windows.last_mut().unwrap();
        (*server, *clients) = (*server + on_server, *clients + on_clients);
        // Until then buffers grow, to the largest world and the longest outage.
        if millisecond > 60_000 {
            (counts[0], counts[1]) = (counts[0] + on_server, counts[1] + on_clients);
        }
    }
    for bot in &bots {
        let stats = bot.client.stats().prediction;
        println!("{stats:?} {} matched", bot.matched);
        assert!(stats.mispredicted > 100 && stats.replayed_ticks > 1000 && bot.matched > 20);
    }
    println!("allocations of the server and the clients in each 10 s: {windows:?}");
    assert!(looked > 8 * 8 * 60 * 60);
    assert!(server.world().iter::<Bullet>().count() > 0);
    assert_eq!(counts, [0, 0], "allocations of the server, and of the clients");
}
