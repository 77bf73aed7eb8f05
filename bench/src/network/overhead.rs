//! Overhead of connections and messages on the wire: on a virtual clock, so always the same.

use super::NAME;
use super::end::{End, QuicConfig, Traffic, certificate};
use std::net::SocketAddr;
use std::time::Duration;
use tightwire::link::LinkConfig;
use tightwire::message::{Messenger, MessengerConfig};
use tightwire::quic::{Network, SimulatedSocket};
use tightwire::{Delivery, Message, Wire};

/// A message of 8 bytes.
#[derive(Wire, Message, Default)]
struct Eight(u64);

/// Latency to the other side.
const LATENCY: Duration = Duration::from_millis(25);

/// Seconds until path discovery is finished.
const BEFORE: u64 = 10;

const SECONDS: u64 = 60;

/// Length of the IP and UDP headers of a packet, in bytes.
const HEADERS: u64 = 28;

/// Number of messages in a frame that measures the cost of one more message.
const MANY: usize = 20;

/// Traffic of an idle connection, to the server and to the client.
struct Idle {
    directions: [Traffic; 2],
}

/// Cost of one message of 8 bytes in each frame.
struct Cost {
    delivery: Delivery,
    rate: u64,
    /// Traffic in the direction of the messages.
    sent: Traffic,
    /// Traffic in the other direction, mostly acks.
    acknowledged: Traffic,
    messages: u64,
    /// Bytes of one more message in a frame.
    more: f64,
}

pub fn print() {
    let idle = idle();
    println!("{NAME}: an idle connection, a second of {SECONDS}, on a virtual clock");
    println!("{:<20}{:>10}{:>10}{:>18}", "", "packets", "bytes", "with IP and UDP");
    for (name, traffic) in ["to the server", "to the client"].iter().zip(idle.directions) {
        println!(
            "{name:<20}{:>10.2}{:>10.1}{:>18.1}",
            traffic.packets as f64 / SECONDS as f64,
            traffic.bytes as f64 / SECONDS as f64,
            (traffic.bytes + HEADERS * traffic.packets) as f64 / SECONDS as f64
        );
    }
    println!("\n{NAME}: one message of 8 bytes a frame, bytes of UDP, on a virtual clock");
    println!(
        "{:<32}{:>4}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "per message", "Hz", "bytes", "packets", "ack bytes", "ack pkts", "one more"
    );
    for cost in costs() {
        let [sent, acknowledged] = [cost.sent, cost.acknowledged].map(|traffic| {
            [traffic.bytes, traffic.packets].map(|all| all as f64 / cost.messages as f64)
        });
        println!(
            "{:<32}{:>4}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>10.2}",
            format!("{:?}", cost.delivery),
            cost.rate,
            sent[0],
            sent[1],
            acknowledged[0],
            acknowledged[1],
            cost.more
        );
    }
    println!();
}

pub fn json() -> Vec<String> {
    let idle = idle().directions.map(|traffic| {
        let [bytes, packets] = [traffic.bytes, traffic.packets];
        [bytes as f64 / SECONDS as f64, packets as f64 / SECONDS as f64]
    });
    let mut all = vec![format!(
        concat!(
            r#"{{"packet":"{}","idle_bytes_to_server":{:.3},"idle_packets_to_server":{:.4},"#,
            r#""idle_bytes_to_client":{:.3},"idle_packets_to_client":{:.4}}}"#
        ),
        NAME, idle[0][0], idle[0][1], idle[1][0], idle[1][1]
    )];
    all.extend(costs().map(|cost| {
        let messages = cost.messages as f64;
        format!(
            concat!(
                r#"{{"packet":"{}","delivery":"{:?}","rate":{},"bytes":{:.3},"packets":{:.4},"#,
                r#""ack_bytes":{:.3},"ack_packets":{:.4},"one_more":{:.3}}}"#
            ),
            NAME,
            cost.delivery,
            cost.rate,
            cost.sent.bytes as f64 / messages,
            cost.sent.packets as f64 / messages,
            cost.acknowledged.bytes as f64 / messages,
            cost.acknowledged.packets as f64 / messages,
            cost.more
        )
    }));
    all
}

fn idle() -> Idle {
    Idle { directions: traffic(60, 0, Delivery::Unreliable) }
}

fn costs() -> impl Iterator<Item = Cost> {
    Delivery::ALL.into_iter().flat_map(|delivery| {
        [60, 20].map(|rate| {
            let [acknowledged, sent] = traffic(rate, 1, delivery);
            let [_, many] = traffic(rate, MANY, delivery);
            let messages = rate * SECONDS;
            let more = (many.bytes - sent.bytes) as f64 / (messages * (MANY as u64 - 1)) as f64;
            Cost { delivery, rate, sent, acknowledged, messages, more }
        })
    })
}

/// Returns the traffic to the server and to the client while the server sends `messages` messages
/// in each frame.
fn traffic(rate: u64, messages: usize, delivery: Delivery) -> [Traffic; 2] {
    let network = Network::new(LinkConfig { latency: LATENCY, ..LinkConfig::default() }, 1);
    let [here, there] = [([10, 0, 0, 1], 7777), ([10, 0, 0, 2], 1000)].map(SocketAddr::from);
    let certificate = certificate();
    let config = QuicConfig { seed: Some(1), ..QuicConfig::default() };
    let messenger = || {
        Messenger::builder(MessengerConfig::default())
            .handle(|_: &Eight, context: &mut tightwire::Context<'_, u64>| *context.state += 1)
            .build()
            .expect("one message")
    };
    let mut server: End<SimulatedSocket, u64> =
        End::server(network.socket(here), &certificate, config, messenger());
    let mut client: End<SimulatedSocket, u64> =
        End::client(network.socket(there), here, &certificate, config, messenger());
    let mut before = [Traffic::default(); 2];
    for frame in 0..(BEFORE + SECONDS) * rate {
        if frame == BEFORE * rate {
            before = [client.sent(), server.sent()];
        }
        let now = Duration::from_secs(1) * frame as u32 / rate as u32;
        client.receive(now);
        client.flush(now);
        server.receive(now);
        if let Some(to) = server.ids.first().copied() {
            (0..messages).for_each(|_| server.send(to, &Eight(frame), delivery));
        }
        server.flush(now);
    }
    let expected = (BEFORE + SECONDS - 2) * rate * messages as u64;
    assert!(client.state >= expected, "{} messages of {expected} came", client.state);
    [client.sent().since(before[0]), server.sent().since(before[1])]
}
