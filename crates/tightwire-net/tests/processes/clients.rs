//! A server and clients in processes of their own, over UDP on this machine.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use tightwire::message::{MessengerBuilder, SendError};
use tightwire::quic::{Certificate, Quic, QuicConfig, Trust, Udp};
use tightwire::token::{Claims, SealedToken, TokenError, TokenGate, TokenKey};
use tightwire::transport::Reason;
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire};

use crate::alone;

#[derive(Wire, Message, Default, Clone)]
struct Chat {
    #[wire(max_len = 120)]
    text: String,
}

#[derive(Wire, Message, Default, Clone)]
struct Score {
    #[wire(range = 0..=1000)]
    points: u16,
}

#[derive(Wire, Message, Default, Clone)]
struct Player {
    #[wire(range = 0..=100)]
    health: u8,
}

/// As it was in another version.
#[derive(Wire, Message, Default, Clone)]
#[message(name = "Player")]
struct OtherPlayer {
    #[wire(range = 0..=200)]
    health: u8,
}

#[derive(Default)]
struct Game {
    read: Vec<String>,
    points: u16,
}

fn on_chat(chat: &Chat, context: &mut Context<'_, Game>) -> Result<(), SendError> {
    context.state.read.push(chat.text.clone());
    let (sender, points) = (context.sender(), chat.text.len() as u16);
    context.send(sender, &Score { points }, Delivery::ReliableOrdered)
}

fn messages(builder: MessengerBuilder<Game>) -> MessengerBuilder<Game> {
    let on_score = |score: &Score, context: &mut Context<'_, Game>| {
        context.state.points += score.points;
    };
    builder.handle(on_chat).handle(on_score)
}

/// Environment variable with a client's orders.
const CLIENT_ORDERS: &str = "TIGHTWIRE_TEST_CLIENT";

struct TestBed {
    server: Server<Game, Quic<Udp>>,
    game: Game,
    start: Instant,
    fingerprint: String,
    key: TokenKey,
}

/// Outcome of a client at both ends.
#[derive(PartialEq, Debug)]
struct ClientOutcome {
    server: Vec<String>,
    client: String,
}

impl TestBed {
    fn new() -> Self {
        let certificate = Certificate::self_signed(["localhost"]).unwrap();
        let socket = Udp::server("127.0.0.1:0".parse().unwrap()).unwrap();
        let transport = Quic::listen(socket, &certificate, QuicConfig::default()).unwrap();
        let key = TokenKey::generate().unwrap();
        let server = Server::builder(SessionConfig { max_clients: 1, ..config("1.0") })
            .register(messages)
            .send_only::<Player>()
            .with_tokens(TokenGate::new(vec![key.clone()], "eu-west-3"))
            .build(transport)
            .unwrap();
        let fingerprint = certificate.fingerprint().to_string();
        Self { server, game: Game::default(), start: Instant::now(), fingerprint, key }
    }

    fn token(&self, seconds: u64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let minted = now - Duration::from_secs(10);
        let claims = Claims::new(7, "eu-west-3", minted, Duration::from_secs(10 + seconds));
        self.key.mint(&claims).unwrap().to_string()
    }

    /// Runs a client process until it has ended, and a moment more.
    fn run(&mut self, fingerprint: &str, token: &str, order: &str) -> ClientOutcome {
        let address = self.server.transport().address();
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "clients::client_process", "--ignored", "--nocapture"])
            .env(CLIENT_ORDERS, format!("{address} {fingerprint} {token} {order}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let waiting = thread::spawn(move || child.wait_with_output().unwrap());
        let (mut events, mut moment) = (Vec::new(), 10);
        while moment > 0 {
            self.server.receive(self.start.elapsed(), &mut self.game);
            self.server.transmit(self.start.elapsed());
            while let Some(event) = self.server.poll_event() {
                events.push(match event {
                    SessionEvent::Connected { client, .. } => format!("client {client} connected"),
                    SessionEvent::Disconnected { reason, .. } => format!("disconnected: {reason}"),
                    SessionEvent::Refused { reason, .. } => format!("refused: {reason}"),
                    other => format!("{other:?}"),
                });
            }
            moment -= i32::from(waiting.is_finished());
            thread::sleep(Duration::from_millis(2));
        }
        let output = String::from_utf8(waiting.join().unwrap().stdout).unwrap();
        let line = output.lines().find_map(|line| line.split_once("client: "));
        ClientOutcome { server: events, client: line.expect(&output).1.into() }
    }
}

fn config(version: &str) -> SessionConfig {
    SessionConfig::new("arena", version)
}

