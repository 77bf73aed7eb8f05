//! After warm-up, messages do not allocate, whatever is sent.

use std::time::Duration;

use allocation_counter::measure;
use tightwire::message::{Messenger, MessengerConfig, Route, SendError};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

use crate::common::figures::say;
use crate::common::rng::Rng;
use crate::common::volume::volume;

#[derive(Wire, Message, Default, Clone)]
struct Input {
    sequence: u16,
    #[wire(range = -100..=100)]
    stick: [i8; 2],
}

#[derive(Wire, Message, Default, Clone)]
struct Chat {
    #[wire(max_len = 200)]
    text: String,
}

#[derive(Wire, Message, Default, Clone)]
struct World {
    #[wire(max_len = 5000)]
    parts: Vec<u32>,
}

/// State that handlers add up.
#[derive(Default)]
struct Sum {
    messages: u64,
    bytes: u64,
}

fn messenger() -> Messenger<Sum> {
    fn add(context: &mut Context<'_, Sum>, bytes: usize) {
        context.state.messages += 1;
        context.state.bytes += bytes as u64;
    }
    Messenger::builder(MessengerConfig::default())
        .handle(|input: &Input, context: &mut Context<'_, Sum>| {
            add(context, input.stick.len());
            // Some are answered, and answers are not.
            let sender = context.sender();
            if input.sequence % 8 == 7 {
                context.send(sender, &Input::default(), Delivery::Unreliable)
            } else {
                Ok::<(), SendError>(())
            }
        })
        .handle(|chat: &Chat, context: &mut Context<'_, Sum>| add(context, chat.text.len()))
        .handle(|world: &World, context: &mut Context<'_, Sum>| add(context, world.parts.len()))
        .build()
        .unwrap()
}

/// A server, and 64 clients that all run here.
struct Office {
    server: (Messenger<Sum>, Sum),
    /// The clients, each with its id at the server, and the server's id there.
    clients: Vec<(Messenger<Sum>, Sum, PeerId, PeerId)>,
    chat: Chat,
    world: World,
    rng: Rng,
}

impl Office {
    fn new() -> Self {
        let mut server = messenger();
        let clients = (0..64).map(|_| {
            let mut client = messenger();
            let (there, here) = (server.add_peer(1200), client.add_peer(1200));
            (client, Sum::default(), there, here)
        });
        let clients = clients.collect();
        let chat = Chat { text: "a".repeat(200) };
        let world = World { parts: vec![7; 5000] };
        Self { server: (server, Sum::default()), clients, chat, world, rng: Rng::new(1) }
    }

    /// Runs a frame in which random messages are sent, or all.
    fn frame(&mut self, number: u64, everything: bool) {
        let Self { server: (server, state), clients, chat, world, rng } = self;
        let now = Duration::from_millis(number * 16);
        for (client, _sum, _, to_server) in clients.iter_mut() {
            client.begin_frame(now);
            let sequence = if everything { 7 } else { rng.next() as u16 };
            let input = Input { sequence, stick: [1, -1] };
            let route = Route::from(Delivery::Unreliable).at(Stage::ALL[rng.below(7)]);
            client.send(*to_server, &input, route).unwrap();
            if everything || rng.below(8) == 0 {
                client.send(*to_server, chat, Delivery::Reliable).unwrap();
            }
        }
        server.begin_frame(now);
        for (client, _, at_server, _) in clients.iter_mut() {
            client.end_frame(|_, delivery, batch| {
                server.receive(*at_server, delivery, batch, now).unwrap();
                Ok(())
            });
        }
        for stage in Stage::ALL {
            server.run_stage(stage, state);
            // To itself: now, and in the next frame.
            server.send_local(state, chat, Route::default().at(stage)).unwrap();
            server.send_local(state, chat, Route::default().at(Stage::PreUpdate)).unwrap();
        }
        server.broadcast(None, chat, Delivery::Reliable).unwrap();
        let one = clients[rng.below(64)].2;
        for (_, _, client, _) in clients.iter() {
            if everything || *client == one {
                let fragmenting = Delivery::ReliableOrderedFragmented;
                server.send(*client, world, fragmenting).unwrap();
            }
        }
        server.broadcast(Some(one), &Input::default(), Delivery::Unreliable).unwrap();
        server.end_frame(|to, delivery, batch| {
            let place = clients.iter().position(|(_, _, id, _)| *id == to).unwrap();
            let (client, _, _, from) = &mut clients[place];
            client.receive(*from, delivery, batch, now).unwrap();
            Ok(())
        });
        for (client, sum, ..) in clients.iter_mut() {
            Stage::ALL.into_iter().for_each(|stage| client.run_stage(stage, sum));
        }
    }
}

#[test]
fn ten_thousand_frames_of_64_peers_take_no_memory() {
    let mut office = Office::new();
    let frames = volume(500, 10_000);
    // Until every buffer has had its largest size.
    (0..10).for_each(|number| office.frame(number, true));
    let before = office.server.1.messages;
    let info = measure(|| (10..10 + frames).for_each(|number| office.frame(number, false)));
    assert_eq!(info.count_total, 0, "{} bytes", info.bytes_total);
    let handled = office.server.1.messages - before;
    let at_clients: u64 = office.clients.iter().map(|(_, sum, ..)| sum.messages).sum();
    assert!(handled > frames * 64 && at_clients > frames * 64 * 2, "{handled} {at_clients}");
    assert_eq!(office.server.0.faults().total(), 0);
    say(&format!("{frames} frames, {handled} messages handled by the server, 0 allocations"));
}
