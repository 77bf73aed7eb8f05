//! Snapshots: the state of many objects, as what changed since a state that the receiver has.
#![cfg_attr(not(test), expect(dead_code, reason = "the codecs that use it are yet to come"))]

mod layout;
