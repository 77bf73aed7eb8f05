//! Servers and clients: admission, messages, and the ends of connections.

use std::time::Duration;

use tightwire::message::{InternalBatch, MessengerConfig, SendError};
use tightwire::session::SessionError;
use tightwire::snapshot;
use tightwire::token::TokenError;
use tightwire::transport::{Connection, Reason, Transport};
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Delivery, Wire};

use crate::common::game::{
    Count, Level, Numbers, ReceivedMessages, client, client_of, config, messages, server,
    server_of, settle,
};
use crate::common::net::{End, Net};

#[test]
fn a_client_with_a_token_is_connected_and_messages_of_every_delivery_go_both_ways() {
    for is_overtaking in [false, true] {
        let net = Net::default();
        if is_overtaking {
            net.overtake();
        }
        let (mut server, mut client) = (server(config(), &net), client("42", &net));
        let refused = client.session.send(&Count(1), Delivery::Reliable);
        assert!(matches!(refused, Err(SendError::UnknownPeer(_))));
        // Both send as soon as they can, so that everything that can be overtaken is.
        let (mut greeted, mut answered) = (false, false);
        for _ in 0..6 {
            server.tick(0);
            if let (false, [peer]) = (greeted, &server.connected()[..]) {
                let peer = *peer;
                greeted = true;
                for delivery in Delivery::ALL {
                    server.chat(peer, &format!("{delivery:?}"), delivery);
                }
            }
            client.tick(0);
            if !answered && client.session.server().is_some() {
                answered = true;
                for delivery in Delivery::ALL {
                    client.chat(&format!("{delivery:?}"), delivery);
                }
                let level = Level { data: vec![7; 5000] };
                let route = Delivery::ReliableOrderedFragmented;
                client.session.send(&level, route).unwrap();
            }
        }
        let SessionEvent::Connected { client: number, user_data, address, .. } = &server.events[0]
        else {
            panic!("{:?}", server.events);
        };
        assert_eq!((*number, &user_data[..]), (42, &b"42"[..]));
        assert!(address.is_some());
        assert!(matches!(client.events[0], SessionEvent::Connected { client: 42, .. }));
        assert_eq!((server.events.len(), client.events.len()), (1, 1), "{:?}", server.events);
        let mut all: Vec<_> =
            Delivery::ALL.iter().map(|delivery| format!("{delivery:?}")).collect();
        assert_eq!(client.received.texts(), all);
        all.push("level of 5000".into());
        assert_eq!(server.received.texts(), all);
        assert_eq!(server.session.messenger().faults().total(), 0);
    }
}

#[test]
fn both_ends_get_the_reason_of_a_refusal() {
    let net = Net::default();
    let limits = SessionConfig { max_clients: 1, ..config() };
    let mut server = server(limits, &net);
    let mut first = client("1", &net);
    settle(&mut server, &mut [&mut first], 0);
    assert_eq!(server.session.peers().count(), 1);
    let mut expected = Vec::new();
    for (token, reason) in [
        ("", Reason::Token(TokenError::Missing)),
        ("x", Reason::Token(TokenError::NotGenuine)),
        ("1", Reason::Token(TokenError::Used)),
        ("2", Reason::Full),
    ] {
        let mut next = client(token, &net);
        settle(&mut server, &mut [&mut next], 0);
        expected.push(reason.to_string());
        assert_eq!(next.reasons(), [reason.to_string()]);
        assert_eq!(server.reasons(), expected);
        assert!(matches!(next.events[0], SessionEvent::Disconnected { peer: None, .. }));
    }
    // The token was not used up.
    first.session.disconnect(Duration::ZERO);
    let mut next = client("2", &net);
    settle(&mut server, &mut [&mut first, &mut next], 0);
    assert_eq!(server.session.peers().count(), 1);
    assert_eq!(server.connected().len(), 2);
    assert_eq!(server.reasons().last().unwrap(), "the client disconnected");

    server.session.shut_down(Duration::ZERO);
    next.tick(0);
    assert_eq!(next.reasons(), ["the server is shutting down"]);
    assert_eq!(server.session.peers().count(), 0);
}

