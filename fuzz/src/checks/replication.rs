//! Snapshots and acks between a sender and a receiver of which one is hostile, over a session.

use std::collections::BTreeMap;

use allocation_counter::measure;
use tightwire::snapshot::{self, Ack, Leaving, Level, Protocol, ReceiveError, ReceiverId};
use tightwire::{ObjectId, Wire};

use super::snapshots::moving::{Body, Sign};

/// Largest number of objects of the protocol; the honest sender has a third of it.
const MOST: usize = 18;
const OBJECTS: u32 = 6;
const BUDGET: usize = 1000;

thread_local! {
    static FIXED: Fixed = Fixed::new();
}

/// Checks the packets between a sender and a receiver.
///
/// The first byte chooses the level and whether the sender has another receiver, which is honest.
/// Then each action begins with a byte: its three lowest bits are the kind of the action, as
/// [`Session::act`] lists them, and the higher bits are its parameter.
pub(crate) fn replication(data: &[u8]) {
    let Some((choice, mut data)) = data.split_first() else { return };
    FIXED.with(|fixed| {
        let protocol = &fixed.protocols[usize::from(choice & 1)];
        let mut session = Session::new(fixed, protocol, choice & 2 != 0, 8);
        // Long inputs would only be slow.
        for _ in 0..12 {
            if session.act(&mut data).is_none() {
                break;
            }
        }
    });
}

/// Things that are the same for all inputs.
struct Fixed {
    protocols: [Protocol; 2],
    /// Values of objects, as they are after they were sent.
    values: Vec<Value>,
}

#[derive(Clone, PartialEq, Debug)]
enum Value {
    Body(Body),
    Sign(Sign),
}

/// Objects of a world.
type Contents = Vec<(ObjectId, Value)>;

impl Fixed {
    fn new() -> Self {
        let protocol = |level| {
            let config =
                snapshot::Config { level, max_objects: MOST, ..snapshot::Config::default() };
            let builder = Protocol::builder(config).class::<Body>().class::<Sign>();
            let Ok(protocol) = builder.build() else { unreachable!("the classes are fine") };
            protocol
        };
        let body = |at: u16| {
            let way = f32::from(at) * 0.31;
            let body = Body {
                position: [way, -way, 3.0],
                velocity: [18.6, -18.6, 0.0],
                rotation: [way.min(1.0), 0.1, 0.2, 0.9],
                heading: at * 30 % 360,
                at_rest: at % 5 == 4,
                speed: at as u8,
                owner: (at % 4 == 1).then_some(at),
            };
            Value::Body(sent(&body))
        };
        let signs = [
            Sign::Blank,
            Sign::Text { text: "a text".into(), size: 7 },
            Sign::Numbers(vec![1, -2, 3]),
            Sign::Text { text: String::new(), size: u32::MAX },
        ];
        let values = (0..12).map(body).chain(signs.map(Value::Sign)).collect();
        Self { protocols: [protocol(Level::Packed), protocol(Level::Modeled)], values }
    }

    /// Whether these are the objects of a world.
    fn is_same(&self, world: &[(u32, usize)], contents: &Contents) -> bool {
        let expected = world.iter().map(|&(id, value)| (ObjectId::from(id), &self.values[value]));
        expected.eq(contents.iter().map(|(id, value)| (*id, value)))
    }
}

/// Returns a value with the resolution that the wire has.
fn sent<T: Wire + Default>(value: &T) -> T {
    let mut buffer = [0; 256];
    let decoded = tightwire::encode(value, &mut buffer).ok().map(|bytes| tightwire::decode(bytes));
    let Some(Ok(decoded)) = decoded else { unreachable!("the values are fine") };
    decoded
}

/// A snapshot of the honest sender.
#[derive(Clone)]
struct Packet {
    bytes: Vec<u8>,
    /// Objects of the world, and the indices of their values.
    world: Vec<(u32, usize)>,
    /// Number of senders and views before the current ones.
    view: u32,
}

struct Session<'a> {
    fixed: &'a Fixed,
    protocol: &'a Protocol,
    sender: snapshot::Sender,
    id: ReceiverId,
    receiver: snapshot::Receiver,
    /// The world of the receiver, after the last snapshot that it accepted.
    shown: Contents,
    /// A receiver that gets everything and acks it.
    friend: Option<(ReceiverId, snapshot::Receiver)>,
    /// The sender has no objects yet.
    is_new: bool,
    /// Objects of the world, and the indices of their values.
    world: BTreeMap<u32, usize>,
    tick: u32,
    view: u32,
    packets: Vec<Packet>,
    acks: Vec<Ack>,
    /// The view of all packets that the receiver has accepted since it was new, if they are honest.
    source: Source,
    /// Memory that the receiver keeps, in bytes.
    kept: i64,
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    None,
    Honest(u32),
    Hostile,
}

