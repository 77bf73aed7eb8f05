//! Games whose classes, input and messages are declared by names and schemas only.

use std::time::Duration;

use tightwire::link::LinkConfig;
use tightwire::play::{
    Client, ClientConfig, Game, InputKind, InputStats, ObjectConfig, PlayError, PlayerInput, Scene,
    Server, ServerConfig, ServerEvent,
};
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, Trust};
use tightwire::schema::{Dynamic, Schema};
use tightwire::session::OpenToAnyone;
use tightwire::snapshot::{Row, RowBuffer};
use tightwire::transport::{InProcess, Reason};
use tightwire::{Delivery, Wire};

use crate::forged::{Forge, Forged, edit};
use crate::game::{Bullet, Chat, Drive, SERVER, Simulated, Tank, address, game, link};

/// An input of this game by its cells: those of -1 are 0.
fn row(cells: [u32; 3]) -> RowBuffer {
    let mut row = RowBuffer::default();
    row.reset(0, 3).copy_from_slice(&cells);
    row
}

/// The game of the other tests, in another order, and without its Rust types.
fn by_schemas() -> Game<RowBuffer> {
    let objects = ObjectConfig::default();
    Game::new("arena", "1.0")
        .message_of("Chat", Schema::of::<Chat>())
        .input_of("Drive", Schema::of::<Drive>(), row([1, 1, 0]))
        .object_of("Tank", Schema::of::<Tank>(), objects)
        .object_of("Bullet", Schema::of::<Bullet>(), objects)
}

/// A declaration of the game, with the form of its inputs.
struct Side<I> {
    game: fn() -> Game<I>,
    input: fn(i8) -> I,
    x: fn(&I) -> i8,
}

const TYPED: Side<Drive> =
    Side { game, input: |x| Drive { x, ..Drive::default() }, x: |drive| drive.x };

const UNTYPED: Side<RowBuffer> = Side {
    game: by_schemas,
    input: |x| row([(x + 1) as u32, 1, 0]),
    x: |drive| drive.row().cells[0] as i8 - 1,
};

/// The class `Tank`, behind `Bullet`.
const TANK: u16 = 1;

/// Drives each tank along its first axis.
fn step<I>(scene: &mut Scene<'_, I>, x: fn(&I) -> i8) {
    let mut ids = Vec::new();
    scene.simulated(&mut ids);
    for id in ids {
        let Some(x) = scene.input(id).map(x) else { continue };
        let mut cells = scene.with_row(id, |row| row.cells.to_vec()).unwrap();
        cells[0] = cells[0].saturating_add_signed(20 * i32::from(x));
        scene.set_row(id, Row { class: TANK, cells: &cells }).unwrap();
    }
}

/// The result of 20 s of play.
#[derive(PartialEq, Debug)]
struct Outcome {
    /// Inputs that the client has stamped, with their ticks.
    stamped: Vec<(u32, i8)>,
    /// Inputs that the server used, with their ticks.
    used: Vec<(u32, i8, InputKind)>,
    stats: InputStats,
    closed: Option<Reason>,
    /// Cells of the tank on the server, and as the client shows it.
    tank: [Option<Vec<u32>>; 2],
}

