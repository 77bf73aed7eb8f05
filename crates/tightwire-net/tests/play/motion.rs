//! Motion under jitter and loss.

use crate::game::{Drive, Play, Tank, link};

#[test]
fn without_contact_every_misprediction_belongs_to_a_missing_input() {
    let mut play = Play::new(link(100, 15, 0.03), 2);
    play.run(5000, |_| {});
    let start =
        play.server.peers().map(|peer| play.server.stats(peer).unwrap()).collect::<Vec<_>>();
    for round in 0..60u64 {
        for (number, player) in (0..).zip(&mut play.clients) {
            let turn = (round + number) % 3;
            player.drive = Drive { x: turn as i8 - 1, y: 1 - turn as i8, fire: false };
        }
        play.run(500, |_| {});
    }
    let ends = play.server.peers().map(|peer| play.server.stats(peer).unwrap()).collect::<Vec<_>>();
    for ((start, end), player) in start.iter().zip(&ends).zip(&play.clients) {
        let missing =
            end.inputs.repeated + end.inputs.neutral - start.inputs.repeated - start.inputs.neutral;
        let ticks = end.inputs.fresh - start.inputs.fresh + missing;
        let stats = player.client.stats().prediction;
        println!("{missing} of {ticks} missing; {stats:?}; {:?}", player.client.time());
        assert!(ticks > 1700);
        assert!(missing * 1000 <= 5 * ticks, "{missing} of {ticks}");
        if missing == 0 {
            assert_eq!(
                stats.mispredicted,
                0,
                "{:?}",
                player.client.world().mispredictions().last()
            );
        }
    }
    let tank = play.tanks()[0].clone();
    let shown = play.clients[1].client.world().get::<Tank>(tank.0).unwrap();
    let distance =
        (tank.1.position[0] - shown.position[0]).hypot(tank.1.position[1] - shown.position[1]);
    assert!(distance < 5.0, "{distance}");
}