fn byte(data: &mut &[u8]) -> Option<u8> {
    data.split_off_first().copied()
}

fn bytes<'a>(data: &mut &'a [u8], most: u8) -> Option<&'a [u8]> {
    let length = usize::from(byte(data)? % most).min(data.len());
    data.split_off(..length)
}

impl<'a> Session<'a> {
    fn new(fixed: &'a Fixed, protocol: &'a Protocol, has_friend: bool, epoch: u32) -> Self {
        let mut sender = snapshot::Sender::new(protocol).with_epoch(epoch);
        let id = sender.add_receiver(Leaving::Despawn);
        let friend = has_friend
            .then(|| (sender.add_receiver(Leaving::Despawn), snapshot::Receiver::new(protocol)));
        Self {
            fixed,
            protocol,
            sender,
            id,
            receiver: snapshot::Receiver::new(protocol),
            shown: Vec::new(),
            friend,
            is_new: true,
            world: (0..3).map(|id| (id, id as usize)).collect(),
            tick: 0,
            view: 0,
            packets: Vec::new(),
            acks: Vec::new(),
            source: Source::None,
            kept: 0,
        }
    }

    /// Takes an action off the data: 0 is a tick whose snapshot arrives, 1 one whose snapshot is
    /// lost, 2 one whose snapshot is changed on its way, 3 an earlier snapshot, 4 a made-up one, 5
    /// an ack, 6 a made-up ack, 7 a new beginning.
    fn act(&mut self, data: &mut &[u8]) -> Option<()> {
        let control = byte(data)?;
        let choice = control >> 3;
        match control & 7 {
            0 => {
                let packet = self.tick(choice);
                self.deliver(&packet);
                self.ack(choice & 16 != 0);
            }
            1 => _ = self.tick(choice),
            2 => {
                let packet = self.tick(choice);
                self.attack(changed(packet.bytes, bytes(data, 32)?));
            }
            3 => {
                let place = usize::from(choice) % self.packets.len().max(1);
                let packet = self.packets.iter().rev().nth(place)?.clone();
                match bytes(data, 32)? {
                    [] => self.deliver(&packet),
                    changes => self.attack(changed(packet.bytes, changes)),
                }
            }
            4 => {
                // The header is honest, as long as it usually is, or is not.
                let honest = usize::from(choice % 8);
                let header = |packet: &Packet| packet.bytes.iter().take(honest).copied().collect();
                let header: Vec<_> = self.packets.last().map(header).unwrap_or_default();
                self.attack([&header, bytes(data, 128)?].concat());
            }
            5 => {
                let acks = self.acks.len().max(1);
                match self.acks.iter().rev().nth(usize::from(choice) % acks) {
                    Some(&ack) if choice < 16 => self.sender.handle_ack(self.id, ack),
                    _ => self.ack(true),
                }
            }
            6 => {
                let ack = tightwire::decode::<Ack>(data.split_off(..8)?);
                self.sender.handle_ack(self.id, ack.unwrap_or_default());
            }
            _ => self.start_over(choice),
        }
        let in_flight = self.sender.in_flight(self.id);
        assert!(in_flight.is_some_and(|count| count <= 97), "{in_flight:?} packets in flight");
        Some(())
    }

    /// The application makes a new sender, a new view of the sender, or lets the receiver start
    /// over.
    fn start_over(&mut self, choice: u8) {
        if choice & 1 != 0 {
            self.receiver.resync();
            assert_eq!(self.receiver.ack(), None);
            self.source = Source::None;
        }
        match choice >> 1 & 3 {
            1 => {
                self.sender.remove_receiver(self.id);
                self.id = self.sender.add_receiver(Leaving::Despawn);
                self.view += 1;
            }
            2 => {
                let epoch = u32::from(choice & 8);
                let has_friend = self.friend.is_some();
                let before = core::mem::replace(
                    self,
                    Self::new(self.fixed, self.protocol, has_friend, epoch),
                );
                let Self { receiver, shown, packets, acks, source, kept, .. } = before;
                (self.receiver, self.shown) = (receiver, shown);
                (self.packets, self.acks) = (packets, acks);
                (self.source, self.kept, self.view) = (source, kept, before.view + 1);
                self.tick = if choice & 16 == 0 { before.tick } else { 0 };
            }
            _ => {}
        }
    }

