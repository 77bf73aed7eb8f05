//! Clients that send what no honest one sends: refused or counted, and nobody else notices.

use tightwire::message::{Messenger, MessengerConfig};
use tightwire::play::{ClientConfig, ClientEvent, PeerPlayStats, SceneError, ServerEvent};
use tightwire::transport::Reason;
use tightwire::{Delivery, Message};

use crate::arena::{Rng, watch};
use crate::forged::{Forge, Forged, edit};
use crate::game::{Chat, Drive, Play, Player, Tank, address, link};

/// Lets two honest players play with a hostile one for 20 s. Returns what the server counted of the
/// hostile one, and the reason for which it was closed, if it was.
fn play_with(forge: Forge) -> (PeerPlayStats, Option<Reason>) {
    play_against(forge, None)
}

/// Lets the hostile player send a batch of messages, too.
fn play_against(forge: Forge, extra: Option<Vec<u8>>) -> (PeerPlayStats, Option<Reason>) {
    let is_closed_at_once = extra.is_some();
    let mut play = Play::new(link(60, 0, 0.0), 2);
    play.run(10_000, |_| {});
    let quic = play.connect(play.network.socket(address(9)));
    let mut hostile = Player::new(
        ClientConfig { reconnect: false, ..ClientConfig::default() },
        Forged { quic, forge, extra },
    );
    let seen = watch(&mut play);
    let before = play.clients.iter().map(|player| player.client.stats()).collect::<Vec<_>>();
    let mut stats = PeerPlayStats::default();
    for round in 0..40i8 {
        for player in &mut play.clients {
            player.drive = Drive { x: round % 3 - 1, y: 0, fire: round % 5 == 0 };
        }
        hostile.drive = Drive { x: 1 - round % 3, y: 0, fire: false };
        play.run(500, |play| {
            hostile.frame(play.now);
            if let Some(counts) =
                play.server.peers().nth(2).and_then(|peer| play.server.stats(peer))
            {
                stats = counts;
            }
        });
    }
    // Nobody else is affected.
    let seen = seen.lock().unwrap();
    for number in 0..2 {
        let missing = &seen.missing[&play.peer_of(number)];
        assert!(missing.is_empty(), "{missing:?}");
    }
    for (player, before) in play.clients.iter().zip(before) {
        let stats = player.client.stats();
        assert_eq!(stats.prediction.mispredicted, before.prediction.mispredicted);
        assert!(stats.snapshots - before.snapshots > 1150, "{stats:?}");
        let is_jump = |event: &&ClientEvent| matches!(event, ClientEvent::TimeJump(_));
        assert_eq!(player.events.iter().find(is_jump), None);
    }
    let closed = play.events.iter().find_map(|event| match event {
        ServerEvent::Left { reason, .. } | ServerEvent::Lost { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    println!("{closed:?} {stats:?}");
    assert_eq!(play.server.violations(), u64::from(closed.is_some()));
    assert!(!is_closed_at_once || stats.inputs.fresh < 60, "{stats:?}");
    (stats, closed)
}

#[test]
fn malformed_frames_close_the_connection() {
    let mut rng = Rng::new(3);
    let (stats, closed) = play_with(Box::new(move |body| match rng.below(60) {
        0 => vec![(0..rng.below(40)).map(|_| rng.below(256) as u8).collect()],
        _ => vec![body.to_vec()],
    }));
    assert!(matches!(closed, Some(Reason::Violation { .. })), "{closed:?}");
    assert!(stats.inputs.fresh < 1200);
}

#[test]
fn truncated_and_longer_frames_close_the_connection() {
    for change in [-1isize, 1] {
        let mut count = 0;
        let (_, closed) = play_with(Box::new(move |body| {
            count += 1;
            let mut body = body.to_vec();
            if count == 300 {
                body.resize(body.len().saturating_add_signed(change), 0);
            }
            vec![body]
        }));
        assert!(matches!(closed, Some(Reason::Violation { .. })), "{change}: {closed:?}");
    }
}

#[test]
fn a_flood_is_dropped_and_then_closed() {
    let (stats, closed) = play_with(Box::new(|body| vec![body.to_vec(); 20]));
    assert!(matches!(closed, Some(Reason::Violation { .. })), "{closed:?}");
    assert!(stats.inputs.dropped_flood > 100, "{stats:?}");
}

#[test]
fn inputs_of_the_future_and_the_past_are_dropped_and_counted() {
    let shift = |by: i16| -> Forge {
        Box::new(move |body| {
            vec![edit(body, |header| {
                if let Some(span) = &mut header.inputs {
                    span.newest = span.newest.wrapping_add_signed(by) & 0xfff;
                }
            })]
        })
    };
    let (stats, closed) = play_with(shift(100));
    assert_eq!((stats.inputs.fresh, closed), (0, None), "{stats:?}");
    assert!(stats.inputs.dropped_future > 500, "{stats:?}");
    let (stats, closed) = play_with(shift(-200));
    assert_eq!((stats.inputs.fresh, closed), (0, None), "{stats:?}");
    assert!(stats.inputs.dropped_ancient + stats.inputs.dropped_baseline > 500, "{stats:?}");
}

#[test]
fn revised_inputs_do_not_count() {
    // Each frame is followed by one that gives the inputs to other ticks.
    let (stats, closed) = play_with(Box::new(|body| {
        let revised = edit(body, |header| {
            if let Some(span) = &mut header.inputs {
                span.newest = span.newest.wrapping_sub(1) & 0xfff;
            }
        });
        vec![body.to_vec(), revised]
    }));
    assert_eq!(closed, None);
    assert!(stats.inputs.revised > 30 && stats.inputs.fresh > 1100, "{stats:?}");
}

#[test]
fn acks_of_packets_that_did_not_arrive_are_ignored() {
    let mut rng = Rng::new(4);
    let (stats, closed) = play_with(Box::new(move |body| {
        vec![edit(body, |header| {
            if let Some(view) = &mut header.view {
                view.newest = view.newest.wrapping_add(rng.below(8) as u8);
                (view.all, view.earlier) = (true, 0);
            }
        })]
    }));
    // It plays on; its snapshots are spaced out since few of them count as acked.
    assert_eq!(closed, None);
    assert!(stats.inputs.fresh > 1000, "{stats:?}");
    assert!(stats.snapshots > 100, "{stats:?}");
}

/// Copies of messages that only a server sends, with their names on the wire, and related ones.
mod claims {
    use tightwire::schema::ObjectId;
    use tightwire::{Message, Wire};

    #[derive(Wire, Default)]
    pub(super) struct SpawnKey {
        tick: u32,
        ordinal: u16,
    }

    #[derive(Wire, Message, Default)]
    #[message(name = "tightwire.Ownership")]
    pub(super) struct Ownership {
        pub(super) id: ObjectId,
        pub(super) is_owned: bool,
        pub(super) spawned: Option<SpawnKey>,
    }

    #[derive(Wire, Message, Default)]
    #[message(name = "tightwire.ResumeTicket")]
    pub(super) struct ResumeTicket {
        secret: [u8; 32],
    }

    #[derive(Wire, Message, Default)]
    #[message(name = "tightwire.AssetOffer")]
    pub(super) struct AssetOffer {
        id: u32,
        #[wire(max_len = 255)]
        name: String,
        length: u32,
        hash: [u64; 2],
    }

    #[derive(Wire, Message, Default)]
    #[message(name = "tightwire.AssetChunk")]
    pub(super) struct AssetChunk {
        id: u32,
        offset: u32,
        #[wire(max_len = 16384)]
        bytes: Vec<u8>,
    }

    #[derive(Wire, Message, Default)]
    #[message(name = "tightwire.AssetRequest")]
    pub(super) struct AssetRequest;
}

/// Returns a batch with one message. The messages of the game have the same numbers.
fn batch<M: Message>(message: &M) -> Vec<u8> {
    let builder = Messenger::<()>::builder(MessengerConfig::default());
    let builder = builder.send_only::<Chat>().send_only::<claims::Ownership>();
    let builder = builder.send_only::<claims::ResumeTicket>().send_only::<claims::AssetRequest>();
    let builder = builder.send_only::<claims::AssetChunk>().send_only::<claims::AssetOffer>();
    let mut messenger = builder.build().unwrap();
    let peer = messenger.add_peer(1200);
    messenger.send(peer, message, Delivery::ReliableOrdered).unwrap();
    let mut batch = Vec::new();
    messenger.end_frame(|_, _, bytes| {
        batch = bytes.to_vec();
        Ok(())
    });
    batch
}

#[test]
fn messages_of_a_server_close_the_connection_and_are_named() {
    // The tanks of the others have the first ids: a claim on one of them.
    let claim = claims::Ownership { is_owned: true, ..claims::Ownership::default() };
    let batches = [
        ("tightwire.Ownership", batch(&claim)),
        ("tightwire.ResumeTicket", batch(&claims::ResumeTicket::default())),
        ("tightwire.AssetOffer", batch(&claims::AssetOffer::default())),
        ("tightwire.AssetChunk", batch(&claims::AssetChunk::default())),
    ];
    for (name, batch) in batches {
        let (_, closed) = play_against(Box::new(|body| vec![body.to_vec()]), Some(batch));
        let text = format!("unexpected message \"{name}\" from a client");
        assert_eq!(closed, Some(Reason::violation(&text)));
    }
}

#[test]
fn a_client_cannot_step_what_it_does_not_own() {
    let mut play = Play::new(link(60, 0, 0.0), 2);
    play.run(3000, |_| {});
    let (own, other) = (play.clients[0].mine[0], play.clients[1].mine[0]);
    let before = play.server.world().get::<Tank>(other).unwrap();
    let far = Tank { position: [0.0, 150.0], ..Tank::default() };
    let client = &mut play.clients[0].client;
    let mut steps = 0;
    for _ in 0..40 {
        play.now += std::time::Duration::from_millis(1);
        client.receive(play.now);
        while let Some(mut scene) = client.next_step() {
            steps += 1;
            assert_eq!(scene.set(other, &far), Err(SceneError::NotSimulated { id: other }));
            assert_eq!(
                scene.spawn(other, &Tank::default()),
                Err(SceneError::NotSimulated { id: other })
            );
            scene.remove(other);
            // The client can set the state of its own tank: the server ignores it.
            scene.set(own, &far).unwrap();
        }
        client.send(play.now);
    }
    assert!(steps > 0);
    play.run(1000, |_| {});
    assert_eq!(play.server.world().get::<Tank>(other), Some(before.clone()));
    assert_eq!(play.clients[0].client.world().get::<Tank>(other), Some(before));
    let own = play.server.world().get::<Tank>(own).unwrap();
    assert_ne!(own.position, far.position);
}
