//! A chat and a score board: messages between a server and two players, frame by frame.

use std::time::Duration;

use tightwire::message::{Messenger, MessengerConfig, SendError};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Chat {
    #[wire(max_len = 120)]
    text: String,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Score {
    #[wire(range = 0..=1000)]
    points: u16,
}

#[derive(Default)]
struct Server {
    lines: Vec<String>,
}

/// Broadcasts a line to the other players, and a point for each letter to all.
fn chat_on_server(chat: &Chat, context: &mut Context<'_, Server>) -> Result<(), SendError> {
    let sender = context.sender();
    context.state.lines.push(format!("{sender}: {}", chat.text));
    context.broadcast(Some(sender), chat, Delivery::ReliableOrdered)?;
    let score = Score { points: chat.text.len() as u16 };
    context.broadcast(None, &score, Delivery::UnreliableSequenced)?;
    Ok(())
}

#[derive(Default, Debug)]
struct Player {
    read: Vec<String>,
    points: u16,
}

fn player() -> Result<Messenger<Player>, tightwire::message::RegistryError> {
    Messenger::builder(MessengerConfig::default())
        .handle(|chat: &Chat, context: &mut Context<'_, Player>| {
            context.state.read.push(chat.text.clone());
        })
        .handle(|score: &Score, context: &mut Context<'_, Player>| {
            context.state.points += score.points;
        })
        .build()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Messenger::builder(MessengerConfig::default())
        .handle(chat_on_server)
        .send_only::<Score>()
        .build()?;
    let mut state = Server::default();
    // Messenger, state, id at the server, and the server's id at the player.
    let mut players: Vec<(Messenger<Player>, Player, PeerId, PeerId)> = Vec::new();
    for _ in 0..2 {
        let mut messenger = player()?;
        let to_server = messenger.add_peer(1200);
        players.push((messenger, Player::default(), server.add_peer(1200), to_server));
    }

    for (frame, text) in (0..).zip(["hello", "anybody here?", "gg"]) {
        let now = Duration::from_millis(frame * 16);
        // The players talk in turns. The loop is the transport here.
        let (messenger, _me, id, to_server) = &mut players[frame as usize % 2];
        messenger.begin_frame(now);
        let chat = Chat { text: text.into() };
        messenger.send(*to_server, &chat, Delivery::ReliableOrdered)?;
        messenger.end_frame(|_, delivery, batch| {
            println!("to the server: {} bytes, {delivery:?}", batch.len());
            let _ = server.receive(*id, delivery, batch, now);
            Ok(())
        });
        server.begin_frame(now);
        Stage::ALL.into_iter().for_each(|stage| server.run_stage(stage, &mut state));
        server.end_frame(|to, delivery, batch| {
            println!("to {to}: {} bytes, {delivery:?}", batch.len());
            for (messenger, me, id, from) in players.iter_mut().filter(|player| player.2 == to) {
                let _ = (messenger.receive(*from, delivery, batch, now), id);
                messenger.run_stage(Stage::Update, me);
            }
            Ok(())
        });
    }

    println!("{:?}", state.lines);
    assert_eq!(state.lines, ["peer 0: hello", "peer 1: anybody here?", "peer 0: gg"]);
    assert_eq!(players[0].1.read, ["anybody here?"]);
    assert_eq!(players[1].1.read, ["hello", "gg"]);
    assert_eq!((players[0].1.points, players[1].1.points), (20, 20));
    assert_eq!(server.faults().total(), 0);
    Ok(())
}
