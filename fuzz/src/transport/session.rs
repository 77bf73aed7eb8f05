use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use allocation_counter::measure;
use tightwire::message::InternalBatch;
use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};
use tightwire::{Delivery, Wire};
use tightwire::{Server, SessionEvent};

use super::game::{Counted, server};

/// Checks batches of an admitted peer and of an unauthenticated one. Each batch follows a control
/// byte and a length byte. The control byte has the delivery; its highest bit corrects the size
/// field of the batch, the next one chooses the admitted peer, and the one below ends the frame.
pub(crate) fn session(data: &[u8]) {
    let mut room = Room::new();
    let mut rest = data;
    while let [control, length, others @ ..] = rest {
        let (bytes, others) = others.split_at(others.len().min(usize::from(*length)));
        rest = others;
        let delivery = Delivery::ALL[usize::from(control % 32) % 5];
        let mut batch = bytes.to_vec();
        let space = if delivery.fragments() { 4 } else { 2 };
        if control & 0x80 != 0
            && let Some(content) = batch.len().checked_sub(space)
        {
            batch[..space].copy_from_slice(&(content as u32).to_le_bytes()[..space]);
        }
        room.throw(control & 0x40 != 0, delivery, batch);
        if control & 0x20 != 0 {
            room.frame();
        }
    }
    room.frame();
    room.frame();
}

/// A server with a good peer, a hostile one, and an unauthenticated one.
struct Room {
    server: Server<Counted, Script>,
    counted: Counted,
    good: u64,
    hostile: u64,
    stranger: u64,
    frames: u32,
}

/// A transport with scripted events.
#[derive(Default)]
struct Script {
    events: VecDeque<ScriptEvent>,
    current: Vec<u8>,
    connections: BTreeSet<u64>,
    next: u64,
}

enum ScriptEvent {
    Connected(u64),
    Batch(u64, Delivery, Vec<u8>),
}

#[derive(Wire, Default)]
struct Hello {
    format: u8,
    protocol: u64,
    #[wire(max_len = 2048)]
    token: Vec<u8>,
}

impl Room {
    fn new() -> Self {
        let server = server(Script::default());
        let mut room =
            Self { server, counted: Vec::new(), good: 0, hostile: 0, stranger: 0, frames: 0 };
        room.good = room.connect(true);
        room.hostile = room.connect(true);
        room.stranger = room.connect(false);
        room.tick();
        assert_eq!(room.server.peers().count(), 2);
        room
    }

    fn connect(&mut self, is_admitted: bool) -> u64 {
        let protocol = self.server.protocol_id();
        let script = self.server.transport_mut();
        script.next += 1;
        let number = script.next;
        script.connections.insert(number);
        script.events.push_back(ScriptEvent::Connected(number));
        if is_admitted {
            let mut batch = Vec::new();
            let hello = Hello { format: 3, protocol, token: Vec::new() };
            InternalBatch::write(0, &hello, &mut batch).unwrap();
            script.say(number, InternalBatch::DELIVERY, batch.clone());
            InternalBatch::write(2, &(), &mut batch).unwrap();
            script.say(number, InternalBatch::DELIVERY, batch);
        }
        number
    }

    fn throw(&mut self, is_admitted: bool, delivery: Delivery, batch: Vec<u8>) {
        let from = if is_admitted { self.hostile } else { self.stranger };
        self.server.transport_mut().say(from, delivery, batch);
    }

    /// Runs a frame: the good peer's count must be handled.
    fn frame(&mut self) {
        self.frames += 1;
        let mut batch = vec![9, 0, 17, 4, 4, 0, 0];
        batch.extend_from_slice(&self.frames.to_le_bytes());
        self.server.transport_mut().say(self.good, Delivery::Reliable, batch);
        let memory = measure(|| self.tick()).bytes_max;
        assert!(memory < 8 << 20, "{memory} bytes in a frame");
        assert!(self.counted.contains(&self.frames), "the good peer was not received");
        self.counted.clear();
        assert!(self.server.peers().count() <= 4);
        // Peers that were disconnected connect again.
        let connections = &self.server.transport().connections;
        let [hostile, stranger] =
            [self.hostile, self.stranger].map(|number| connections.contains(&number));
        if !hostile {
            self.hostile = self.connect(true);
        }
        if !stranger {
            self.stranger = self.connect(false);
        }
    }

    fn tick(&mut self) {
        let now = Duration::from_millis(u64::from(self.frames));
        self.server.receive(now, &mut self.counted);
        self.server.transmit(now);
        while let Some(event) = self.server.poll_event() {
            if let SessionEvent::Refused { reason, .. } = event {
                assert!(reason.to_bytes().len() <= Reason::MAX_BYTES);
            }
        }
    }
}

impl Script {
    fn say(&mut self, from: u64, delivery: Delivery, batch: Vec<u8>) {
        self.events.push_back(ScriptEvent::Batch(from, delivery, batch));
    }
}

impl Transport for Script {
    fn handle_input(&mut self, _: Duration) {}

    fn poll_event(&mut self) -> Option<Event<'_>> {
        loop {
            match self.events.pop_front()? {
                ScriptEvent::Connected(number) => {
                    return Some(Event::Connected {
                        connection: Connection(number),
                        address: None,
                    });
                }
                ScriptEvent::Batch(number, delivery, batch)
                    if self.connections.contains(&number) =>
                {
                    self.current = batch;
                    let (from, batch) = (Connection(number), &self.current[..]);
                    return Some(Event::Batch { from, delivery, batch });
                }
                ScriptEvent::Batch(..) => {}
            }
        }
    }

    fn send(&mut self, to: Connection, _: Delivery, batch: &[u8]) -> Result<(), NotSentError> {
        assert!(!batch.is_empty());
        if self.connections.contains(&to.0) { Ok(()) } else { Err(NotSentError::NotConnected(to)) }
    }

    fn pause(&mut self, _: Connection) {}

    fn close(&mut self, connection: Connection, _: &Reason) {
        assert!(self.connections.remove(&connection.0), "closed twice");
    }

    fn handle_output(&mut self, _: Duration) {}

    fn path(&self, connection: Connection) -> Option<Path> {
        let path = Path { max_datagram: 1200, max_fragmented: 1 << 20, ..Path::default() };
        self.connections.contains(&connection.0).then_some(path)
    }

    fn next_time(&self) -> Option<Duration> {
        None
    }
}
