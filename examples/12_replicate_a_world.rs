//! Two processes: a server sends a world of 100 balls 60 times a second, and a client shows it.

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, thread};

use tightwire::*;
use tightwire_transport::*;

#[derive(Wire, Default)]
struct Ball {
    #[wire(spatial, min = -16.0, max = 16.0, resolution = 0.002)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -16.0, max = 16.0, resolution = 0.01)]
    velocity: [f32; 3],
}

/// Thrown up, and again as soon as it comes down.
fn ball(id: u32, tick: u32) -> Ball {
    let (speed, gravity) = (6.0, 9.81);
    let flight = (tick as f32 / 60.0 + id as f32 * 0.1) % (2.0 * speed / gravity);
    let height = speed * flight - gravity / 2.0 * flight * flight;
    let position = [(id % 10) as f32, (id / 10) as f32, height];
    Ball { position, velocity: [0.0, 0.0, speed - gravity * flight] }
}

#[derive(Wire, Message, Default)]
#[message(size_upper_bound = 2 + self.packet.len())]
struct Snapshot {
    #[wire(max_len = 1000)]
    packet: Vec<u8>,
}

#[derive(Wire, Message, Default)]
struct Ack(SnapshotAck);

/// What came: acknowledgements to the server, snapshots to a client.
#[derive(Default)]
struct Inbox(Vec<SnapshotAck>, Vec<Vec<u8>>);

fn messages(builder: MessengerBuilder<Inbox>) -> MessengerBuilder<Inbox> {
    builder
        .handle(|ack: &Ack, context: &mut Context<'_, Inbox>| context.state.0.push(ack.0))
        .handle(|snapshot: &Snapshot, context: &mut Context<'_, Inbox>| {
            context.state.1.push(snapshot.packet.clone());
        })
}

fn main() -> Result<(), Box<dyn Error>> {
    let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<Ball>().build()?;
    let config = SessionConfig::new("balls", &format!("1.0-{:x}", protocol.fingerprint()));
    match &env::args().collect::<Vec<_>>()[..] {
        [_, address, fingerprint] => client(&protocol, config, address, fingerprint),
        _ => server(&protocol, config),
    }
}

fn server(protocol: &SnapshotProtocol, config: SessionConfig) -> Result<(), Box<dyn Error>> {
    let certificate = Certificate::self_signed(["localhost"])?;
    let socket = Udp::server("127.0.0.1:0".parse()?)?;
    let transport = Quic::listen(socket, &certificate, QuicConfig::default())?;
    let arguments = [transport.address().to_string(), certificate.fingerprint().to_string()];
    let mut server =
        Server::builder(config).register(messages).open_to_anyone().build(transport)?;
    let mut process = Command::new(env::current_exe()?).args(arguments).spawn()?;
    let (mut sender, mut inbox, start) =
        (SnapshotSender::new(protocol), Inbox::default(), Instant::now());
    let (mut players, mut tick) = (Vec::new(), 0);
    while process.try_wait()?.is_none() {
        tick += 1;
        server.tick(start.elapsed(), &mut inbox);
        while let Some(event) = server.poll_event() {
            if let SessionEvent::Connected { peer, .. } = event {
                players.push((peer, sender.add_receiver(Leaving::Despawn)));
            }
        }
        sender.begin_tick(tick);
        (0..100).try_for_each(|id| sender.set(id, &mut ball(id, tick)))?;
        for &(peer, receiver) in &players {
            inbox.0.drain(..).for_each(|ack| sender.handle_ack(receiver, ack));
            let packet = sender.snapshot(receiver, 1000).unwrap_or_default().to_vec();
            let _ = server.send(&mut inbox, peer, &mut Snapshot { packet }, Delivery::Unreliable);
        }
        thread::sleep((Duration::from_secs(tick.into()) / 60).saturating_sub(start.elapsed()));
    }
    process.wait()?.success().then_some(()).ok_or("the client failed".into())
}

fn client(
    protocol: &SnapshotProtocol,
    config: SessionConfig,
    address: &str,
    fingerprint: &str,
) -> Result<(), Box<dyn Error>> {
    let (address, trust, start) =
        (address.parse()?, Trust::Pinned(vec![fingerprint.parse()?]), Instant::now());
    let transport = Quic::connect(
        Udp::client(address)?,
        address,
        "localhost",
        &trust,
        QuicConfig::default(),
        start.elapsed(),
    )?;
    let mut client = Client::builder(config).register(messages).build(transport)?;
    let (mut world, mut inbox) = (SnapshotReceiver::new(protocol), Inbox::default());
    let mut playback = Playback::new(protocol, PlaybackConfig::default());
    let (mut bytes, mut snapshots) = (0, 0);
    while snapshots < 90 {
        client.tick(start.elapsed(), &mut inbox);
        while client.poll_event().is_some() {}
        for packet in inbox.1.drain(..) {
            if world.handle_snapshot(&packet).is_ok() {
                playback.handle_snapshot(start.elapsed(), &world);
                (bytes, snapshots) = (bytes + packet.len(), snapshots + 1);
            }
        }
        if let Some(ack) = world.ack() {
            client.send(&mut inbox, &mut Ack(ack), Delivery::Unreliable)?;
        }
        playback.advance(start.elapsed());
        thread::sleep(Duration::from_millis(8));
    }
    let (time, shown) =
        (playback.time().ok_or("no time")?, playback.get::<Ball>(7).ok_or("no ball")?);
    println!(
        "ball 7 is {:.3} m high at tick {time:.2}; 100 balls are {} bytes a snapshot",
        shown.position[2],
        bytes / snapshots
    );
    assert!((shown.position[2] - ball(7, time as u32).position[2]).abs() < 0.2);
    Ok(())
}
