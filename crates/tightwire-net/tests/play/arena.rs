//! Eight players in an arena, over a bad network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tightwire::PeerId;
use tightwire::play::{ClientConfig, InputKind, PredictConfig, ServerConfig, Touch};

use crate::game::{CONTACT, Drive, Play, Player, Tank, link};
use crate::volume::volume;

/// Milliseconds until the clocks have settled.
const START: u64 = 10_000;

/// A random number generator, so that each run is the same.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Drives in random directions around `center`, and turns back at the `edge`.
pub(crate) fn drive(player: &mut Player, rng: &mut Rng, center: [f32; 2], edge: f32) {
    let Some(tank) = player.mine.first().and_then(|id| player.client.world().get::<Tank>(*id))
    else {
        return;
    };
    let turn = (rng.below(500) == 0).then(|| [rng.below(3) as i8 - 1, rng.below(3) as i8 - 1]);
    let [x, y] = turn.unwrap_or([player.drive.x, player.drive.y]);
    let back = |axis: usize, push: i8| match tank.position[axis] - center[axis] {
        far if far > edge => -1,
        far if far < -edge => 1,
        _ => push,
    };
    player.drive = Drive { x: back(0, x), y: back(1, y), fire: false };
}

/// Contacts and missing inputs of all players, counted on the server.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) tank_ticks: u64,
    pub(crate) contacts: u64,
    /// Ticks with a missing input, per peer.
    pub(crate) missing: BTreeMap<PeerId, BTreeSet<u32>>,
    pub(crate) inputs: u64,
}

impl Counts {
    pub(crate) fn missing(&self) -> u64 {
        self.missing.values().map(|ticks| ticks.len() as u64).sum()
    }
}

/// Counts contacts and missing inputs from now on.
pub(crate) fn watch(play: &mut Play) -> Arc<Mutex<Counts>> {
    let shared = Arc::new(Mutex::new(Counts::default()));
    let seen = shared.clone();
    play.on_tick = Box::new(move |server, tick| {
        let mut seen = seen.lock().unwrap();
        let tanks: Vec<_> = server.world().iter::<Tank>().collect();
        for (id, tank) in &tanks {
            seen.tank_ticks += 1;
            let is_near = |other: &Tank| {
                let [x, y] = [0, 1].map(|axis| tank.position[axis] - other.position[axis]);
                x.hypot(y) < CONTACT
            };
            seen.contacts += u64::from(tanks.iter().any(|(other, at)| other != id && is_near(at)));
        }
        for (peer, _, kind) in server.inputs() {
            seen.inputs += 1;
            let missing = seen.missing.entry(peer).or_default();
            if kind != InputKind::Fresh {
                missing.insert(tick.0);
            }
        }
    });
    shared
}

/// Corrections of own tanks that clients showed.
#[derive(Default, Debug)]
pub(crate) struct Corrections {
    pub(crate) ticks: u64,
    /// Ticks in which a correction moved the tank by more than a centimetre.
    pub(crate) visible: u64,
    /// Ticks in which the tank was shown more than a centimetre from its state.
    pub(crate) offset: u64,
    /// Part of an offset that is left after a millisecond.
    left: f32,
    /// The last tick of each player, and the offset at which its tank is drawn.
    newest: Vec<(i64, [f32; 3])>,
}

impl Corrections {
    pub(crate) fn new(blend: Duration) -> Self {
        // 95% are gone after the blend.
        let left = (-3.0 * 1e-3 / blend.as_secs_f32()).exp();
        Self { left, ..Self::default() }
    }

    /// Looks at all players, each millisecond.
    pub(crate) fn look(&mut self, play: &Play) {
        self.newest.resize(play.clients.len(), (0, [0.0; 3]));
        for (player, (newest, before)) in play.clients.iter().zip(&mut self.newest) {
            let Some(id) = player.mine.first() else { continue };
            let offset = player.client.world().correction(*id);
            // The correction itself, whatever its direction: it may also turn the offset around.
            let change = [0, 1, 2].map(|axis| offset.position[axis] - self.left * before[axis]);
            let size = change.iter().map(|part| part * part).sum::<f32>().sqrt();
            self.visible += u64::from(size > 0.01);
            let tick = player.client.time().input_tick.floor() as i64;
            if tick > *newest {
                self.ticks += 1;
                self.offset += u64::from(offset.distance > 0.01);
            }
            (*newest, *before) = (tick.max(*newest), offset.position);
        }
    }
}

/// Shares of inputs and ticks, in percent.
struct Shares {
    missing: f64,
    contacts: f64,
    corrections: f64,
    offset: f64,
}

