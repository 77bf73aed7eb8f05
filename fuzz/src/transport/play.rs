use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tightwire::play::{
    Client, ClientConfig, Game, Input, Scene, Server, ServerConfig, ServerEvent,
};
use tightwire::session::OpenToAnyone;
use tightwire::transport::{Connection, Event, InProcess, Transport, TransportWrapper};
use tightwire::{Delivery, Wire};

#[derive(Wire, Default, Clone)]
struct Ball {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 2],
    #[wire(range = 0..=9)]
    hits: u8,
}

#[derive(Wire, Default, Clone)]
struct Push {
    #[wire(range = -1..=1)]
    x: i8,
    #[wire(min = 0.0, max = 1.0, resolution = 0.1)]
    force: f32,
}

impl Input for Push {}

/// Checks frames of the play layer: any input frames at a server, and any snapshot frames at a
/// client, after a hello with any resume ticket: if the first byte is 255, the next one is the
/// length of a ticket, modulo 48, which follows. Each frame follows a control byte and a length
/// byte; the highest bit of the control byte chooses the client's side, and the next one ends the
/// tick. Bodies that are shorter than their length are kept short.
pub(crate) fn play(data: &[u8]) {
    let (ticket, mut rest) = match data {
        [0xff, length, rest @ ..] => rest.split_at(rest.len().min(usize::from(length % 48))),
        _ => data.split_at(0),
    };
    let token = [&b"tightwire resume"[..], ticket].concat();
    let mut pair = Pair::new(if ticket.is_empty() { &[] } else { &token[..] });
    // A ticket that the server did not give resumes nobody; a token of any other length is the
    // game's own, which takes everybody here.
    let is_refused = ticket.len() == 32;
    assert_eq!(pair.server.peers().count(), usize::from(!is_refused));
    while let [control, length, others @ ..] = rest {
        let (body, others) = others.split_at(others.len().min(usize::from(*length)));
        rest = others;
        pair.inject(control & 0x80 != 0, body);
        if control & 0x40 != 0 {
            pair.frame();
        }
    }
    (0..3).for_each(|_| pair.frame());
    pair.check();
}

/// A server and a client of a game.
struct Pair {
    server: Server<Push, Injected>,
    client: Client<Push, Injected>,
    /// Frames to be sent by the server's and the client's end.
    frames: [Frames; 2],
    now: Duration,
    ticks: u32,
}

type Frames = Arc<Mutex<VecDeque<Vec<u8>>>>;

impl Pair {
    fn new(token: &[u8]) -> Self {
        let game = || Game::new("fuzz", "1.0").object::<Ball>().input::<Push>();
        let (here, there) = InProcess::pair();
        let frames: [Frames; 2] = Default::default();
        let ends = [there, here].into_iter().zip(frames.clone());
        let mut ends = ends.map(|(end, frames)| Injected { end, frames, peer: None });
        let (Some(there), Some(here)) = (ends.next(), ends.next()) else { unreachable!() };
        let server = game().serve(ServerConfig::default(), OpenToAnyone::default(), there);
        let client = game().connect(ClientConfig::default(), token, here);
        let (Ok(server), Ok(client)) = (server, client) else { unreachable!() };
        let mut pair = Self { server, client, frames, now: Duration::ZERO, ticks: 0 };
        (0..12).for_each(|_| pair.frame());
        pair
    }

    /// Lets an end send a frame of any bytes.
    fn inject(&mut self, is_client: bool, body: &[u8]) {
        let size = body.len() as u16 + 1;
        let number = if is_client { 9 } else { 8 };
        let batch = [&size.to_le_bytes()[..], &[number], body].concat();
        if let Ok(mut frames) = self.frames[usize::from(is_client)].lock() {
            frames.push_back(batch);
        }
    }

    fn frame(&mut self) {
        self.now += Duration::from_micros(16_667);
        let Self { server, client, now, .. } = self;
        server.receive(*now);
        while let Some(event) = server.poll_event() {
            if let ServerEvent::Joined { peer, .. } = event {
                let mut world = server.world();
                if let Ok(id) = world.spawn(&Ball::default()) {
                    world.set_owner(id, Some(peer));
                }
            }
        }
        while server.begin_tick(*now).is_some() {
            self.ticks += 1;
            step(&mut server.scene());
            // What a peer claims to have seen is never after the present.
            for peer in server.peers().collect::<Vec<_>>() {
                let seen = server.as_seen_by(peer, |past| past.time());
                assert!(seen <= f64::from(server.scene().tick().0), "{seen}");
            }
        }
        server.send(*now);
        client.receive(*now);
        while client.poll_event().is_some() {}
        client.input(&Push { x: 1, force: 0.5 });
        let mut steps = 0;
        while let Some(mut scene) = client.next_step() {
            step(&mut scene);
            steps += 1;
        }
        // A replay and the new ticks of a frame.
        assert!(steps <= 64 + 8, "{steps}");
        client.send(*now);
    }

    fn check(&mut self) {
        assert!(self.ticks > 10, "the server goes on");
        for (_, ball) in self.client.world().iter::<Ball>() {
            let is_inside = ball.position.iter().all(|at| at.abs() <= 100.01);
            assert!(is_inside && ball.hits <= 9);
        }
        for peer in self.server.peers().collect::<Vec<_>>() {
            let Some(stats) = self.server.stats(peer) else { continue };
            let inputs = stats.inputs;
            let taken = inputs.fresh + inputs.repeated + inputs.neutral;
            assert!(taken <= u64::from(self.ticks), "one input per tick: {inputs:?}");
        }
    }
}

fn step(scene: &mut Scene<'_, Push>) {
    scene.for_each::<Ball>(|scene, id, ball| {
        let push = scene.input(id).cloned().unwrap_or_default();
        ball.position[0] = (ball.position[0] + f32::from(push.x) * push.force).clamp(-99.0, 99.0);
        ball.hits = (ball.hits + 1) % 10;
    });
}

/// An end of a pair that also sends the frames of the fuzzer.
struct Injected {
    end: InProcess,
    frames: Frames,
    peer: Option<Connection>,
}

impl TransportWrapper for Injected {
    type Inner = InProcess;

    fn inner(&self) -> &InProcess {
        &self.end
    }

    fn inner_mut(&mut self) -> &mut InProcess {
        &mut self.end
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let event = self.end.poll_event();
        if let Some(Event::Connected { connection, .. }) = &event {
            self.peer = Some(*connection);
        }
        event
    }

    fn handle_output(&mut self, now: Duration) {
        if let (Some(peer), Ok(mut frames)) = (self.peer, self.frames.lock()) {
            for batch in frames.drain(..) {
                // A connection that was closed for an earlier frame takes no more.
                let _ = self.end.send(peer, Delivery::Unreliable, &batch);
            }
        }
        self.end.handle_output(now);
    }
}
