//! A transport that captures the messages that it carries.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

use crate::capture::{CaptureWriter, Direction};
use tightwire_net::message::{Delivery, frame_in, messages_in};
use tightwire_net::play::write_frame_record;

use tightwire_net::transport::{
    Connection, Event, NotSentError, Reason, Transport, TransportWrapper,
};

/// A [`Transport`] that wraps another and writes each received or sent message into a capture: a
/// pcapng file with the schema of its messages, for `tightwire inspect` and Wireshark. The file is
/// not encrypted: keep it as safe as the messages were.
///
/// A record is one message, or one snapshot or input frame of the play layer, after a header of 5
/// bytes. [`Messenger::capture_schema`](tightwire_net::message::Messenger::capture_schema)
/// describes the records; create the `CaptureWriter` with the
/// [identity](tightwire_net::session::ServerBuilder::capture_identity) that contains this schema.
/// The session's control messages are not recorded. A message of more than
/// [65,000 bytes](tightwire_net::message::RawMessage::MAX_RECORDED) is
/// [cut](tightwire_net::message::RawMessage::CUT): its record has its beginning and its length.
/// After a malformed message, the rest of the batch is [not recorded](Self::not_recorded).
///
/// * **Time** of a record is the session's start plus the time of the last
///   [`handle_input`](Transport::handle_input).
/// * **Addresses** are the given local address, and the peer's address if the transport knows it.
///   Otherwise, as within a process, the address is made from the connection's number: its lowest
///   16 bits are the last two bytes of an address `10.0.x.y`, the next 14 bits are added to the
///   port 49152.
///
/// Received messages are in the file before they are handled. A write error ends the capture but
/// not the session: see [`error`](Self::error).
///
/// ```
/// use std::time::Duration;
/// use tightwire::{Context, Delivery, Message, Wire};
/// use tightwire::inspect::{Capture, CaptureWriter};
/// use tightwire::message::MessengerBuilder;
/// use tightwire::{Client, Server, SessionConfig, SessionEvent};
/// use tightwire::inspect::Captured;
/// use tightwire::transport::InProcess;
///
/// #[derive(Wire, Message, Default)]
/// struct Chat {
///     #[wire(max_len = 120)]
///     text: String,
/// }
///
/// fn messages(builder: MessengerBuilder<()>) -> MessengerBuilder<()> {
///     builder.handle(|_: &Chat, _: &mut Context<'_, ()>| {})
/// }
///
/// let config = SessionConfig::new("arena", "1.0");
/// let (client_end, server_end) = InProcess::pair();
/// let builder = Server::builder(config.clone()).register(messages).open_to_anyone();
/// let recorder = CaptureWriter::new(Vec::new(), &builder.capture_identity()?)?;
/// let local = "127.0.0.1:7777".parse()?;
/// let captured = Captured::new(server_end, recorder, local, config.unix_start);
/// let mut server = builder.build(captured)?;
///
/// let mut client = Client::builder(config).register(messages).build(client_end)?;
/// for millisecond in 0..50 {
///     let now = Duration::from_millis(millisecond);
///     server.receive(now, &mut ());
///     server.transmit(now);
///     client.receive(now, &mut ());
///     if let Some(SessionEvent::Connected { .. }) = client.poll_event() {
///         client.send(&Chat { text: "hello".into() }, Delivery::Reliable)?;
///     }
///     client.transmit(now);
/// }
///
/// let file = server.transport().file(Vec::clone);
/// let mut capture = Capture::new(&file[..])?;
/// let identity = capture.identity().unwrap().clone();
/// let record = capture.next_record().unwrap()?;
/// assert_eq!(
///     identity.decode(identity.packet_in(record.datagram)?)?.to_string(),
///     "Message { number: 16, stage: 4, size: 6, channel: 0, Chat: Chat { text: \"hello\" } }"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Captured<T, W> {
    transport: T,
    log: CaptureLog<W>,
}

/// The capture, with the state that its records need.
struct CaptureLog<W> {
    recorder: CaptureWriter<W>,
    error: Option<io::Error>,
    local: SocketAddr,
    /// Time zero of the session, since the Unix epoch.
    unix_start: Duration,
    now: Duration,
    /// Addresses of the connections whose transport reported one, by connection number.
    addresses: BTreeMap<u64, SocketAddr>,
    /// Buffer of the current record, kept to reuse its memory.
    record: Vec<u8>,
    recorded: u64,
    cut: u64,
    not_recorded: u64,
}

impl<T: Transport, W: Write> Captured<T, W> {
    /// Captures the messages that `transport` carries from now on. `local` is this side's address
    /// in the file, and `unix_start` is
    /// [`SessionConfig::unix_start`](tightwire_net::session::SessionConfig::unix_start): time zero
    /// of the session, since the Unix epoch.
    #[must_use]
    pub fn new(
        transport: T,
        recorder: CaptureWriter<W>,
        local: SocketAddr,
        unix_start: Duration,
    ) -> Self {
        let log = CaptureLog {
            recorder,
            error: None,
            local,
            unix_start,
            now: Duration::ZERO,
            addresses: BTreeMap::new(),
            record: Vec::new(),
            recorded: 0,
            cut: 0,
            not_recorded: 0,
        };
        Self { transport, log }
    }

