//! Assets in the background of a game.

use tightwire::play::{Asset, ClientConfig, ClientEvent, ServerConfig, ServerEvent};

use crate::game::{Drive, Play, link};

#[test]
fn an_asset_comes_in_the_background_and_delays_no_input() {
    let server = ServerConfig { max_rate: 100_000, ..ServerConfig::default() };
    let mut play = Play::with(link(60, 5, 0.02), 2, server, ClientConfig::default());
    play.run(3000, |_| {});
    let bytes: Vec<u8> =
        (0..300_000u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let asset = Asset::new("level", bytes.clone());
    let mine = play.clients[0].mine[0];
    let peer = play.server.world().owner(mine).unwrap();
    play.server.offer(peer, &asset).unwrap();
    let before = play.server.stats(peer).unwrap();
    let mut progress = Vec::new();
    for round in 0..200 {
        play.clients[0].drive = Drive { x: (round % 2) as i8, y: 1, fire: false };
        play.run(100, |_| {});
        let offered: Vec<_> = play.clients[0]
            .events
            .iter()
            .filter_map(|event| match event {
                ClientEvent::AssetOffered(progress) => Some(progress.id),
                _ => None,
            })
            .collect();
        if let [id] = offered[..] {
            let _ = play.clients[0].client.accept_asset(id, Vec::new());
        }
        progress.extend(play.clients[0].client.assets().next().map(|asset| asset.done));
        if play.events.iter().any(|event| matches!(event, ServerEvent::Asset { .. })) {
            break;
        }
    }
    let received = play.clients[0].events.iter().find_map(|event| match event {
        ClientEvent::Asset { bytes, .. } => Some(bytes.clone()),
        _ => None,
    });
    assert!(received == Some(Ok(bytes)), "{progress:?}");
    assert!(progress.len() > 40, "with half of the rate at most: {}", progress.len());
    assert!(progress.is_sorted() && play.clients[1].client.assets().count() == 0);
    let after = play.server.stats(peer).unwrap();
    let missing = after.inputs.repeated + after.inputs.neutral
        - before.inputs.repeated
        - before.inputs.neutral;
    assert!(missing <= 3, "{missing} of {}", after.inputs.fresh - before.inputs.fresh);
}
