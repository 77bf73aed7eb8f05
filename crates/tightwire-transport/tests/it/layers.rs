//! The layers of the crate, and that none imports one that stands above or beside it.

use crate::common::layers;

/// What each layer may import.
const LAYERS: [(&str, &[&str]); 10] = [
    ("reason", &[]),
    ("hex", &[]),
    ("transport", &["reason"]),
    ("token", &["reason", "hex"]),
    ("in_process", &["transport", "reason"]),
    ("quic", &["transport", "reason", "hex"]),
    ("conformance", &["transport", "reason"]),
    ("session", &["transport", "reason", "token"]),
    // What a session was told is a part of its recording.
    ("recording", &["transport", "reason", "session"]),
    ("captured", &["transport", "reason"]),
];

#[test]
fn no_layer_imports_one_above_or_beside_it() {
    layers::check(&LAYERS);
}
