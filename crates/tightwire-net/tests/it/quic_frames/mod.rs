//! Attacks of a peer that puts any frame into any packet: see `common::by_hand`.

mod addresses;
mod by_hand;
mod flood;
mod floods;
mod fragments;
mod paused;
mod stand;
mod strangers;