/// Lets eight players with contact play over a bad network.
fn play_arena(predict: PredictConfig, milliseconds: u64) -> Shares {
    let config = ClientConfig { predict, ..ClientConfig::default() };
    let mut play = Play::with(link(100, 15, 0.03), 8, ServerConfig::default(), config);
    let mut rng = Rng::new(1);
    let mut move_all = |play: &mut Play| {
        let players = play.clients.iter_mut();
        players.for_each(|player| drive(player, &mut rng, [-30.0, 35.0], 46.0));
    };
    play.run(START, &mut move_all);
    let counts = watch(&mut play);
    let mut corrections = Corrections::new(predict.blend_position);
    play.run(milliseconds, |play| {
        move_all(play);
        corrections.look(play);
    });
    let counts = counts.lock().unwrap();
    let share = |part: u64, of: u64| 100.0 * part as f64 / of as f64;
    let shares = Shares {
        missing: share(counts.missing(), counts.inputs),
        contacts: share(counts.contacts, counts.tank_ticks),
        corrections: share(corrections.visible, corrections.ticks),
        offset: share(corrections.offset, corrections.ticks),
    };
    println!("{} tank ticks: contact in {:.2}%", counts.tank_ticks, shares.contacts);
    println!(
        "blend {:?}: missing {:.3}%, corrections > 1 cm {:.2}%, drawn > 1 cm off {:.2}%",
        predict.blend_position, shares.missing, shares.corrections, shares.offset
    );
    for player in &play.clients {
        println!("{:?} lead {:.2}", player.client.stats().prediction, player.client.time().lead);
    }
    shares
}

fn touching() -> PredictConfig {
    let touch = Some(Touch { enter: 8.0, leave: 12.0, ..Touch::default() });
    PredictConfig { touch, ..PredictConfig::default() }
}

#[test]
fn eight_players_in_contact_over_a_bad_network() {
    let shares = play_arena(touching(), volume(120_000, 600_000));
    assert!((1.5..3.0).contains(&shares.contacts), "{}", shares.contacts);
    assert!(shares.missing <= 0.15, "{}", shares.missing);
    // Others turn twice a second, and a correction follows if the tanks touch at that time.
    assert!(shares.corrections < 0.3, "{}", shares.corrections);
    // After a correction the tank is drawn off its place while the offset fades.
    assert!(shares.offset < 1.0, "{}", shares.offset);
}

#[test]
#[ignore = "figures for docs/PLAY.md"]
fn faster_blends_draw_tanks_off_their_place_for_a_shorter_time() {
    let offsets = [150, 75, 40].map(|milliseconds| {
        let blend_position = Duration::from_millis(milliseconds);
        play_arena(PredictConfig { blend_position, ..touching() }, volume(60_000, 600_000)).offset
    });
    assert!(offsets.is_sorted_by(|slow, fast| slow > fast), "{offsets:?}");
}

#[test]
fn without_contact_every_correction_belongs_to_a_missing_input() {
    let mut play = Play::new(link(100, 15, 0.03), 8);
    let mut rng = Rng::new(2);
    let mut move_all = |play: &mut Play| {
        for (number, player) in play.clients.iter_mut().enumerate() {
            let center = [-100.0 + 20.0 * number as f32, 10.0 * number as f32];
            drive(player, &mut rng, center, 3.0);
        }
    };
    play.run(START, &mut move_all);
    let seen = watch(&mut play);
    let start = u32::try_from(START).unwrap() * 60 / 1000;
    let (mut last, mut mispredictions) = (vec![start; 8], Vec::new());
    let mut corrections = Corrections::new(PredictConfig::default().blend_position);
    play.run(volume(60_000, 600_000), |play| {
        move_all(play);
        corrections.look(play);
        for (number, player) in play.clients.iter().enumerate() {
            for wrong in player.client.world().mispredictions() {
                if wrong.tick > last[number] {
                    last[number] = wrong.tick;
                    mispredictions.push((number, wrong.clone()));
                }
            }
        }
    });
    let seen = seen.lock().unwrap();
    assert_eq!(seen.contacts, 0);
    assert!(corrections.ticks > 28_000);
    println!(
        "{} missing of {}, {} mispredictions, {corrections:?}",
        seen.missing(),
        seen.inputs,
        mispredictions.len()
    );
    assert!(seen.missing() > 0 && mispredictions.len() as u64 <= seen.missing());
    for (number, wrong) in &mispredictions {
        // A snapshot or two can be lost between the missing input and the comparison.
        let mut causes =
            seen.missing[&play.peer_of(*number)].range(wrong.tick.saturating_sub(12)..=wrong.tick);
        assert!(causes.next().is_some(), "player {number}: {wrong:?}");
    }
}
