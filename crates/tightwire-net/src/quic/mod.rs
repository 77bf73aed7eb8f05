//! QUIC over UDP. Without the feature `quic` only its certificates, which tools make for servers.

#[cfg(feature = "quic")]
mod acceptor;
#[cfg(all(feature = "quic", any(target_os = "linux", target_os = "android")))]
mod bpf;
mod certificate;
#[cfg(feature = "quic")]
mod close_repeater;
#[cfg(feature = "quic")]
mod conditioned;
#[cfg(feature = "quic")]
mod config;
#[cfg(feature = "quic")]
mod congestion;
#[cfg(feature = "quic")]
mod connections;
#[cfg(feature = "quic")]
mod endpoint;
#[cfg(feature = "quic")]
mod filter;
#[cfg(feature = "quic")]
mod flood;
#[cfg(feature = "quic")]
mod flood_detector;
#[cfg(feature = "quic")]
mod guard;
#[cfg(feature = "quic")]
mod ids;
#[cfg(feature = "quic")]
mod incoming;
#[cfg(feature = "quic")]
mod network;
#[cfg(feature = "quic")]
mod outgoing;
#[cfg(feature = "quic")]
mod pair;
#[cfg(feature = "quic")]
mod pinned;
#[cfg(feature = "quic")]
mod reasons;
#[cfg(feature = "quic")]
mod setup;
#[cfg(feature = "quic")]
mod slot;
#[cfg(feature = "quic")]
mod socket;

#[cfg(feature = "quic")]
pub use certificate::Trust;
pub use certificate::{Certificate, CertificateError, Fingerprint};
#[cfg(feature = "quic")]
pub use conditioned::{Conditioned, Conditions};
#[cfg(feature = "quic")]
pub use config::QuicConfig;
#[cfg(feature = "quic")]
pub use endpoint::Quic;
#[cfg(feature = "quic")]
pub use filter::Filter;
#[cfg(feature = "quic")]
pub use network::{Network, SimulatedSocket};
#[cfg(feature = "quic")]
pub use setup::QuicError;
#[cfg(feature = "quic")]
pub use socket::{Packet, Packets, Socket, Udp};
