//! Limits of a QUIC endpoint.

use core::time::Duration;

/// The limits of a [`Quic`](crate::quic::Quic) endpoint. Both sides can have their own.
///
/// The memory that a connection can take on this side is at most [`max_backlog`](Self::max_backlog)
/// and [`send_window`](Self::send_window) for what is sent, and for what is received
/// [`receive_window`](Self::receive_window), one batch of [`max_fragmented`](Self::max_fragmented) and
/// [`receive_datagrams`](Self::receive_datagrams). A hostile peer can make it more by sending little in
/// each packet, since packets are kept whole: docs/RELIABILITY.md has the sum. One that is not
/// [welcome](crate::transport::Transport::welcome) yet takes a small part of it.
///
/// ```
/// use tightwire::quic::QuicConfig;
///
/// let small = QuicConfig { max_connections: 16, ..QuicConfig::default() };
/// assert_eq!(small.max_fragmented, 1 << 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuicConfig {
    /// Largest number of connections, including those that are incomplete or still closing.
    /// Newcomers beyond are refused. The default is 1100.
    pub max_connections: usize,
    /// How many of them can come from one IP address, or in IPv6 from one network (/64); from one site
    /// (/48) four times as many.
    pub max_per_address: usize,
    /// How many can be connected or on their way and not welcome yet, which a session makes those that
    /// show their token. When there are more, a newcomer that has shown where it is takes the place of
    /// one of those who have been there for longest. They count among all connections too.
    pub max_strangers: usize,
    /// How many can be incomplete until newcomers must show first that they are where they say,
    /// which takes them a round trip more.
    pub max_handshakes: usize,
    /// Packets per second that one remote address and port can send for each of its connections;
    /// packets beyond are dropped unread. The default is 4000.
    pub packets_per_second: u32,
    /// Largest number of packets that are taken from the network per input, so that a flood does
    /// not stop the game. The default is 4096.
    pub packets_per_input: usize,
    /// Time of silence after which a connection ends, counted from the first packet that is sent
    /// into it: up to [`keep_alive`](Self::keep_alive) later, if there is nothing else to send. The
    /// default is 10 seconds.
    pub idle_timeout: Duration,
    /// Time limit of a handshake. The default is 5 seconds.
    pub handshake_timeout: Duration,
    /// Time without a packet after which one is sent, so that the other side does not time out. The
    /// default is 2 seconds.
    pub keep_alive: Duration,
    /// Largest batch of a delivery that fragments, in bytes, in both directions. The default is 1
    /// MiB.
    pub max_fragmented: usize,
    /// Largest backlog of a connection, in bytes of reliable batches, until more are refused. The
    /// default is 2 MiB.
    pub max_backlog: usize,
    /// Largest number of bytes of reliable batches in flight. The default is 256 KiB.
    pub send_window: u32,
    /// Largest number of bytes of reliable batches that the other side can send before this side
    /// has read them. The default is 512 KiB.
    pub receive_window: u32,
    /// Largest number of bytes of unreliable batches that wait to be sent; the oldest are then
    /// dropped. Waiting adds to the age of state where the network takes less than is sent. The
    /// default is 16 KiB.
    pub send_datagrams: usize,
    /// Largest number of bytes of unreliable batches that wait to be handled; the oldest are then
    /// dropped. The default is 128 KiB.
    pub receive_datagrams: usize,
    /// Largest number of batches of [`Delivery::Reliable`](crate::message::Delivery::Reliable) in
    /// flight to this side. The default is 1024.
    pub reliable_streams: u32,
    /// Seed that makes the random choices of the protocol repeatable, except for keys, which are
    /// always random: for tests on a virtual clock. The default is `None`.
    pub seed: Option<u64>,
}

impl Default for QuicConfig {
    fn default() -> Self {
        Self {
            max_connections: 1100,
            max_per_address: 64,
            max_strangers: 256,
            max_handshakes: 64,
            packets_per_second: 4000,
            packets_per_input: 4096,
            idle_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_secs(2),
            max_fragmented: 1 << 20,
            max_backlog: 2 << 20,
            send_window: 256 << 10,
            receive_window: 512 << 10,
            send_datagrams: 16 << 10,
            receive_datagrams: 128 << 10,
            reliable_streams: 1024,
            seed: None,
        }
    }
}