#[test]
fn clients_without_a_valid_hello_are_refused() {
    let net = Net::default();
    let mut server = server(config(), &net);
    let (mut silent, mut rude, mut wrong) = (net.client(), net.client(), net.client());
    let [loud, other] = [&rude, &wrong].map(|end| Connection(end.connection.unwrap()));
    server.tick(0);
    rude.send(loud, Delivery::Unreliable, &[5, 0, 16, 4, 0, 0, 0]).unwrap();
    let mut batch = Vec::new();
    InternalBatch::write(0, &9_u8, &mut batch).unwrap();
    wrong.send(other, InternalBatch::DELIVERY, &batch).unwrap();
    server.tick(4_999);
    let refused = [
        "protocol violation: message before Welcome",
        "protocol mismatch: session format: 3 here, 9 there",
    ];
    assert_eq!(server.reasons(), refused);
    server.tick(5_000);
    assert_eq!(server.reasons().len(), 3);
    let reason = |end: &mut End| {
        end.handle_input(Duration::ZERO);
        std::iter::from_fn(|| match end.poll_event()? {
            tightwire::transport::Event::Disconnected { reason, .. } => Some(Some(reason)),
            _ => Some(None),
        })
        .flatten()
        .next()
        .unwrap()
    };
    assert_eq!(reason(&mut silent), Reason::TimedOut);
    assert_eq!(reason(&mut rude), Reason::violation("message before Welcome"));
    assert_eq!(reason(&mut wrong), Reason::mismatch("session format: 9 here, 3 there"));

    // A server that does not answer.
    let mut client = client("1", &Net::default());
    client.tick(0);
    client.tick(5_000);
    assert_eq!(client.reasons(), [Reason::TimedOut.to_string()]);
}

mod other {
    use tightwire::{Message, Wire};

    #[derive(Wire, Message, Default)]
    pub(crate) struct Pleyer {
        #[wire(range = 0..=100)]
        pub(crate) health: u8,
    }

    #[derive(Wire, Message, Default)]
    pub(crate) struct Player {
        #[wire(range = 0..=200)]
        pub(crate) health: u8,
    }
}

#[derive(Wire, tightwire::Message, Default)]
struct Player {
    #[wire(range = 0..=100)]
    health: u8,
}

#[derive(Wire, tightwire::Message, Default)]
struct Avatar {
    #[wire(range = 0..=100)]
    health: u8,
}

