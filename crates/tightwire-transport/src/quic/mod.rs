//! QUIC over UDP.

mod certificate;

pub use certificate::{BadCertificate, Certificate, Fingerprint, Trust};
