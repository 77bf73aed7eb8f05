//! QUIC over UDP.

mod arrivals;
mod certificate;
mod config;
mod congestion;
mod connections;
mod endpoint;
mod farewell;
mod flood;
mod incoming;
mod network;
mod outgoing;
mod reasons;
mod setup;
mod slot;
mod socket;

pub use certificate::{BadCertificate, Certificate, Fingerprint, Trust};
pub use config::QuicConfig;
pub use endpoint::Quic;
pub use network::{Network, SimulatedSocket};
pub use setup::QuicError;
pub use socket::{Packet, Packets, Socket, Udp};