    /// Runs a tick of the honest sender, in which an object or two change.
    fn tick(&mut self, choice: u8) -> Packet {
        // Sometimes ticks are left out.
        self.tick += if choice == 9 { 40 } else { 1 };
        self.sender.begin_tick(self.tick);
        let object = u32::from(choice) % OBJECTS;
        let value = usize::from(choice) * 5 + self.tick as usize;
        match choice >> 3 & 1 {
            1 if self.world.len() > 1 => _ = self.world.remove(&object),
            _ => _ = self.world.insert(object, value % self.fixed.values.len()),
        }
        // A new sender has nothing yet.
        let is_new = core::mem::take(&mut self.is_new);
        for id in (0..OBJECTS).filter(|&id| is_new || id == object) {
            let set = match self.world.get(&id).map(|&value| &self.fixed.values[value]) {
                Some(Value::Body(body)) => self.sender.set(id, body),
                Some(Value::Sign(sign)) => self.sender.set(id, sign),
                None => self.sender.remove(id),
            };
            assert_eq!(set, Ok(()));
        }
        let world: Vec<_> = self.world.iter().map(|(&id, &value)| (id, value)).collect();
        let made = self.sender.snapshot(self.id, BUDGET);
        let bytes = made.map(<[u8]>::to_vec).unwrap_or_default();
        assert!(!bytes.is_empty() && bytes.len() <= BUDGET, "{} bytes", bytes.len());
        if let Some((id, friend)) = &mut self.friend {
            let packet = self.sender.snapshot(*id, BUDGET).unwrap_or_default();
            let received = friend.handle_snapshot(packet);
            assert!(received.as_ref().is_ok_and(|received| received.is_complete), "{received:?}");
            let has_all = self.fixed.is_same(&world, &contents_of(friend));
            assert!(has_all, "the honest receiver has another world");
            if let Some(ack) = friend.ack() {
                self.sender.handle_ack(*id, ack);
            }
        }
        let packet = Packet { bytes, world, view: self.view };
        self.packets.push(packet.clone());
        packet
    }

    /// The receiver gets a snapshot as the sender made it.
    fn deliver(&mut self, packet: &Packet) {
        let Ok(received) = self.handle(&packet.bytes) else { return };
        self.source = match self.source {
            Source::None => Source::Honest(packet.view),
            Source::Honest(view) if view == packet.view => self.source,
            // A packet of another sender passes the check with the probability of its bits.
            _ => Source::Hostile,
        };
        if self.source != Source::Hostile && received.is_complete {
            let is_right = self.fixed.is_same(&packet.world, &self.shown);
            assert!(is_right, "wrong state is complete");
        }
    }

    /// The receiver gets any bytes; and again with the check that they should have, since a hostile
    /// sender computes that as well as anybody.
    fn attack(&mut self, mut packet: Vec<u8>) {
        let mut handled = self.handle(&packet);
        if let Err(ReceiveError::Check { at, computed, .. }) = handled {
            packet[at..at + 2].copy_from_slice(&computed.to_le_bytes());
            handled = self.handle(&packet);
            assert!(!matches!(handled, Err(ReceiveError::Check { .. })), "{handled:?}");
        }
        if handled.is_ok() {
            self.source = Source::Hostile;
        }
    }

    fn handle(&mut self, packet: &[u8]) -> Result<snapshot::Received, ReceiveError> {
        let receiver = &mut self.receiver;
        let before = (receiver.newest(), receiver.ack());
        let mut handled = Err(ReceiveError::Late);
        let memory = measure(|| handled = receiver.handle_snapshot(packet));
        self.kept += memory.bytes_current;
        // Each packet keeps a model.
        assert!(memory.bytes_max < 256 << 10, "{} bytes for a packet", memory.bytes_max);
        assert!(self.kept < 4 << 20, "{} bytes are kept", self.kept);
        match &handled {
            Ok(received) => {
                assert_eq!(receiver.newest(), Some(*received));
                assert!(receiver.changes().len() <= 2 * MOST);
                assert!(receiver.objects().count() <= 2 * MOST);
                assert!(receiver.ack().is_some());
                self.shown = contents_of(receiver);
            }
            Err(_) => {
                let is_same = before == (receiver.newest(), receiver.ack())
                    && self.shown == contents_of(receiver);
                assert!(is_same, "a refused snapshot changes nothing: {handled:?}");
            }
        }
        handled
    }

    /// Makes an ack of the receiver's packets. The sender handles it now if `is_sent`, or may
    /// handle it later.
    fn ack(&mut self, is_sent: bool) {
        if let Some(ack) = self.receiver.ack() {
            self.acks.push(ack);
            if is_sent {
                self.sender.handle_ack(self.id, ack);
            }
        }
    }
}

/// Changes bytes of a packet: each change is a place and the bits to flip.
fn changed(mut packet: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(2) {
        let place = usize::from(change[0]) * packet.len() / 256;
        packet[place] ^= change[1];
    }
    packet
}

/// All that the application can see.
fn contents_of(receiver: &snapshot::Receiver) -> Contents {
    let object = |(id, class)| {
        let value = match class {
            0 => receiver.get(id).map(Value::Body),
            _ => receiver.get(id).map(Value::Sign),
        };
        Some((id, value?))
    };
    receiver.objects().filter_map(object).collect()
}
