//! Transports that are chosen at run time.

use std::time::Duration;

use tightwire::message::Route;
use tightwire::transport::conformance::{self, Clock, Options, Pair};
use tightwire::transport::{InProcess, Transport};
use tightwire::{Client, Delivery, Message, Server, SessionConfig, Wire};

use crate::common::volume::volume;

#[derive(Wire, Message, Default)]
struct Jump {
    height: u8,
}

type AnyTransport = Box<dyn Transport + Send + Sync>;

fn pair() -> (AnyTransport, AnyTransport) {
    let (client, server) = InProcess::pair();
    (Box::new(client), Box::new(server))
}

#[test]
fn a_boxed_transport_keeps_its_promises() {
    let make_pair = || {
        let (client, server) = pair();
        Pair { client, server, clock: Clock::jumping() }
    };
    let options = Options { batches: volume(500, 20_000), ..Options::default() };
    conformance::run(make_pair, &options).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn a_server_and_a_client_over_any_transport_can_move_to_a_thread() {
    let (client_end, server_end) = pair();
    let config = SessionConfig::new("arena", "1.0");
    let server = Server::<(), AnyTransport>::builder(config.clone()).queue::<Jump>();
    let mut server = server.open_to_anyone().build(server_end).unwrap();
    let client = Client::<(), AnyTransport>::builder(config).queue::<Jump>();
    let mut client = client.build(client_end).unwrap();
    let run = move || {
        let mut heights = Vec::new();
        for frame in 0..10 {
            let now = Duration::from_millis(16) * frame;
            client.receive(now, &mut ());
            if client.server().is_some() {
                let route = Route::from(Delivery::Reliable).at_tick(frame);
                client.send(&Jump { height: 3 }, route).unwrap();
            }
            client.transmit(now);
            server.receive(now, &mut ());
            heights.extend(server.drain::<Jump>().map(|jump| jump.message.height));
            server.transmit(now);
        }
        heights
    };
    let heights = std::thread::spawn(run).join().unwrap();
    assert!(heights.len() > 5 && heights.iter().all(|height| *height == 3), "{heights:?}");
}
