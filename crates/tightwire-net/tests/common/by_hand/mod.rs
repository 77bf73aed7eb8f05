//! A peer that speaks QUIC by hand: any frame, at any offset, in any packet, before and after the
//! handshake. Keys come from `rustls::quic`, all else is written here (RFC 9000, RFC 9001).

#![allow(dead_code, unused_imports, reason = "no binary has a use for all of it")]

pub(crate) mod frames;
mod handshake;
mod packet;
mod peer;

pub(crate) use handshake::{ParameterChange, number as parameter};
pub(crate) use packet::Level;
pub(crate) use peer::HandPeer;
