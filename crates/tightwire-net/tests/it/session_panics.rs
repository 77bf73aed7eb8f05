//! A server that catches the panics of its handlers goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tightwire::message::MessengerBuilder;
use tightwire::transport::InProcess;
use tightwire::{Client, Context, Delivery, Message, Server, SessionConfig, SessionEvent, Wire};

/// A message whose handler panics at 13.
#[derive(Wire, Message, Default)]
struct Number(u8);

fn messages(builder: MessengerBuilder<Vec<u8>>) -> MessengerBuilder<Vec<u8>> {
    builder.handle(|number: &Number, context: &mut Context<'_, Vec<u8>>| {
        assert_ne!(number.0, 13, "an unlucky number");
        context.state.push(number.0);
    })
}

#[test]
fn a_server_goes_on_after_a_caught_panic_of_a_handler() {
    let (client_end, server_end) = InProcess::pair();
    let config = SessionConfig::new("arena", "1.0");
    let server = Server::<Vec<u8>, _>::builder(config.clone()).register(messages);
    let mut server = server.open_to_anyone().build(server_end).unwrap();
    let mut client = Client::builder(config).register(messages).build(client_end).unwrap();
    let (mut here, mut there, mut panics) = (Vec::new(), Vec::new(), 0);
    let mut echoes = 0;
    for frame in 0..60u8 {
        let now = Duration::from_millis(16) * frame.into();
        client.receive(now, &mut here);
        if (20..40).contains(&frame) {
            // Before and after it in the same batch, and of each delivery.
            let delivery = Delivery::ALL[usize::from(frame) % 5];
            for number in [frame, 13, 100 + frame] {
                client.send(&Number(number), delivery).unwrap();
            }
        }
        client.transmit(now);
        let received = catch_unwind(AssertUnwindSafe(|| server.receive(now, &mut there)));
        panics += u32::from(received.is_err());
        if let Some(peer) = server.peers().next() {
            server.send(peer, &Number(200), Delivery::Reliable).unwrap();
            echoes += 1;
        }
        server.transmit(now);
        while let Some(event) = server.poll_event() {
            assert!(matches!(event, SessionEvent::Connected { .. }), "{event:?}");
        }
    }
    assert_eq!(panics, 20);
    there.sort();
    let expected: Vec<u8> = (20..40).chain(120..140).collect();
    assert_eq!(there, expected, "the others of the batch are handled, in this frame or the next");
    assert!(here.len() + 2 >= echoes && echoes > 50, "{} of {echoes}", here.len());
    let peer = server.peers().next().unwrap();
    assert_eq!(server.stats(peer).unwrap().stats.refused, 20);
}
