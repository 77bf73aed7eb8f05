//! How much of everything a QUIC endpoint allows.

use core::time::Duration;

/// The limits of a [`Quic`](crate::quic::Quic) endpoint. Both sides can have their own.
///
/// The memory that a connection can take on this side is at most [`max_backlog`](Self::max_backlog)
/// and [`send_window`](Self::send_window) for what is sent, and
/// [`receive_window`](Self::receive_window), one batch of [`max_fragmented`](Self::max_fragmented) and
/// [`receive_datagrams`](Self::receive_datagrams) for what is received.
///
/// ```
/// use tightwire::quic::QuicConfig;
///
/// let small = QuicConfig { max_connections: 16, ..QuicConfig::default() };
/// assert_eq!(small.max_fragmented, 1 << 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuicConfig {
    /// How many connections there can be, those included that are not yet complete, or not yet
    /// forgotten. Who comes then is refused.
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
    /// The packets each second that one remote address and port can send for each of its
    /// connections; what is beyond is dropped unread.
    pub packets_per_second: u32,
    /// The packets that are taken from the network at a time, so that a flood does not stop the game.
    pub packets_per_input: usize,
    /// After so much silence a connection ends, counted from the first packet that is sent into it: so
    /// up to [`keep_alive`](Self::keep_alive) later, if there is nothing else to send.
    pub idle_timeout: Duration,
    /// After so long, one that is not complete ends.
    pub handshake_timeout: Duration,
    /// After so long without a packet, one is sent, so that the other side does not time out.
    pub keep_alive: Duration,
    /// The largest batch of a delivery that fragments, in both directions.
    pub max_fragmented: usize,
    /// The bytes of reliable batches of one connection that can wait until more are refused.
    pub max_backlog: usize,
    /// The bytes of reliable batches that are sent and not acknowledged.
    pub send_window: u32,
    /// The bytes of reliable batches that the other side can send before this side has read them.
    pub receive_window: u32,
    /// The bytes of unreliable batches that can wait to be sent; the oldest are then dropped. What
    /// waits gets old: where the network takes less than is sent, state is late by so much.
    pub send_datagrams: usize,
    /// The bytes of unreliable batches that can wait to be handled; the oldest are then dropped.
    pub receive_datagrams: usize,
    /// How many batches of [`Delivery::Reliable`](crate::message::Delivery::Reliable) can be on their way
    /// to this side at a time.
    pub reliable_streams: u32,
    /// Makes what is random in the protocol the same each time, but for keys, which are never: for
    /// tests on a virtual clock.
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
