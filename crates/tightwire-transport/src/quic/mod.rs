//! QUIC over UDP.

mod arrivals;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod bpf;
mod certificate;
mod config;
mod congestion;
mod connections;
mod endpoint;
mod farewell;
mod filter;
mod flood;
mod ids;
mod incoming;
mod network;
mod outgoing;
mod reasons;
mod setup;
mod slot;
mod socket;
mod watch;

pub use certificate::{BadCertificate, Certificate, Fingerprint, Trust};
pub use config::QuicConfig;
pub use endpoint::Quic;
pub use filter::Filter;
pub use network::{Network, SimulatedSocket};
pub use setup::QuicError;
pub use socket::{Packet, Packets, Socket, Udp};
