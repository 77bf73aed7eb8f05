//! Two processes: a server sends a world of 100 balls 60 times a second, and a client shows it. What
//! travelled is in a capture, for `tightwire inspect`.

use std::time::{Duration, Instant};
use std::{env, error::Error, process::Command, thread};

use tightwire::inspect::{Capture, CaptureWriter, Captured};
use tightwire::message::MessengerBuilder;
use tightwire::quic::{Certificate, Quic, QuicConfig, Trust, Udp};
use tightwire::snapshot::{self, Leaving, Playback, SnapshotPacket};
use tightwire::{Client, Context, Delivery, Message, Server, SessionConfig, SessionEvent, Wire};

type Done = Result<(), Box<dyn Error>>;

#[derive(Wire, Default)]
struct Ball {
    #[wire(spatial, min = -16.0, max = 16.0, resolution = 0.002)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -16.0, max = 16.0, resolution = 0.01)]
    velocity: [f32; 3],
}

/// Returns a ball that is thrown up again whenever it comes down.
fn ball(id: u32, tick: u32) -> Ball {
    let flight = (tick as f32 / 60.0 + id as f32 * 0.1) % (2.0 * 6.0 / 9.81);
    let height = 6.0 * flight - 9.81 / 2.0 * flight * flight;
    let position = [(id % 10) as f32, (id / 10) as f32, height];
    Ball { position, velocity: [0.0, 0.0, 6.0 - 9.81 * flight] }
}

/// Not as a list of bytes: tools take a `SnapshotPacket` apart.
#[derive(Wire, Message, Default)]
struct Snapshot(SnapshotPacket);

#[derive(Wire, Message, Default)]
struct Ack(snapshot::Ack);

/// Received messages: acks at the server, snapshots at a client.
#[derive(Default)]
struct Inbox(Vec<snapshot::Ack>, Vec<Vec<u8>>);

fn messages(builder: MessengerBuilder<Inbox>) -> MessengerBuilder<Inbox> {
    builder
        .handle(|ack: &Ack, context: &mut Context<'_, Inbox>| context.state.0.push(ack.0))
        .handle(|it: &Snapshot, context: &mut Context<'_, Inbox>| {
            context.state.1.push(it.0.bytes.clone());
        })
}

fn main() -> Done {
    let protocol =
        snapshot::Protocol::builder(snapshot::Config::default()).class::<Ball>().build()?;
    let config = SessionConfig::new("balls", "1.0").with_snapshots(&protocol);
    match &env::args().collect::<Vec<_>>()[..] {
        [_, address, fingerprint] => client(&protocol, config, [address, fingerprint]),
        _ => server(&protocol, config),
    }
}

fn server(protocol: &snapshot::Protocol, config: SessionConfig) -> Done {
    let certificate = Certificate::self_signed(["localhost"])?;
    let socket = Udp::server("127.0.0.1:0".parse()?)?;
    let transport = Quic::listen(socket, &certificate, QuicConfig::default())?;
    let arguments = [transport.address().to_string(), certificate.fingerprint().to_string()];
    let (address, unix_start) = (transport.address(), config.unix_start);
    let builder = Server::builder(config).register(messages).open_to_anyone();
    // Into memory here: a file would be `BufWriter::new(File::create("balls.pcapng")?)`.
    let recorder =
        CaptureWriter::with_snapshots(Vec::new(), &builder.capture_identity()?, protocol)?;
    let mut server = builder.build(Captured::new(transport, recorder, address, unix_start))?;
    let mut process = Command::new(env::current_exe()?).args(arguments).spawn()?;
    let (mut inbox, mut player, start) = (Inbox::default(), None, Instant::now());
    let (mut sender, mut snapshot) = (snapshot::Sender::new(protocol), Snapshot::default());
    let mut tick = 0;
    while process.try_wait()?.is_none() {
        tick += 1;
        server.receive(start.elapsed(), &mut inbox);
        while let Some(event) = server.poll_event() {
            if let SessionEvent::Connected { peer, .. } = event {
                player = Some((peer, sender.add_receiver(Leaving::Despawn)));
            }
        }
        sender.begin_tick(tick);
        (0..100).try_for_each(|id| sender.set(id, &ball(id, tick)))?;
        if let Some((peer, receiver)) = player {
            inbox.0.drain(..).for_each(|ack| sender.handle_ack(receiver, ack));
            snapshot.0.replace(sender.snapshot(receiver, 1000).unwrap_or_default());
            let _ = server.send(peer, &snapshot, Delivery::Unreliable);
        }
        server.transmit(start.elapsed());
        thread::sleep((Duration::from_secs(tick.into()) / 60).saturating_sub(start.elapsed()));
    }
    let file = server.transport().file(Vec::clone);
    println!("{} messages are a capture of {} bytes", server.transport().recorded(), file.len());
    assert!(Capture::new(&file[..])?.snapshots().is_some());
    process.wait()?.success().then_some(()).ok_or("the client failed".into())
}

fn client(protocol: &snapshot::Protocol, config: SessionConfig, server: [&str; 2]) -> Done {
    let (address, trust) = (server[0].parse()?, Trust::Pinned(vec![server[1].parse()?]));
    let (socket, quic, start) = (Udp::client(address)?, QuicConfig::default(), Instant::now());
    let transport = Quic::connect(socket, address, "localhost", &trust, quic, start.elapsed())?;
    let mut client = Client::builder(config).register(messages).build(transport)?;
    let (mut world, mut inbox) = (snapshot::Receiver::new(protocol), Inbox::default());
    let (mut playback, mut sizes) = (Playback::new(protocol, Default::default()), Vec::new());
    while sizes.len() < 90 {
        client.receive(start.elapsed(), &mut inbox);
        while client.poll_event().is_some() {}
        for packet in inbox.1.drain(..) {
            // A late snapshot is refused, which is no loss: later ones contain everything.
            if world.handle_snapshot(&packet).is_ok() {
                playback.handle_snapshot(start.elapsed(), &world);
                sizes.push(packet.len());
            }
        }
        if let Some(ack) = world.ack() {
            client.send(&Ack(ack), Delivery::Unreliable)?;
        }
        client.transmit(start.elapsed());
        playback.advance(start.elapsed());
        thread::sleep(Duration::from_millis(8));
    }
    let shown = playback.get::<Ball>(7).ok_or("no ball")?.position[2];
    println!("ball 7 is {shown:.3} m high at tick {:.2}", playback.time().ok_or("no time")?);
    println!("100 balls are {} bytes a snapshot", sizes[30..].iter().sum::<usize>() / 60);
    assert!((0.0..2.0).contains(&shown) && world.objects().count() == 100);
    Ok(())
}