#[test]
fn each_end_gets_the_mismatch_from_its_own_view() {
    let connect = |ours: SessionConfig, theirs: SessionConfig, kind: usize| {
        let net = Net::default();
        let server = Server::<ReceivedMessages, End>::builder(ours).send_only::<Player>();
        let server = server.with_tokens(Numbers::default());
        let mut server = server_of(server, &net);
        let client = Client::<ReceivedMessages, End>::builder(theirs).token(b"1");
        let client = match kind {
            0 => client.send_only::<Player>(),
            1 => client.send_only::<other::Player>(),
            2 => client.send_only::<other::Pleyer>(),
            _ => client.send_only::<Avatar>(),
        };
        let mut client = client_of(client, &net);
        settle(&mut server, &mut [&mut client], 0);
        assert_eq!((server.events.len(), client.events.len()), (1, 1), "{:?}", server.events);
        [server.reasons().remove(0), client.reasons().remove(0)]
    };
    let said =
        |here: &str, there: &str| [here, there].map(|text| Reason::mismatch(text).to_string());
    assert_eq!(
        connect(config(), config(), 1),
        said(
            "Player.health: range 0..=100 (7 bits) here, 0..=200 (8 bits) there",
            "Player.health: range 0..=200 (8 bits) here, 0..=100 (7 bits) there",
        )
    );
    // The same for snapshots: a field of a class, and a setting.
    let with = |protocol: &snapshot::Protocol| config().with_snapshots(protocol);
    let builder = |ticks_per_second| {
        let config = snapshot::Config { ticks_per_second, ..snapshot::Config::default() };
        snapshot::Protocol::builder(config)
    };
    let ours = builder(60).class::<Player>().class::<u8>().build().unwrap();
    let theirs = builder(60).class::<other::Player>().class::<u8>().build().unwrap();
    assert_eq!(
        connect(with(&ours), with(&theirs), 0),
        said(
            "Player.health: range 0..=100 (7 bits) here, 0..=200 (8 bits) there",
            "Player.health: range 0..=200 (8 bits) here, 0..=100 (7 bits) there",
        )
    );
    let theirs = builder(30).class::<Player>().class::<u16>().build().unwrap();
    assert_eq!(
        connect(with(&ours), with(&theirs), 0),
        said(
            "ticks_per_second: 60 here, 30 there; u8: only here: class 1; u16: only there: class 1",
            "ticks_per_second: 30 here, 60 there; u16: only here: class 1; u8: only there: class 1",
        )
    );
    assert_eq!(
        connect(with(&ours), config(), 0),
        said("snapshots: only here", "snapshots: only there")
    );
    let limits = MessengerConfig { channels: 8, max_fragmented: 1000, ..Default::default() };
    let newer = SessionConfig { version: "1.1".into(), messenger: limits, ..config() };
    assert_eq!(
        connect(config(), newer, 0),
        said(
            "version: \"1.0\" here, \"1.1\" there; channels: 16 here, 8 there; \
             max_fragmented: 1048576 here, 1000 there",
            "version: \"1.1\" here, \"1.0\" there; channels: 8 here, 16 there; \
             max_fragmented: 1000 here, 1048576 there",
        )
    );
    assert_eq!(
        connect(config(), config(), 2),
        said(
            "Player: called `Pleyer` there, and names decide the numbers",
            "Pleyer: called `Player` there, and names decide the numbers",
        )
    );
    let [here, there] = connect(config(), config(), 3);
    println!("{here}\n{there}");
    assert!(here.contains("Player") && here.contains("Avatar"), "{here}");
    assert!(there.contains("Player") && there.contains("Avatar"), "{there}");
}

#[test]
fn kicked_peers_have_their_last_messages_handled() {
    let net = Net::default();
    let (mut server, mut one, mut two) =
        (server(config(), &net), client("1", &net), client("2", &net));
    settle(&mut server, &mut [&mut one, &mut two], 0);
    let [first, second] = server.connected()[..] else { panic!("{:?}", server.events) };
    one.chat("kick me", Delivery::Reliable);
    one.tick(1);
    server.tick(1);
    one.tick(1);
    assert_eq!(one.reasons(), ["kicked: as you wish"]);
    assert_eq!(server.reasons(), ["kicked: as you wish"]);
    assert_eq!(server.session.stats(first), None);
    server.session.kick(second, "and you");
    two.tick(2);
    assert_eq!(two.reasons(), ["kicked: and you"]);

    let mut three = client("3", &net);
    settle(&mut server, &mut [&mut three], 3);
    server.received.texts.clear();
    three.chat("farewell", Delivery::Unreliable);
    three.session.transmit(Duration::ZERO);
    three.session.disconnect(Duration::ZERO);
    server.session.handle_input(Duration::from_millis(4));
    // Not before its last messages were handled.
    assert_eq!(server.session.poll_event(), None);
    server.tick(5);
    assert_eq!(server.received.texts(), ["farewell"]);
    assert_eq!(server.reasons().last().unwrap(), "the client disconnected");
}

#[test]
fn the_mtu_of_the_path_limits_messages() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("1", &net));
    settle(&mut server, &mut [&mut client], 0);
    let mut level = Level { data: vec![7; 1000] };
    client.session.send(&level, Delivery::Reliable).unwrap();
    settle(&mut server, &mut [&mut client], 0);
    net.set_mtu(500);
    settle(&mut server, &mut [&mut client], 0);
    let sent = client.session.send(&level, Delivery::Reliable);
    assert!(matches!(sent, Err(SendError::TooLarge { limit: 493, .. })), "{sent:?}");
    net.set_mtu(1400);
    settle(&mut server, &mut [&mut client], 0);
    level.data.resize(1300, 7);
    client.session.send(&level, Delivery::Reliable).unwrap();
    settle(&mut server, &mut [&mut client], 0);
    assert_eq!(server.received.texts(), ["level of 1000", "level of 1300"]);
}

