//! Limits of a QUIC endpoint.

use core::time::Duration;

/// The limits of a [`Quic`](crate::quic::Quic) endpoint. Both sides can have their own.
///
/// The memory that a connection can take on this side is at most 5/2 of
/// [`max_fragmented`](Self::max_fragmented) and [`send_window`](Self::send_window) for sending,
/// and for receiving [`receive_window`](Self::receive_window), one batch of `max_fragmented`
/// and [`receive_datagrams`](Self::receive_datagrams). A hostile peer can make it more by sending
/// little in each packet, since packets are kept whole: docs/RELIABILITY.md has the sum. One that
/// is not [welcome](crate::transport::Transport::welcome) yet takes a small part of it.
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
    /// New connections beyond it are refused.
    /// Default: 1,100.
    pub max_connections: usize,
    /// Largest number of connections from one IP address, or in IPv6 from one network (/64); from
    /// one site (/48) four times as many. Default: 64.
    pub max_per_address: usize,
    /// Largest number of unauthenticated connections: those that have not shown their token to the
    /// session yet. Beyond it, a new connection with a validated address evicts one of the oldest.
    /// They count among all connections too. Default: 256.
    pub max_unauthenticated: usize,
    /// Largest number of incomplete handshakes until new connections must validate their address
    /// first, which takes a round trip more. Default: 64.
    pub max_handshakes: usize,
    /// Packets per second that one remote address and port can send for each of its connections;
    /// packets beyond are dropped unread.
    /// Default: 4,000.
    pub packets_per_second: u32,
    /// Largest number of packets that are taken from the network per input, so that a flood does
    /// not stop the game; of one connection to a server a quarter of them, and packets beyond are
    /// dropped unread. The others are read in the next input.
    /// Default: 4,096.
    pub packets_per_input: usize,
    /// Time of silence after which a connection ends, counted from the first packet that is sent
    /// into it: up to [`keep_alive`](Self::keep_alive) later, if there is nothing else to send.
    /// Default: 10 s.
    pub idle_timeout: Duration,
    /// Time limit of a connection's handshake; a session has a limit of its own for
    /// [what follows](crate::session::SessionConfig::hello_timeout).
    /// Default: 5 s.
    pub handshake_timeout: Duration,
    /// Time without a packet after which one is sent, so that the other side does not time out: less
    /// than [`idle_timeout`](Self::idle_timeout), or `Duration::MAX` for never, where connections that
    /// say nothing may end.
    /// Default: 2 s.
    pub keep_alive: Duration,
    /// Largest batch of a delivery that fragments, in bytes, in both directions. Such batches of twice
    /// as many bytes wait to be sent, and other reliable ones of half as many beside them; more are
    /// refused.
    /// Default: 1,048,576.
    pub max_fragmented: usize,
    /// Largest number of bytes of reliable batches in flight.
    /// Default: 262,144.
    pub send_window: u32,
    /// Largest number of bytes of reliable batches that the other side can send before this side
    /// has read them.
    /// Default: 524,288.
    pub receive_window: u32,
    /// Largest number of bytes of unreliable batches that wait to be sent; the oldest are then
    /// dropped. Waiting adds to the age of state where the network takes less than is sent.
    /// Default: 16,384.
    pub send_datagrams: usize,
    /// Largest number of bytes of unreliable batches that wait to be handled; the oldest are then
    /// dropped.
    /// Default: 131,072.
    pub receive_datagrams: usize,
    /// Largest number of batches of [`Delivery::Reliable`](crate::message::Delivery::Reliable) in
    /// flight to this side.
    /// Default: 1,024.
    pub reliable_streams: u32,
    /// Seed that makes the random choices of the protocol repeatable, except for keys, which are
    /// always random: for tests on a virtual clock.
    /// Default: None.
    pub seed: Option<u64>,
}

impl QuicConfig {
    /// Largest backlog of batches that fragment, in bytes: room for two of the largest.
    pub(super) const fn max_fragmented_backlog(&self) -> usize {
        self.max_fragmented.saturating_mul(2)
    }

    /// Largest backlog of a connection, in bytes of reliable batches: however many of them fragment,
    /// there is room for others.
    pub(super) const fn max_backlog(&self) -> usize {
        self.max_fragmented_backlog().saturating_add(self.max_fragmented / 2)
    }
}

impl Default for QuicConfig {
    fn default() -> Self {
        Self {
            max_connections: 1100,
            max_per_address: 64,
            max_unauthenticated: 256,
            max_handshakes: 64,
            packets_per_second: 4000,
            packets_per_input: 4096,
            idle_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_secs(2),
            max_fragmented: 1 << 20,
            send_window: 256 << 10,
            receive_window: 512 << 10,
            send_datagrams: 16 << 10,
            receive_datagrams: 128 << 10,
            reliable_streams: 1024,
            seed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_field_documents_its_default() {
        crate::limits::check_documented(include_str!("config.rs"), &QuicConfig::default());
    }
}
