//! Attacks of a peer that puts any frame into any packet: see `common::by_hand`.

mod acks;
mod addresses;
mod by_hand;
mod fair;
mod flood;
mod floods;
mod fragments;
mod ids;
mod keys;
mod parameters;
mod paused;
mod test_bed;
mod unauthenticated;
