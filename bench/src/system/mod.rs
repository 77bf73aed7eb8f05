//! Whole messages from the sender to the handlers, for growing numbers of peers.

mod broadcast;
mod lanes;
mod messages;

use crate::counting::allocations;
use crate::harness::{Length, median, median_ratio};
use fastrand::Rng;
use lanes::{Bitcode, Lane, OneByOne, PER_PEER, Postcard, Tightwire};
use messages::Any;
use std::time::Instant;

pub const NAME: &str = "message_system";

const PEERS: [usize; 6] = [1, 4, 16, 64, 256, 1000];

/// Numbers of peers with a table; the others are in the curve.
const SHOWN: [usize; 3] = [1, 64, 1000];

/// Number of data sets: together too long for a branch predictor to learn by heart.
const SETS: usize = 16;

/// Number of messages in a set: a pass takes as many frames as are needed to send them.
const MESSAGES: usize = PER_PEER * 1000;

/// A lane with a number of peers, and the time of each round.
struct Entry {
    peers: usize,
    lane: Box<dyn Lane>,
    times: Vec<f64>,
    bytes: usize,
    allocations: u64,
}

/// Measures, and prints tables or returns them as JSON.
pub fn run(length: Length, json: bool) -> Vec<String> {
    let (entries, rounds) = measure(length);
    let (broadcasts, broadcast_rounds) = broadcast::measure(length);
    if json {
        let times = entries.iter().map(|entry| {
            let Entry { peers, lane, times, bytes, allocations } = entry;
            format!(
                concat!(
                    r#"{{"packet":"{}","lane":"{}","peers":{},"ns_per_message":{:.2},"#,
                    r#""ratio":{:.4},"to_one_peer":{:.4},"bytes":{:.2},"allocations":{:.4}}}"#
                ),
                NAME,
                lane.name(),
                peers,
                median(times.clone()) / MESSAGES as f64,
                median_ratio(times, &find(&entries, *peers, 0).times),
                to_one_peer(&entries, entry),
                *bytes as f64 / MESSAGES as f64,
                *allocations as f64 / (MESSAGES * rounds) as f64,
            )
        });
        let broadcasts = broadcasts.iter().map(|row| {
            format!(
                concat!(
                    r#"{{"packet":"{}","broadcast_bytes":{},"copy_ns":{:.2},"#,
                    r#""broadcast_ns":{:.2},"broadcast_copies":{:.4},"frame_copies":{:.4}}}"#
                ),
                NAME,
                row.bytes,
                row.copy_ns,
                row.broadcast_ns,
                row.broadcast_copies,
                row.frame_copies
            )
        });
        return times.chain(broadcasts).collect();
    }
    println!("{NAME}: mixed small messages from send to handler ({rounds} rounds)");
    println!(
        "{:<8}{:<12}{:>9}{:>12}{:>12}{:>9}{:>9}",
        "peers", "per message", "bytes", "ns", "per second", "time x", "allocs"
    );
    for entry in entries.iter().filter(|entry| SHOWN.contains(&entry.peers)) {
        let ns = median(entry.times.clone()) / MESSAGES as f64;
        println!(
            "{:<8}{:<12}{:>9.1}{:>12.1}{:>12.2e}{:>9.2}{:>9.2}",
            entry.peers,
            entry.lane.name(),
            entry.bytes as f64 / MESSAGES as f64,
            ns,
            1e9 / ns,
            median_ratio(&entry.times, &find(&entries, entry.peers, 0).times),
            entry.allocations as f64 / (MESSAGES * rounds) as f64,
        );
    }
    println!("\ntightwire's time per message, to that with one peer");
    for entry in entries.iter().filter(|entry| entry.lane.name() == entries[0].lane.name()) {
        let ratio = to_one_peer(&entries, entry);
        println!("{:<8}{ratio:>6.2}  {}", entry.peers, "#".repeat((ratio * 20.0).round() as usize));
    }
    println!("\nbroadcast to 1000 peers, in copies of its bytes ({broadcast_rounds} rounds)");
    println!(
        "{:<12}{:>10}{:>14}{:>12}{:>12}",
        "bytes", "copy ns", "broadcast ns", "broadcast", "frame"
    );
    for row in broadcasts {
        println!(
            "{:<12}{:>10.1}{:>14.1}{:>12.2}{:>12.2}",
            row.bytes, row.copy_ns, row.broadcast_ns, row.broadcast_copies, row.frame_copies
        );
    }
    println!();
    Vec::new()
}

