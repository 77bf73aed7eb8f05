//! Peers that send arbitrary batches.

use std::time::Duration;

use tightwire::message::InternalBatch;
use tightwire::transport::{Connection, Event, Transport};
use tightwire::{Delivery, Wire};

use crate::common::game::{Count, Level, client, config, server, settle};
use crate::common::mutate::mutate;
use crate::common::net::{End, Net};
use crate::common::rng::Rng;
use crate::common::volume::volume;

type Batches = Vec<(Delivery, Vec<u8>)>;

/// Returns the batches of honest sides, including control messages.
fn honest() -> Batches {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    let mut seen = Batches::new();
    settle(&mut server, &mut [&mut client], 0);
    for delivery in Delivery::ALL {
        client.chat("words", delivery);
        client.session.send(&Count(70_000), delivery).unwrap();
    }
    let level = Level { data: vec![7; 3000] };
    let route = Delivery::ReliableOrderedFragmented;
    client.session.send(&level, route).unwrap();
    client.session.transmit(Duration::ZERO);
    drop(client);
    let end = server.session.transport_mut();
    end.handle_input(Duration::ZERO);
    while let Some(event) = end.poll_event() {
        if let Event::Batch { delivery, batch, .. } = event {
            seen.push((delivery, batch.to_vec()));
        }
    }
    for number in 0..8 {
        let mut batch = Vec::new();
        InternalBatch::write(number, &(), &mut batch).unwrap();
        seen.push((InternalBatch::DELIVERY, batch.clone()));
        InternalBatch::write(number, &[1_u8; 30], &mut batch).unwrap();
        seen.push((InternalBatch::DELIVERY, batch));
    }
    let identity = server.session.identity().clone();
    for number in [3, 4, 6] {
        let described = Described(identity.clone());
        let mut batch = Vec::new();
        InternalBatch::write(number, &described, &mut batch).unwrap();
        seen.push((InternalBatch::DELIVERY, batch));
    }
    seen.push((InternalBatch::DELIVERY, hello(server.session.protocol_id(), b"8")));
    seen.push((InternalBatch::DELIVERY, hello(1, b"9")));
    assert!(seen.len() > 20);
    seen
}

/// A description, in the form of docs/WIRE.md.
struct Described(tightwire::packet::Identity);

impl Wire for Described {
    fn serialize<S: tightwire::Stream>(
        mut this: tightwire::Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(tightwire::at!(this.0))?;
        [16, 1 << 20, 256].into_iter().try_for_each(|mut limit| stream.bits(&mut limit, 64))
    }
}

#[derive(Wire, Default)]
struct Hello {
    format: u8,
    protocol: u64,
    #[wire(max_len = 2048)]
    token: Vec<u8>,
}

fn hello(protocol: u64, token: &[u8]) -> Vec<u8> {
    let mut batch = Vec::new();
    let hello = Hello { format: 2, protocol, token: token.into() };
    InternalBatch::write(0, &hello, &mut batch).unwrap();
    batch
}

/// A connection without a session.
struct HostileClient {
    end: End,
    connection: Connection,
}

impl HostileClient {
    fn new(net: &Net) -> Self {
        let end = net.client();
        let connection = Connection(end.connection.unwrap());
        Self { end, connection }
    }

    fn send(&mut self, delivery: Delivery, batch: &[u8]) {
        let _ = self.end.send(self.connection, delivery, batch);
    }

    /// Whether the connection was closed.
    fn is_closed(&mut self) -> bool {
        self.end.handle_input(Duration::ZERO);
        let mut is_closed = false;
        while let Some(event) = self.end.poll_event() {
            is_closed |= matches!(event, Event::Disconnected { .. });
        }
        is_closed
    }
}

