//! Single player: the server runs in a thread of its own, the game in another, connected by queues.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tightwire::message::{MessengerBuilder, SendError};
use tightwire::transport::InProcess;
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire};

#[derive(Wire, Message, Default)]
struct Chat {
    #[wire(max_len = 120)]
    text: String,
}

/// Sends a line back to its author.
fn relay(chat: &Chat, context: &mut Context<'_, Vec<String>>) -> Result<(), SendError> {
    context.send(context.sender(), chat, Delivery::Reliable)
}

fn read(chat: &Chat, context: &mut Context<'_, Vec<String>>) {
    context.state.push(chat.text.clone());
}

/// Runs the game until its own line has come back.
fn play(
    client: &mut Client<Vec<String>, InProcess>,
    start: Instant,
    lines: &mut Vec<String>,
) -> Result<(), SendError> {
    while lines.is_empty() && start.elapsed() < Duration::from_secs(10) {
        client.receive(start.elapsed(), lines);
        while let Some(event) = client.poll_event() {
            if let SessionEvent::Connected { .. } = event {
                client.send(&Chat { text: "hello".into() }, Delivery::Reliable)?;
            }
        }
        client.transmit(start.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (client_end, server_end) = InProcess::pair();
    let config = SessionConfig::new("arena", "1.0");
    let on_server = |messages: MessengerBuilder<_>| messages.handle(relay);
    let on_client = |messages: MessengerBuilder<_>| messages.handle(read);
    let mut server =
        Server::builder(config.clone()).register(on_server).open_to_anyone().build(server_end)?;
    let mut client = Client::builder(config).register(on_client).build(client_end)?;

    let start = Instant::now();
    let is_over = AtomicBool::new(false);
    let mut lines = Vec::new();
    let played = thread::scope(|scope| {
        scope.spawn(|| {
            let mut state = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                server.receive(start.elapsed(), &mut state);
                while server.poll_event().is_some() {}
                server.transmit(start.elapsed());
                thread::sleep(Duration::from_millis(2));
            }
        });
        let played = play(&mut client, start, &mut lines);
        is_over.store(true, Ordering::Relaxed);
        played
    });
    played?;
    println!("{lines:?}");
    assert_eq!(lines, ["hello"]);
    Ok(())
}