/// Returns the lane at this place of the list for `peers` peers.
fn find(entries: &[Entry], peers: usize, place: usize) -> &Entry {
    let mut of_peers = entries.iter().filter(|entry| entry.peers == peers);
    of_peers.nth(place).expect("all lanes have all peers")
}

fn to_one_peer(entries: &[Entry], entry: &Entry) -> f64 {
    let is_same = |other: &&Entry| other.peers == 1 && other.lane.name() == entry.lane.name();
    let one = entries.iter().find(is_same).expect("all lanes have one peer");
    median_ratio(&entry.times, &one.times)
}

fn measure(length: Length) -> (Vec<Entry>, usize) {
    let set = |seed| {
        let mut rng = Rng::with_seed(seed);
        (0..MESSAGES).map(|_| messages::random(&mut rng)).collect()
    };
    let mut sets: Vec<Vec<Any>> = (0..SETS as u64).map(set).collect();
    let mut entries: Vec<Entry> = PEERS.into_iter().flat_map(entries_of).collect();
    entries.iter_mut().for_each(|entry| check(entry, &mut sets));
    let tallies: Vec<_> = entries.iter().map(|entry| entry.lane.tally()).collect();
    assert!(tallies.iter().all(|tally| *tally == tallies[0]), "the handlers saw the same");

    let start = Instant::now();
    let mut rounds = 0;
    while !length.is_reached(rounds, start) {
        // One set further each time around, so that no lane is tied to a set.
        let first = rounds + rounds / SETS;
        for turn in 0..entries.len() {
            let index = (first + turn) % entries.len();
            let entry = &mut entries[index];
            // Not timed: another set first, to warm up the caches for this lane.
            pass(entry, &mut sets[(rounds + SETS / 2) % SETS]);
            let before = allocations();
            let start = Instant::now();
            pass(entry, &mut sets[rounds % SETS]);
            entry.times.push(start.elapsed().as_nanos() as f64);
            entry.allocations += allocations() - before;
        }
        rounds += 1;
    }
    (entries, rounds)
}

/// Makes the lanes; the others are compared to the first.
fn entries_of(peers: usize) -> [Entry; 3] {
    let lanes: [Box<dyn Lane>; 3] = [
        Box::new(Tightwire::new(peers)),
        Box::new(OneByOne::<Bitcode>::default()),
        Box::new(OneByOne::<Postcard>::default()),
    ];
    lanes.map(|lane| Entry { peers, lane, times: Vec::new(), bytes: 0, allocations: 0 })
}

/// Sends a set in frames of [`PER_PEER`] messages for each peer.
fn pass(entry: &mut Entry, set: &mut [Any]) {
    for messages in set.chunks_mut(PER_PEER * entry.peers) {
        entry.lane.frame(messages);
    }
}

/// Panics unless all messages of all sets are handled. Also lets all buffers grow to their final
/// size. Equal tallies of all lanes prove that messages are handled as they were sent.
fn check(entry: &mut Entry, sets: &mut [Vec<Any>]) {
    for set in &mut *sets {
        pass(entry, set);
    }
    let handled = entry.lane.tally().messages;
    assert_eq!(handled, (MESSAGES * sets.len()) as u64, "{} lost some", entry.lane.name());
    entry.bytes = 0;
    for messages in sets[0].chunks_mut(PER_PEER * entry.peers) {
        entry.lane.frame(messages);
        entry.bytes += entry.lane.bytes();
    }
}