/// Lets a client of one declaration play on a server of another.
fn play<I: PlayerInput, J: PlayerInput>(
    host: &Side<I>,
    guest: &Side<J>,
    link: LinkConfig,
    forge: Forge,
    mut each: impl FnMut(u64, &mut Server<I, Simulated>, &mut Client<J, Forged>),
) -> Outcome {
    let network = Network::new(link, 7);
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let quic = QuicConfig { seed: Some(7), ..QuicConfig::default() };
    let listening = Quic::listen(network.socket(SERVER.into()), &certificate, quic).unwrap();
    let server = (host.game)().serve(ServerConfig::default(), OpenToAnyone::default(), listening);
    let socket = network.socket(address(1));
    let end = Quic::connect(socket, SERVER.into(), "game.example", &trust, quic, Duration::ZERO);
    let end = Forged { quic: end.unwrap(), forge, extra: None };
    let config = ClientConfig { reconnect: false, ..ClientConfig::default() };
    let client = (guest.game)().connect(config, &[], end);
    let (mut server, mut client) = (server.unwrap(), client.unwrap());
    assert_eq!(server.session().protocol_id(), client.session().protocol_id());
    let (mut stamped, mut used) = (Vec::new(), Vec::new());
    let (mut stats, mut closed, mut tank) = (InputStats::default(), None, None);
    for millisecond in 0..20_000 {
        let now = Duration::from_millis(millisecond + 1);
        server.receive(now);
        while let Some(event) = server.poll_event() {
            match event {
                ServerEvent::Joined { peer, .. } => {
                    let columns = server.world().protocol().columns(TANK);
                    let mut new = RowBuffer::default();
                    new.reset(TANK, columns)[..2].fill(100_000);
                    let id = server.world().spawn_row(new.row()).unwrap();
                    server.world().set_owner(id, Some(peer));
                    tank = Some(id);
                }
                ServerEvent::Left { reason, .. } | ServerEvent::Lost { reason, .. } => {
                    closed = Some(reason);
                }
                _ => {}
            }
        }
        while let Some(tick) = server.begin_tick(now) {
            used.extend(server.inputs().map(|(_, input, kind)| (tick.0, (host.x)(input), kind)));
            step(&mut server.scene(), host.x);
            let peer = server.peers().next();
            stats = peer.and_then(|peer| server.stats(peer)).map_or(stats, |stats| stats.inputs);
        }
        server.send(now);
        client.receive(now);
        while client.poll_event().is_some() {}
        // Stands still at the end, so that both sides can be compared.
        let x = if millisecond < 18_000 { (millisecond / 70 % 3) as i8 - 1 } else { 0 };
        client.input(&(guest.input)(x));
        while let Some(mut scene) = client.next_step() {
            if let Some(input) = tank.filter(|_| !scene.is_replay()).and_then(|id| scene.input(id))
            {
                stamped.push((scene.tick().0, (guest.x)(input)));
            }
            step(&mut scene, guest.x);
        }
        client.send(now);
        each(millisecond, &mut server, &mut client);
    }
    let tank = tank.unwrap();
    let set = server.world().row(tank).map(|row| row.cells.to_vec());
    let shown = client.world().with_row(tank, |row| row.cells.to_vec());
    Outcome { stamped, used, stats, closed, tank: [set, shown] }
}

fn honest() -> Forge {
    Box::new(|body| vec![body.to_vec()])
}

fn check_inputs(outcome: &Outcome) {
    let Outcome { stamped, used, stats, closed, tank: [set, shown] } = outcome;
    let fresh: Vec<_> = used.iter().filter(|(_, _, kind)| *kind == InputKind::Fresh).collect();
    for (tick, x, _) in &fresh {
        if let Ok(place) = stamped.binary_search_by_key(tick, |(tick, _)| *tick) {
            assert_eq!(stamped[place].1, *x, "tick {tick}");
        }
    }
    assert!(fresh.len() > 1150 && stats.fresh == fresh.len() as u64, "{stats:?}");
    let driven = fresh.iter().filter(|(_, x, _)| *x != 0).count();
    assert!(driven > 600 && stamped.len() > 1100, "{driven} {}", stamped.len());
    assert_eq!(*closed, None);
    assert!(set.is_some() && set == shown, "{set:?} {shown:?}");
}

#[test]
fn a_game_without_types_plays_with_a_typed_one_over_a_bad_link() {
    let bad = link(100, 15, 0.03);
    check_inputs(&play(&UNTYPED, &TYPED, bad, honest(), |_, _, _| ()));
    check_inputs(&play(&TYPED, &UNTYPED, bad, honest(), |_, _, _| ()));
    let untyped = play(&UNTYPED, &UNTYPED, bad, honest(), |_, _, _| ());
    check_inputs(&untyped);
    assert_eq!(untyped, play(&TYPED, &TYPED, bad, honest(), |_, _, _| ()));
}

#[test]
fn messages_by_schema_and_by_type_are_the_same() {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    let schema = Schema::of::<Chat>();
    play(&UNTYPED, &TYPED, link(100, 15, 0.03), honest(), |millisecond, server, client| {
        if millisecond % 1000 == 500 && client.session().server().is_some() {
            let chat = Chat { text: format!("{millisecond}") };
            client.send_message(&chat, Delivery::Reliable).unwrap();
        }
        let number = server.number_of("Chat").unwrap();
        let read = |peer, body: &[u8]| (peer, schema.decode(body).unwrap());
        while let Some((peer, chat)) = server.poll_raw(number, read) {
            let Dynamic::Struct { fields, .. } = &chat else { panic!("{chat}") };
            asked.push(fields[0].1.to_string());
            let mut body = [0; 128];
            let body = schema.encode(&chat, &mut body).unwrap();
            server.send_raw(peer, number, body, Delivery::Reliable).unwrap();
        }
        while let Some(chat) = client.poll_message::<Chat>() {
            answered.push(format!("{:?}", chat.text));
        }
    });
    assert!(asked.len() >= 18, "{asked:?}");
    asked.sort();
    answered.sort();
    assert_eq!(asked, answered);
}