#[test]
fn ten_thousand_reliable_messages_in_one_frame_all_arrive() {
    let net = Net::default();
    let limits = MessengerConfig { send_queue: 1000, ..Default::default() };
    let limits = SessionConfig { messenger: limits, ..config() };
    let mut server = server(limits.clone(), &net);
    let mut clients = [1, 2, 3].map(|token| {
        let token = format!("{token}");
        let builder = Client::<_, End>::builder(limits.clone()).token(token.as_bytes());
        client_of(builder, &net)
    });
    for _ in 0..4 {
        server.tick(0);
        clients.iter_mut().for_each(|client| client.tick(0));
    }
    for delivery in &Delivery::ALL[2..] {
        server.received.counts.clear();
        for client in &mut clients {
            for count in 0..10_000 {
                client.session.send(&Count(count), *delivery).unwrap();
            }
            client.tick(0);
        }
        let mut ticks = 0;
        while server.received.counts.len() < 30_000 {
            server.tick(0);
            ticks += 1;
            assert!(ticks < 100, "{}", server.received.counts.len());
        }
        println!("{delivery:?}: 3 × 10,000 messages in {ticks} ticks");
        server.received.counts.sort_unstable();
        assert!(server.received.counts.iter().enumerate().all(|(i, count)| *count == i as u32 / 3));
    }
    assert_eq!(server.session.messenger().faults().total(), 0);
}

#[test]
fn a_peer_that_does_not_keep_up_loses_unreliable_messages_then_is_refused_then_leaves() {
    let net = Net::default();
    let limits =
        SessionConfig { max_backlog: 60_000, stall_timeout: Duration::from_secs(2), ..config() };
    let (mut server, mut slow, mut good) =
        (server(limits, &net), client("1", &net), client("2", &net));
    settle(&mut server, &mut [&mut slow, &mut good], 0);
    let [peer, _] = server.connected()[..] else { panic!("{:?}", server.events) };
    net.stick(slow.session.transport().connection.unwrap(), true);
    let level = Level { data: vec![7; 5000] };
    let fragmented = Delivery::ReliableOrderedFragmented;
    let (mut steps, mut most, mut first_drop, mut first_refusal) = (0, 0, None, None);
    while server.reasons().is_empty() {
        steps += 1;
        assert!(steps < 200);
        let count = Count(steps);
        let unreliable = Delivery::Unreliable;
        let sent = server.session.broadcast(None, &count, unreliable);
        let large = server.session.broadcast(None, &level, fragmented);
        if sent.unwrap().refused + large.unwrap().refused > 0 && first_refusal.is_none() {
            first_refusal = Some(steps);
        }
        server.tick(u64::from(steps) * 100);
        good.tick(u64::from(steps) * 100);
        if let Some(report) = server.session.stats(peer) {
            most = most.max(report.path.backlog);
            if report.batches_dropped > 0 && first_drop.is_none() {
                first_drop = Some(steps);
            }
        }
    }
    println!(
        "unreliable dropped from step {first_drop:?}, refused from {first_refusal:?}, at most {most} \
         bytes waited, disconnected at {steps}"
    );
    assert_eq!(server.reasons(), ["disconnected: the backlog did not shrink in time"]);
    assert!(first_drop < first_refusal && first_refusal < Some(steps));
    assert!(most < 60_000 + 2 * 5100, "{most}");
    assert_eq!(good.received.counts.len(), steps as usize, "nobody else is harmed");
    net.stick(slow.session.transport().connection.unwrap(), false);
    slow.tick(0);
    assert_eq!(slow.reasons(), ["disconnected: the backlog did not shrink in time"]);

    // Batches that the transport cannot take wait as long.
    let mut third = client("3", &net);
    settle(&mut server, &mut [&mut third], 30_000);
    net.stick(third.session.transport().connection.unwrap(), true);
    net.set_capacity(4000);
    let peer = *server.connected().last().unwrap();
    server.session.send(peer, &level, fragmented).unwrap();
    server.tick(30_001);
    server.tick(30_002);
    server.tick(32_001);
    assert_eq!(server.reasons().len(), 1);
    server.tick(32_002);
    assert_eq!(server.reasons().len(), 2);
    assert_eq!(server.session.peers().count(), 1);
}

