//! Sessions and transports for [Tightwire](tightwire).

pub mod conformance;
mod hex;
mod in_process;
mod quic;
mod reason;
mod recording;
mod session;
mod token;
mod transport;

pub use hex::NotHex;
pub use in_process::{InProcess, InProcessConfig};
pub use quic::{
    BadCertificate, Certificate, Fingerprint, Network, Packet, Packets, Quic, QuicConfig,
    QuicError, SimulatedSocket, Socket, Trust, Udp,
};
pub use reason::{Reason, TokenFault};
pub use recording::{Recorder, RecordingError, Replay, Step};
pub use session::{
    Admit, Admitted, Client, ClientBuilder, PeerReport, Server, ServerBuilder, SessionConfig,
    SessionError, SessionEvent,
};
pub use token::{Admission, Claims, NotMinted, SealedToken, TokenGate, TokenGateConfig, TokenKey};
pub use transport::{Connection, Event, NotSent, Path, Transport};
