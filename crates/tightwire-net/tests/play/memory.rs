//! Memory in the steady state.

use std::time::Duration;

use tightwire::play::{ClientConfig, ServerConfig, ServerEvent};
use tightwire::session::OpenToAnyone;
use tightwire::transport::InProcess;

use crate::game::{Drive, Player, Tank, game, step};

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
