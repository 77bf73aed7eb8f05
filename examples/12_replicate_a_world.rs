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

#[derive(Wire, Message, Default)]
#[message(size_upper_bound = 2 + self.packet.len())]
struct Snapshot {
    #[wire(max_len = 1000)]
    packet: Vec<u8>,
}

#[derive(Wire, Message, Default)]
struct Ack(SnapshotAck);

/// What either side has: the server fills in `acks`, the client `world` and `playback`.
struct Game {
    acks: Vec<SnapshotAck>,
    world: SnapshotReceiver,
    playback: Playback,
    bytes: usize,
}

fn game() -> Result<(SnapshotProtocol, Game), SnapshotProtocolError> {
    let protocol = SnapshotProtocol::builder(SnapshotConfig::default()).class::<Ball>().build()?;
    let (world, playback) =
        (SnapshotReceiver::new(&protocol), Playback::new(&protocol, Default::default()));
    Ok((protocol, Game { acks: Vec::new(), world, playback, bytes: 0 }))
}

fn messages(builder: MessengerBuilder<Game>) -> MessengerBuilder<Game> {
    builder
        .handle(|ack: &Ack, context: &mut Context<'_, Game>| context.state.acks.push(ack.0))
        .handle(|snapshot: &Snapshot, context: &mut Context<'_, Game>| {
            let (now, game) = (context.now(), &mut *context.state);
            // A packet that is late, as the error says, is no loss: the next one has it all.
            if game.world.handle_snapshot(&snapshot.packet).is_ok() {
                game.playback.handle_snapshot(now, &game.world);
                game.bytes += snapshot.packet.len();
            }
        })
}

fn server() -> Result<(), Box<dyn Error>> {
    let certificate = Certificate::self_signed(["localhost"])?;
    let transport =
        Quic::listen(Udp::server("127.0.0.1:0".parse()?)?, &certificate, QuicConfig::default())?;
    let arguments = [transport.address().to_string(), certificate.fingerprint().to_string()];
    let (protocol, mut game) = game()?;
    let config = SessionConfig::new("balls", format!("{:x}", protocol.fingerprint()));
    let mut server =
        Server::builder(config).register(messages).open_to_anyone().build(transport)?;
    let mut process = Command::new(env::current_exe()?).args(arguments).spawn()?;
    let (mut sender, start) = (SnapshotSender::new(&protocol), Instant::now());
    let mut player = None;
    for tick in 1.. {
        sender.begin_tick(tick);
        for id in 0..100u32 {
            // Balls that are thrown up again and again.
            let (time, speed) = (tick as f32 / 60.0 + id as f32 * 0.1, 6.0);
            let flight = time % (2.0 * speed / 9.81);
            let height = flight * speed - 9.81 / 2.0 * flight * flight;
            let (x, y) = ((id % 10) as f32, (id / 10) as f32);
            let velocity = [0.0, 0.0, speed - 9.81 * flight];
            sender.set(id, &mut Ball { position: [x, y, height], velocity })?;
        }
        server.tick(start.elapsed(), &mut game);
        while let Some(event) = server.poll_event() {
            match event {
                SessionEvent::Connected { peer, .. } => {
                    player = Some((peer, sender.add_receiver(Leaving::Despawn)))
                }
                SessionEvent::Disconnected { .. } => return Ok(process.wait().map(drop)?),
                _ => {}
            }
        }
        if let Some((peer, receiver)) = player {
            game.acks.drain(..).for_each(|ack| sender.handle_ack(receiver, ack));
            let packet = sender.snapshot(receiver, 1000).unwrap_or_default().to_vec();
            server.send(&mut game, peer, &mut Snapshot { packet }, Delivery::Unreliable)?;
        }
        thread::sleep(
            (start + Duration::from_secs(1) / 60 * tick).saturating_duration_since(Instant::now()),
        );
    }
    Ok(())
}

fn client(address: &str, fingerprint: &str) -> Result<(), Box<dyn Error>> {
    let (address, trust) = (address.parse()?, Trust::Pinned(vec![fingerprint.parse()?]));
    let (start, config) = (Instant::now(), QuicConfig::default());
    let transport = Quic::connect(
        Udp::client(address)?,
        address,
        "localhost",
        &trust,
        config,
        start.elapsed(),
    )?;
    let (protocol, mut game) = game()?;
    let config = SessionConfig::new("balls", format!("{:x}", protocol.fingerprint()));
    let mut client = Client::builder(config).register(messages).build(transport)?;
    while start.elapsed() < Duration::from_secs(2) {
        client.tick(start.elapsed(), &mut game);
        while client.poll_event().is_some() {}
        if let Some(ack) = game.world.ack() {
            client.send(&mut game, &mut Ack(ack), Delivery::Unreliable)?;
        }
        game.playback.advance(start.elapsed());
        thread::sleep(Duration::from_millis(16));
    }
    let (Some(time), Some(ball)) = (game.playback.time(), game.playback.get::<Ball>(7)) else {
        return Err("nothing arrived".into());
    };
    println!("client: at tick {time:.1}, ball 7 is {:.3} m high", ball.position[2]);
    println!(
        "client: {} bytes a snapshot, where 100 balls are {}",
        game.bytes / game.world.newest().map_or(1, |newest| newest.tick as usize),
        100 * Ball::MAX_BYTES
    );
    assert_eq!(game.world.objects().count(), 100);
    Ok(client.disconnect(start.elapsed()))
}

fn main() -> Result<(), Box<dyn Error>> {
    match &env::args().collect::<Vec<_>>()[..] {
        [_, address, fingerprint] => client(address, fingerprint),
        _ => server(),
    }
}
