//! A client and a server over a simulated network.

use core::time::Duration;

use super::network::{Network, SimulatedSocket};
use super::{Certificate, Quic, QuicConfig, QuicError, Trust};

impl Quic<SimulatedSocket> {
    /// Creates a client and its server over a simulated network, with the addresses `10.0.0.2:1000`
    /// and `10.0.0.1:7777`: for tests of a game over a bad network, on a virtual clock that starts
    /// at zero.
    ///
    /// The server has a new certificate, which the client pins. With a [`seed`](QuicConfig::seed),
    /// the same calls at the same times do the same.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::link::LinkConfig;
    /// use tightwire::quic::{Network, Quic, QuicConfig};
    /// use tightwire::transport::{Event, Transport};
    ///
    /// let link = LinkConfig { latency: Duration::from_millis(40), loss: 0.2, ..LinkConfig::default() };
    /// let network = Network::new(link, 7);
    /// let config = QuicConfig { seed: Some(7), ..QuicConfig::default() };
    /// let (mut client, mut server) = Quic::pair(&network, config)?;
    ///
    /// let mut connected = 0;
    /// for frame in 0..120 {
    ///     let now = Duration::from_millis(16) * frame;
    ///     for end in [&mut client, &mut server] {
    ///         end.handle_input(now);
    ///         while let Some(event) = end.poll_event() {
    ///             connected += usize::from(matches!(event, Event::Connected { .. }));
    ///         }
    ///         end.handle_output(now);
    ///     }
    /// }
    /// assert_eq!(connected, 2);
    /// # Ok::<(), tightwire::quic::QuicError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`QuicError`] if a limit cannot be used.
    pub fn pair(network: &Network, config: QuicConfig) -> Result<(Self, Self), QuicError> {
        let (here, there) = (([10, 0, 0, 2], 1000).into(), ([10, 0, 0, 1], 7777).into());
        let certificate = Certificate::self_signed([NAME])?;
        let trust = Trust::Pinned(vec![certificate.fingerprint()]);
        let server = Self::listen(network.socket(there), &certificate, config)?;
        let start = Duration::ZERO;
        let client = Self::connect(network.socket(here), there, NAME, &trust, config, start)?;
        Ok((client, server))
    }
}

/// Name of the server.
const NAME: &str = "game.example";