#[test]
fn hostile_inputs_are_refused_as_those_of_a_typed_game_are() {
    type Attack = fn(usize, &[u8]) -> Vec<Vec<u8>>;
    let attacks: [Attack; 5] = [
        // Bits that are no input.
        |count, body| match count % 60 {
            59 => vec![vec![0xff; body.len()]],
            _ => vec![body.to_vec()],
        },
        // A byte too few, and one too many.
        |count, body| vec![body[..body.len() - usize::from(count == 300)].to_vec()],
        |count, body| vec![[body, &[0][..usize::from(count == 300)]].concat()],
        |_, body| vec![body.to_vec(); 20],
        // Of the future.
        |_, body| {
            vec![edit(body, |header| {
                if let Some(span) = &mut header.inputs {
                    span.newest = span.newest.wrapping_add(100) & 0xfff;
                }
            })]
        },
    ];
    let mut refused = 0;
    for attack in attacks {
        let forge = || -> Forge {
            let mut count = 0;
            Box::new(move |body| {
                count += 1;
                attack(count, body)
            })
        };
        let typed = play(&TYPED, &TYPED, link(60, 0, 0.0), forge(), |_, _, _| ());
        let untyped = play(&UNTYPED, &TYPED, link(60, 0, 0.0), forge(), |_, _, _| ());
        assert_eq!(typed, untyped);
        let is_violation = matches!(typed.closed, Some(Reason::Violation { .. }));
        refused += usize::from(is_violation || typed.stats.dropped_future > 500);
    }
    assert_eq!(refused, attacks.len());
}

#[test]
fn an_input_that_cannot_be_sent_is_replaced_by_the_neutral_one() {
    let beyond = Side { input: |x| row([if x == 1 { 3 } else { 0 }, 1, 0]), ..UNTYPED };
    let outcome = play(&TYPED, &beyond, link(60, 0, 0.0), honest(), |_, _, _| ());
    let of = |x| outcome.used.iter().filter(|(_, used, _)| *used == x).count();
    assert!(of(-1) > 500 && of(0) > 300 && of(1) == 0, "{} {}", of(-1), of(0));
}

#[test]
fn a_declaration_that_cannot_work_is_refused() {
    let serve = |neutral: RowBuffer| {
        let game = Game::new("arena", "1.0").input_of("Drive", Schema::of::<Drive>(), neutral);
        let end = InProcess::pair().0;
        game.serve(ServerConfig::default(), OpenToAnyone::default(), end).map(|_| ())
    };
    assert_eq!(serve(row([1, 1, 0])), Ok(()));
    let refused = serve(row([1, 3, 0])).unwrap_err();
    assert!(matches!(refused, PlayError::NeutralInput(_)), "{refused}");
    assert!(matches!(serve(RowBuffer::default()), Err(PlayError::NeutralInput(_))));
}

/// A module whose path is behind that of the test.
mod zoo {
    use tightwire::Wire;

    #[derive(Wire, Default)]
    pub(super) struct Aardvark {
        is_hungry: bool,
    }
}

#[test]
fn the_order_of_classes_does_not_depend_on_their_modules() {
    #[derive(Wire, Default)]
    struct Zebra {
        stripes: u8,
    }
    let server = |game: Game| {
        let end = InProcess::pair().0;
        game.serve(ServerConfig::default(), OpenToAnyone::default(), end).unwrap()
    };
    let typed = Game::new("zoo", "1.0").object::<Zebra>().object::<zoo::Aardvark>();
    let objects = ObjectConfig::default();
    let untyped = Game::new("zoo", "1.0")
        .object_of("Zebra", Schema::of::<Zebra>(), objects)
        .object_of("Aardvark", Schema::of::<zoo::Aardvark>(), objects);
    let [typed, untyped] = [typed, untyped].map(|game| server(game).session().protocol_id());
    assert_eq!(typed, untyped);
}