#[test]
fn mutated_batches_do_not_disturb_other_peers() {
    let rounds = volume(20_000, 1_000_000);
    let honest = honest();
    let net = Net::default();
    let mut server = server(config(), &net);
    let mut good = client("1", &net);
    settle(&mut server, &mut [&mut good], 0);
    let mut random = Rng::new(1);
    let mut hostile: Vec<HostileClient> = Vec::new();
    let (mut closed, mut admitted, mut token, mut sent) = (0, 0, 100, 0_u32);
    let mut batch = Vec::new();
    let mut peak = 0;
    while sent < rounds {
        while hostile.len() < 4 {
            let mut next = HostileClient::new(&net);
            if random.below(2) == 0 {
                // This one is accepted, and then hostile.
                token += 1;
                let hello = hello(server.session.protocol_id(), token.to_string().as_bytes());
                next.send(InternalBatch::DELIVERY, &hello);
                server.tick(u64::from(sent));
                let mut ready = Vec::new();
                InternalBatch::write(2, &(), &mut ready).unwrap();
                next.send(InternalBatch::DELIVERY, &ready);
                admitted += 1;
            }
            hostile.push(next);
        }
        for hostile_client in &mut hostile {
            let (delivery, bytes) = &honest[random.below(honest.len())];
            batch.clone_from(bytes);
            if random.below(10) > 0 {
                mutate(&mut random, &mut batch);
            }
            if random.below(3) == 0 {
                let space = if delivery.fragments() { 4 } else { 2 };
                if let Some(content) = batch.len().checked_sub(space) {
                    let size = (content as u32).to_le_bytes();
                    batch[..space].copy_from_slice(&size[..space]);
                }
            }
            let delivery =
                if random.below(20) == 0 { Delivery::ALL[random.below(5)] } else { *delivery };
            hostile_client.send(delivery, &batch);
            sent += 1;
        }
        let info = allocation_counter::measure(|| server.tick(u64::from(sent)));
        peak = peak.max(info.bytes_max);
        hostile.retain_mut(|hostile_client| {
            let is_closed = hostile_client.is_closed();
            closed += u32::from(is_closed);
            !is_closed
        });
        if sent % 100 == 0 {
            net.forget_the_closed();
        }
        if sent % 10_000 == 0 {
            server.events.clear();
            server.received.texts.clear();
            server.received.counts.clear();
            good.chat("still here", Delivery::ReliableOrdered);
            good.tick(u64::from(sent));
            server.tick(u64::from(sent));
            let texts = server.received.texts.iter();
            assert!(texts.filter(|(_, text)| text == "still here").count() > 0);
        }
    }
    println!(
        "{sent} batches, {admitted} hostile peers let in, {closed} closed, at most {peak} bytes in a \
         tick, {} messages refused",
        server.session.messenger().faults().total()
    );
    assert!(closed > 100 && peak < 8 << 20, "{peak}");
    assert!(good.reasons().is_empty());
}

#[test]
fn a_mismatch_with_the_largest_schema_is_explained_in_bounded_time_and_memory() {
    use tightwire::packet::{Identity, Protection};
    use tightwire::schema::Schema;
    use tightwire::stream::{Field, Op, Shape, Variant};
    let net = Net::default();
    let mut server = server(config(), &net);
    let mut hostile_client = HostileClient::new(&net);
    hostile_client.send(InternalBatch::DELIVERY, &hello(1, b"5"));
    server.tick(0);
    // Long names above as many fields as there is room for.
    let fields = |count: usize| -> Vec<Field> {
        (0..count).map(|number| Field::new(&format!("{number:x}"), Shape::Op(Op::Bool))).collect()
    };
    let mut largest = None;
    for count in (1000..9000).step_by(250) {
        let name = "n".repeat(250);
        let inner = Shape::Struct { name: "S".into(), fields: fields(count) };
        let inner = Shape::Struct { name: "T".into(), fields: vec![Field::new(&name, inner)] };
        let variant = |name: String, shape| Variant {
            name: name.into(),
            fields: vec![Field::new("0", shape)],
        };
        let variants = vec![variant(name, inner), variant("Chat".into(), Shape::Op(Op::Bool))];
        let root = Shape::Enum { name: "Message".into(), variants };
        let Ok(schema) = Schema::new(root) else { break };
        let identity = Identity::new("arena", "1.0", Protection::None, schema);
        let mut batch = Vec::new();
        InternalBatch::write(4, &Described(identity.clone()), &mut batch).unwrap();
        if batch.len() > 64 << 10 {
            break;
        }
        largest = Some((count, batch));
    }
    let (count, batch) = largest.unwrap();
    hostile_client.send(InternalBatch::DELIVERY, &batch);
    let start = std::time::Instant::now();
    let info = allocation_counter::measure(|| server.tick(1));
    println!(
        "{count} fields, {} bytes sent: explained in {:?}, {} bytes at most",
        batch.len(),
        start.elapsed(),
        info.bytes_max
    );
    assert_eq!(server.reasons().len(), 1);
    assert!(server.reasons()[0].starts_with("protocol mismatch: "));
    assert!(info.bytes_max < 32 << 20, "{}", info.bytes_max);
    assert!(hostile_client.is_closed());
}