    /// Returns the write error that ended the capture; `None` while the capture goes on.
    #[must_use]
    pub fn error(&self) -> Option<&io::Error> {
        self.log.error.as_ref()
    }

    /// Returns the number of messages in the file, including those that are [cut](Self::cut).
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.log.recorded
    }

    /// Returns the number of messages of which the file has only the beginning and the length,
    /// since they have more than
    /// [65,000 bytes](tightwire_net::message::RawMessage::MAX_RECORDED).
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.log.cut
    }

    /// Returns the number of received or sent messages that are not in the file, because the file
    /// [could not be written](Self::error) or their batch is malformed. The malformed rest of a
    /// batch counts as one message.
    #[must_use]
    pub fn not_recorded(&self) -> u64 {
        self.log.not_recorded
    }

    /// Calls `read` with the writer, and returns its result.
    pub fn file<A>(&self, read: impl FnOnce(&W) -> A) -> A {
        read(self.log.recorder.get_ref())
    }

    /// Returns the wrapped transport.
    #[must_use]
    pub fn inner(&self) -> &T {
        &self.transport
    }

    /// Returns the wrapped transport. Events and batches that a caller polls from or sends on it
    /// directly are not captured.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.transport
    }
}

impl<W: Write> CaptureLog<W> {
    fn write(&mut self, direction: Direction, with: Connection, delivery: Delivery, batch: &[u8]) {
        let peer = self.addresses.get(&with.0).copied().unwrap_or_else(|| synthetic_address(with));
        let time = self.unix_start.saturating_add(self.now);
        if let Some((number, body)) = frame_in(batch, delivery) {
            match write_frame_record(number, body, &mut self.record) {
                true => self.record(time, direction, peer, true),
                false => self.not_recorded += 1,
            }
            return;
        }
        for message in messages_in(batch, delivery) {
            let is_whole = match message {
                Ok(message) if message.is_internal() => continue,
                Ok(message) => Some(message.write_record(&mut self.record)),
                Err(_) => None,
            };
            match is_whole {
                Some(is_whole) => self.record(time, direction, peer, is_whole),
                None => self.not_recorded += 1,
            }
        }
    }

    /// Writes the current record.
    fn record(&mut self, time: Duration, direction: Direction, peer: SocketAddr, is_whole: bool) {
        if self.error.is_none() {
            let Self { recorder, record, local, .. } = self;
            self.error = recorder.record(time, direction, *local, peer, record).err();
        }
        match self.error.is_none() {
            true => {
                self.recorded += 1;
                self.cut += u64::from(!is_whole);
            }
            false => self.not_recorded += 1,
        }
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.recorder.flush().err();
        }
    }
}

/// Returns a synthetic address for a connection without one.
fn synthetic_address(connection: Connection) -> SocketAddr {
    let number = connection.0;
    let ip = Ipv4Addr::new(10, 0, (number >> 8) as u8, number as u8);
    SocketAddr::from((ip, FIRST_PORT + ((number >> 16) & 0x3fff) as u16))
}

/// First of the dynamic ports, which IANA assigns to no service.
const FIRST_PORT: u16 = 49152;

impl<T: Transport, W: Write> TransportWrapper for Captured<T, W> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.transport
    }

    fn inner_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    fn handle_input(&mut self, now: Duration) {
        self.log.now = now;
        self.transport.handle_input(now);
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let event = self.transport.poll_event();
        let log = &mut self.log;
        match &event {
            Some(Event::Connected { connection, address: Some(address) }) => {
                log.addresses.insert(connection.0, *address);
            }
            Some(Event::Batch { from, delivery, batch }) => {
                log.write(Direction::Received, *from, *delivery, batch);
            }
            Some(Event::Disconnected { connection, .. }) => {
                log.addresses.remove(&connection.0);
            }
            Some(_) => {}
            // The flush puts received messages into the file before the application handles them.
            None => log.flush(),
        }
        event
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let result = self.transport.send(to, delivery, batch);
        // A batch that the transport has no room for is sent again later, and recorded then.
        if result.is_ok() {
            self.log.write(Direction::Sent, to, delivery, batch);
        }
        result
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.transport.close(connection, reason);
        self.log.addresses.remove(&connection.0);
    }

    fn handle_output(&mut self, now: Duration) {
        self.transport.handle_output(now);
        self.log.flush();
    }
}

impl<T, W> fmt::Debug for Captured<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captured")
            .field("recorded", &self.log.recorded)
            .field("cut", &self.log.cut)
            .field("not_recorded", &self.log.not_recorded)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_without_an_address_get_one_each() {
        let shown = |number| synthetic_address(Connection(number)).to_string();
        assert_eq!(shown(0), "10.0.0.0:49152");
        assert_eq!(shown(0x1_0203), "10.0.2.3:49153");
        assert_eq!(shown(u64::MAX), "10.0.255.255:65535");
    }
}
