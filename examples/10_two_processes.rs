//! Two processes over encrypted UDP: a client connects with a token, chats, gets points, and
//! leaves.

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use tightwire::message::{MessengerBuilder, SendError};
use tightwire::quic::{Certificate, Quic, QuicConfig, Trust, Udp};
use tightwire::token::{Claims, SealedToken, TokenGate, TokenKey};
use tightwire::transport::Reason;
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire};

#[derive(Wire, Message, Default)]
struct Chat {
    #[wire(max_len = 120)]
    text: String,
}

#[derive(Wire, Message, Default)]
struct Score {
    #[wire(range = 0..=1000)]
    points: u16,
}

/// Sends a point for each letter of a line.
fn on_chat(chat: &Chat, context: &mut Context<'_, u16>) -> Result<(), SendError> {
    let (sender, points) = (context.sender(), chat.text.len() as u16);
    println!("server: {sender} says {:?}", chat.text);
    context.send(sender, &Score { points }, Delivery::ReliableOrdered)
}

/// Registers the messages of both sides. The state is the client's points.
fn messages(builder: MessengerBuilder<u16>) -> MessengerBuilder<u16> {
    let on_score = |score: &Score, context: &mut Context<'_, u16>| *context.state += score.points;
    builder.handle(on_chat).handle(on_score)
}

fn main() -> Result<(), Box<dyn Error>> {
    match &env::args().collect::<Vec<_>>()[..] {
        [_, address, fingerprint, token] => client(address, fingerprint, token),
        _ => server(),
    }
}

fn server() -> Result<(), Box<dyn Error>> {
    let certificate = Certificate::self_signed(["localhost"])?;
    let socket = Udp::server("127.0.0.1:0".parse()?)?;
    let transport = Quic::listen(socket, &certificate, QuicConfig::default())?;
    let (address, fingerprint) = (transport.address(), certificate.fingerprint());
    let key = TokenKey::generate()?;
    // The game's backend mints a token when a player wants to play.
    let unix_now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let token = key.mint(&Claims::new(7, "eu-west-3", unix_now, Duration::from_secs(60)))?;
    let mut server = Server::builder(SessionConfig::new("arena", "1.0"))
        .register(messages)
        .with_tokens(TokenGate::new(vec![key], "eu-west-3"))
        .build(transport)?;
    let mut process = Command::new(env::current_exe()?)
        .args([address.to_string(), fingerprint.to_string(), token.to_string()])
        .spawn()?;
    let (mut points, start) = (0, Instant::now());
    let mut has_left = false;
    while !has_left && process.try_wait()?.is_none_or(|status| status.success()) {
        server.receive(start.elapsed(), &mut points);
        while let Some(event) = server.poll_event() {
            match event {
                SessionEvent::Disconnected { reason: Reason::Left, .. } => has_left = true,
                SessionEvent::Disconnected { reason, .. } => return Err(reason.into()),
                event => println!("server: {event:?}"),
            }
        }
        server.transmit(start.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    process.wait()?.success().then_some(()).ok_or("the client failed".into())
}

fn client(address: &str, fingerprint: &str, token: &str) -> Result<(), Box<dyn Error>> {
    let (address, trust) = (address.parse()?, Trust::Pinned(vec![fingerprint.parse()?]));
    let (mut points, config, start) = (0, QuicConfig::default(), Instant::now());
    let socket = Udp::client(address)?;
    let transport = Quic::connect(socket, address, "localhost", &trust, config, start.elapsed())?;
    let mut client = Client::builder(SessionConfig::new("arena", "1.0"))
        .register(messages)
        .token(token.parse::<SealedToken>()?.as_bytes())
        .build(transport)?;
    while points == 0 {
        client.receive(start.elapsed(), &mut points);
        while let Some(event) = client.poll_event() {
            match event {
                SessionEvent::Connected { .. } => {
                    let chat = Chat { text: "hello".into() };
                    client.send(&chat, Delivery::Reliable)?;
                }
                SessionEvent::Disconnected { reason, .. } => return Err(reason.into()),
                _ => {}
            }
        }
        client.transmit(start.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    println!("client: {points} points");
    assert_eq!(points, 5);
    client.disconnect(start.elapsed());
    // Goes on for a second, since the packet with the farewell may get lost.
    let end = start.elapsed() + Duration::from_secs(1);
    while start.elapsed() < end {
        client.receive(start.elapsed(), &mut points);
        client.transmit(start.elapsed());
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