/// Not a test by itself: a client as others want it.
#[test]
#[ignore = "runs as a process of the other tests"]
fn client_process() {
    let Ok(orders) = env::var(CLIENT_ORDERS) else { return };
    let mut orders = orders.split(' ');
    let mut next = || orders.next().unwrap();
    let address = next().parse().unwrap();
    let trust = Trust::Pinned(vec![next().parse().unwrap()]);
    let (token, order, start) = (next(), next(), Instant::now());
    let socket = Udp::client(address).unwrap();
    let now = start.elapsed();
    let transport =
        Quic::connect(socket, address, "localhost", &trust, QuicConfig::default(), now).unwrap();
    let builder = Client::builder(config("1.0")).register(messages);
    let builder = match order {
        "other" => builder.send_only::<OtherPlayer>(),
        _ => builder.send_only::<Player>(),
    };
    let builder = match token {
        "-" => builder,
        _ => builder.token(token.parse::<SealedToken>().unwrap().as_bytes()),
    };
    let mut client = builder.build(transport).unwrap();
    let mut game = Game::default();
    while game.points == 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
        client.receive(start.elapsed(), &mut game);
        client.transmit(start.elapsed());
        match client.poll_event() {
            Some(SessionEvent::Connected { .. }) => {
                let chat = Chat { text: "hello".into() };
                client.send(&chat, Delivery::Reliable).unwrap();
            }
            Some(SessionEvent::Disconnected { reason, .. }) => {
                println!("client: {reason}");
                return;
            }
            _ => thread::sleep(Duration::from_millis(2)),
        }
    }
    println!("client: {} points", game.points);
    client.disconnect(start.elapsed());
}

#[test]
fn a_session_from_connect_to_disconnect() {
    let _alone = alone();
    let mut test_bed = TestBed::new();
    let (fingerprint, token) = (test_bed.fingerprint.clone(), test_bed.token(60));
    let outcome = test_bed.run(&fingerprint, &token, "talk");
    assert_eq!(outcome.client, "5 points");
    assert_eq!(
        outcome.server,
        ["client 7 connected".into(), format!("disconnected: {}", Reason::Left)]
    );
    assert_eq!(test_bed.game.read, ["hello"]);
}

#[test]
fn each_refusal_has_its_reason_on_both_ends() {
    let _alone = alone();
    let mut test_bed = TestBed::new();
    let fingerprint = test_bed.fingerprint.clone();
    let refused = |reason: Reason| ClientOutcome {
        server: vec![format!("refused: {reason}")],
        client: reason.to_string(),
    };

    let other = TestBed::new().token(60);
    let outcome = test_bed.run(&fingerprint, &other, "talk");
    assert_eq!(outcome, refused(Reason::Token(TokenError::NotGenuine)), "wrong key");

    let expired = test_bed.token(0);
    let outcome = test_bed.run(&fingerprint, &expired, "talk");
    assert_eq!(outcome, refused(Reason::Token(TokenError::Expired)));

    let outcome = test_bed.run(&fingerprint, "-", "talk");
    assert_eq!(outcome, refused(Reason::Token(TokenError::Missing)));

    let used = test_bed.token(60);
    assert_eq!(test_bed.run(&fingerprint, &used, "talk").client, "5 points");
    let outcome = test_bed.run(&fingerprint, &used, "talk");
    assert_eq!(outcome, refused(Reason::Token(TokenError::Used)));

    let wrong = "11".repeat(32);
    let token = test_bed.token(60);
    let ClientOutcome { server, client } = test_bed.run(&wrong, &token, "talk");
    println!("wrong certificate: {client}\n{server:?}");
    let start = Reason::certificate("").to_string();
    assert!(client.starts_with(&start) && client.contains(&wrong), "{client}");
    assert!(client.contains(&fingerprint), "{client}");
    assert!(server[0].contains(&start), "{server:?}");

    let ClientOutcome { server, client } = test_bed.run(&fingerprint, &token, "other");
    let [here, there] = ["0..=100 (7 bits)", "0..=200 (8 bits)"];
    let of = |here, there| format!("Player.health: range {here} here, {there} there");
    assert!(
        client.starts_with("protocol mismatch") && client.contains(&of(there, here)),
        "{client}"
    );
    assert!(server[0].contains(&of(here, there)), "{server:?}");
}

#[test]
fn a_full_server_says_so_and_takes_the_same_token_later() {
    let _alone = alone();
    let mut test_bed = TestBed::new();
    let fingerprint = test_bed.fingerprint.clone();
    // One who stays, in this process.
    let address = test_bed.server.transport().address();
    let trust = Trust::Pinned(vec![fingerprint.parse().unwrap()]);
    let (socket, config_of) = (Udp::client(address).unwrap(), QuicConfig::default());
    let transport =
        Quic::connect(socket, address, "localhost", &trust, config_of, Duration::ZERO).unwrap();
    let token = test_bed.token(60).parse::<SealedToken>().unwrap();
    let mut client = Client::builder(config("1.0"))
        .register(messages)
        .send_only::<Player>()
        .token(token.as_bytes())
        .build(transport)
        .unwrap();
    while test_bed.server.peers().next().is_none() {
        test_bed.server.receive(test_bed.start.elapsed(), &mut test_bed.game);
        test_bed.server.transmit(test_bed.start.elapsed());
        client.receive(test_bed.start.elapsed(), &mut Game::default());
        client.transmit(test_bed.start.elapsed());
        thread::sleep(Duration::from_millis(1));
        assert!(test_bed.start.elapsed() < Duration::from_secs(20));
    }
    let _ = test_bed.server.poll_event();
    let token = test_bed.token(60);
    let outcome = test_bed.run(&fingerprint, &token, "talk");
    let refused = format!("refused: {}", Reason::Full);
    assert_eq!(outcome, ClientOutcome { server: vec![refused], client: Reason::Full.to_string() });
    client.disconnect(test_bed.start.elapsed());
    let outcome = test_bed.run(&fingerprint, &token, "talk");
    assert_eq!(outcome.client, "5 points", "{outcome:?}");
}
