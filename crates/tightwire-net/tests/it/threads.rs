//! Handles can be moved to other threads, and shared by several.

use tightwire::message::{Messenger, MessengerBuilder};
use tightwire::packet::Protocol;
use tightwire::play::{self, Game, Input};
use tightwire::quic::{Quic, SimulatedSocket, Udp};
use tightwire::session::{ClientBuilder, ServerBuilder};
use tightwire::snapshot::{self, Playback};
use tightwire::token::TokenGate;
use tightwire::transport::InProcess;
use tightwire::{Client, Server};
use tightwire::{Message, Wire};

/// A state that belongs to its thread: the state for handlers is no part of a handle.
type Local = std::rc::Rc<()>;

#[derive(Wire, Message, Default)]
struct Jump;

#[derive(Wire, Default, Clone)]
struct Drive {
    fire: bool,
}

impl Input for Drive {}

const fn send_and_sync<T: Send + Sync>() {}

const _: () = {
    send_and_sync::<Messenger<Local>>();
    send_and_sync::<MessengerBuilder<Local>>();
    send_and_sync::<Protocol<Jump>>();
    send_and_sync::<snapshot::Sender>();
    send_and_sync::<snapshot::Receiver>();
    send_and_sync::<snapshot::ProtocolBuilder>();
    send_and_sync::<Playback>();
    send_and_sync::<InProcess>();
    send_and_sync::<Quic<Udp>>();
    send_and_sync::<Quic<SimulatedSocket>>();
    send_and_sync::<TokenGate>();
    send_and_sync::<Server<Local, Quic<Udp>>>();
    send_and_sync::<Server<Local, InProcess>>();
    send_and_sync::<ServerBuilder<Local, Quic<Udp>>>();
    send_and_sync::<Client<Local, Quic<Udp>>>();
    send_and_sync::<ClientBuilder<Local, InProcess>>();
    send_and_sync::<Game<Drive>>();
    send_and_sync::<play::Server<Drive, Quic<Udp>>>();
    send_and_sync::<play::Client<Drive, Quic<Udp>>>();
};
