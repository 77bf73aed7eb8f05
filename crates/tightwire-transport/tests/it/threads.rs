//! Handles can be moved to other threads, and looked at from several.

use tightwire::{Message, Messenger, MessengerBuilder, Playback, Protocol, Wire};
use tightwire::{SnapshotProtocolBuilder, SnapshotReceiver, SnapshotSender};
use tightwire_transport::{
    Client, ClientBuilder, InProcess, Quic, Server, ServerBuilder, SimulatedSocket, TokenGate, Udp,
};

/// A state that belongs to its thread: what handlers are given is no part of a handle.
type Local = std::rc::Rc<()>;

#[derive(Wire, Message, Default)]
struct Jump;

const fn send_and_sync<T: Send + Sync>() {}

const _: () = {
    send_and_sync::<Messenger<Local>>();
    send_and_sync::<MessengerBuilder<Local>>();
    send_and_sync::<Protocol<Jump>>();
    send_and_sync::<SnapshotSender>();
    send_and_sync::<SnapshotReceiver>();
    send_and_sync::<SnapshotProtocolBuilder>();
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
};