#[test]
fn schema_requests_are_answered_once_a_second() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("1", &net));
    settle(&mut server, &mut [&mut client], 0);
    let peer = server.connected()[0];
    server.session.request_schema(peer);
    client.session.request_schema();
    settle(&mut server, &mut [&mut client], 0);
    let schema = |event: &SessionEvent| match event {
        SessionEvent::Schema { identity, .. } => Some(identity.clone()),
        _ => None,
    };
    let ours: Vec<_> = server.events.iter().filter_map(schema).collect();
    let theirs: Vec<_> = client.events.iter().filter_map(schema).collect();
    assert_eq!((ours.len(), theirs.len()), (1, 1));
    assert_eq!(ours[0], theirs[0]);
    assert_eq!((ours[0].game(), ours[0].version()), ("arena", "1.0"));
    assert_eq!(ours[0].schema(), &server.session.messenger().schema().unwrap());
    client.session.request_schema();
    settle(&mut server, &mut [&mut client], 999);
    assert_eq!(client.events.iter().filter_map(schema).count(), 1);
    settle(&mut server, &mut [&mut client], 1000);
    assert_eq!(client.events.iter().filter_map(schema).count(), 2);
    assert_eq!(server.reasons(), Vec::<String>::new());
}

#[test]
fn a_report_has_the_path_and_the_traffic_of_each_type() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("1", &net));
    settle(&mut server, &mut [&mut client], 0);
    let peer = server.connected()[0];
    server.chat(peer, "hello", Delivery::Reliable);
    client.session.send(&Count(3), Delivery::Unreliable).unwrap();
    settle(&mut server, &mut [&mut client], 0);
    let report = server.session.stats(peer).unwrap();
    assert_eq!(report.path.max_datagram, 1200);
    let traffic: Vec<_> = report
        .messages
        .iter()
        .map(|stats| (stats.message, stats.sent.bytes, stats.received.bytes))
        .collect();
    assert_eq!(traffic, [("Chat", 11, 0), ("Count", 0, 9), ("Level", 0, 0)]);
    assert_eq!((report.stats.sent.messages, report.stats.received.messages), (1, 1));
    assert_eq!(client.session.stats().unwrap().stats.received.bytes, 11);
}

#[test]
fn a_server_needs_an_admission_and_valid_limits() {
    let net = Net::default();
    let builder = || Server::<ReceivedMessages, End>::builder(config()).register(messages);
    let error = builder().build(net.server()).unwrap_err();
    assert_eq!(error, SessionError::NoAdmission);
    assert!(error.to_string().contains("open_to_anyone"));
    let mut server =
        crate::common::game::Side::new(builder().open_to_anyone().build(net.server()).unwrap());
    let mut clients = [client("", &net), client("anything", &net)];
    let [one, two] = &mut clients;
    settle(&mut server, &mut [one, two], 0);
    let number = |event: &SessionEvent| match event {
        SessionEvent::Connected { client, .. } => *client,
        _ => 0,
    };
    assert_eq!(server.events.iter().map(number).collect::<Vec<_>>(), [1, 2]);

    let limits = MessengerConfig { peer_messages: 300, ..Default::default() };
    let limits = SessionConfig { messenger: limits, ..config() };
    let error = Client::<ReceivedMessages, End>::builder(limits).build(net.client()).unwrap_err();
    assert!(error.to_string().contains("`peer_messages`"));
    let long = SessionConfig::new(&"x".repeat(256), "1.0");
    assert!(Client::<ReceivedMessages, End>::builder(long).build(net.client()).is_err());
    let token = Client::<ReceivedMessages, End>::builder(config()).token(&[7; 2049]);
    assert!(token.build(net.client()).is_err());
}
