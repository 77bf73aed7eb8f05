//! Servers and clients over UDP without an authority: with a certificate of their own.

use core::time::Duration;
use std::net::SocketAddr;

use super::{Certificate, Fingerprint, Quic, QuicConfig, QuicError, Trust, Udp};

impl Quic<Udp> {
    /// Creates a server at this address with a new certificate that it signed itself: for games
    /// among friends and for development. Its [fingerprint](Self::fingerprint), which is logged,
    /// is what clients need to [connect](Self::connect_pinned); it is another one each time.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use tightwire::quic::Quic;
    /// use tightwire::transport::{Event, Transport};
    ///
    /// let mut server = Quic::listen_self_signed("127.0.0.1:0".parse()?)?;
    /// let fingerprint = server.fingerprint().unwrap();
    ///
    /// let clock = Instant::now();
    /// let mut client = Quic::connect_pinned(server.address(), fingerprint, clock.elapsed())?;
    /// let mut is_connected = false;
    /// while !is_connected && clock.elapsed() < Duration::from_secs(10) {
    ///     for end in [&mut client, &mut server] {
    ///         end.handle_input(clock.elapsed());
    ///         while let Some(event) = end.poll_event() {
    ///             is_connected |= matches!(event, Event::Connected { .. });
    ///         }
    ///         end.handle_output(clock.elapsed());
    ///     }
    /// }
    /// assert!(is_connected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`QuicError::Socket`] if there is no socket at this address.
    pub fn listen_self_signed(address: SocketAddr) -> Result<Self, QuicError> {
        let why = |error: std::io::Error| QuicError::Socket { address, reason: error.into() };
        let udp = Udp::server(address).map_err(why)?;
        let certificate = Certificate::self_signed([NAME])?;
        let quic = Self::listen(udp, &certificate, QuicConfig::default())?;
        log::info!(
            "{}: listens with the certificate {}",
            quic.address(),
            certificate.fingerprint()
        );
        Ok(quic)
    }

    /// Creates a client, which connects to the server at this address whose certificate has this
    /// fingerprint. Another program at the address is refused, without any authority: see
    /// [`listen_self_signed`](Self::listen_self_signed).
    ///
    /// # Errors
    ///
    /// [`QuicError::Socket`] if there is no socket for the address.
    pub fn connect_pinned(
        server: SocketAddr,
        fingerprint: Fingerprint,
        now: Duration,
    ) -> Result<Self, QuicError> {
        let address = server;
        let why = |error: std::io::Error| QuicError::Socket { address, reason: error.into() };
        let udp = Udp::client(server).map_err(why)?;
        let trust = Trust::Pinned(vec![fingerprint]);
        Self::connect(udp, server, NAME, &trust, QuicConfig::default(), now)
    }
}

/// Name in the certificate: a client that pins a certificate does not look at it.
const NAME: &str = "localhost";
