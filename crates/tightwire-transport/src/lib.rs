//! Sessions and transports for [Tightwire](tightwire): from messages in memory to players on a bad
//! network.
//!
//! The guide [`over_the_wire`](guide::over_the_wire) is the way in. This page is the tour.
//!
//! # session
//!
//! A [`Server`] and its [`Client`]s put a [`Messenger`](tightwire::Messenger) on a transport: they connect
//! with a token and a protocol id, refuse each other with reasons, keep what does not fit from growing, and
//! say how each peer is doing. `docs/WIRE.md` has what they say to each other.
//!
//! ```
//! use std::time::Duration;
//! use tightwire::{Message, Wire};
//! use tightwire_transport::{Client, InProcess, InProcessConfig, Server, SessionConfig};
//!
//! #[derive(Wire, Message, Default)]
//! struct Jump;
//!
//! let (client_end, server_end) = InProcess::pair(InProcessConfig::default(), 1);
//! let config = SessionConfig::new("arena", "1.0");
//! let mut server = Server::<(), _>::builder(config.clone())
//!     .send_only::<Jump>()
//!     .open_to_anyone()
//!     .build(server_end)?;
//! let mut client = Client::<(), _>::builder(config).send_only::<Jump>().build(client_end)?;
//! for millisecond in 0..20 {
//!     let now = Duration::from_millis(millisecond);
//!     server.receive(now, &mut ());
//!     server.transmit(now);
//!     client.receive(now, &mut ());
//!     client.transmit(now);
//! }
//! assert_eq!(server.peers().count(), 1);
//! # Ok::<(), tightwire_transport::SessionError>(())
//! ```
//!
//! # transport
//!
//! A [`Transport`] carries batches and keeps the promise of their [`Delivery`](tightwire::Delivery). It owns
//! no thread, no runtime and no clock: time is an argument. There are two, and [`conformance::run`] judges any
//! other:
//!
//! * [`Quic`] over a [`Udp`] socket, or over a simulated [`Network`] on a virtual clock;
//! * [`InProcess`], two ends in one process with a bad network between them, or a perfect one.
//!
//! # token
//!
//! A [`TokenKey`] makes connect tokens at the game's backend, and a [`TokenGate`] takes each of them once. A
//! [`Certificate`] is what a server shows, and [`Trust`] what a client accepts.
//!
//! # recording
//!
//! A [`Recorder`] writes everything that a session sees into a file, and a [`Replay`] is a transport that
//! plays it: the session comes to the same state again, or to the same crash.
//!
//! # captured
//!
//! With the feature `capture`, a [`Captured`] transport writes the messages that it carries into a pcapng file,
//! which says what they mean: for `tightwire inspect` and for Wireshark.
#![cfg_attr(not(feature = "capture"), doc = "\n[`Captured`]: #captured")]
// The tour is of the whole crate.
#![cfg_attr(not(feature = "quic"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "capture")]
mod captured;
pub mod conformance;
mod hex;
mod in_process;
mod quic;
mod reason;
mod recording;
mod session;
mod token;
mod transport;

#[cfg(feature = "capture")]
pub use captured::Captured;
pub use hex::NotHex;
pub use in_process::{InProcess, InProcessConfig};
pub use quic::{BadCertificate, Certificate, Fingerprint};
#[cfg(feature = "quic")]
pub use quic::{
    Filter, Network, Packet, Packets, Quic, QuicConfig, QuicError, SimulatedSocket, Socket, Trust,
    Udp,
};
pub use reason::{Reason, TokenFault};
pub use recording::{Recorder, RecordingError, Replay, Step};
pub use session::{
    Admit, Admitted, Client, ClientBuilder, PeerReport, Server, ServerBuilder, SessionConfig,
    SessionError, SessionEvent, SessionPeers,
};
pub use token::{Admission, Claims, NotMinted, SealedToken, TokenGate, TokenGateConfig, TokenKey};
pub use transport::{Connection, Event, NotSent, Path, Transport};

/// Chapters that are read from the beginning.
pub mod guide {
    #[doc = include_str!("../guide/over_the_wire.md")]
    pub mod over_the_wire {}
}

/// The README's examples are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
