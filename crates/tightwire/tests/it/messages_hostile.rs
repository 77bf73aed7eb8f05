//! Hostile batches: no panic, no allocation, and no effect on other peers.

use std::ops::Range;

use allocation_counter::measure;
use tightwire::Delivery;
use tightwire::bytes::Packing;
use tightwire::message::MessengerConfig;

use crate::checks::messages::{DELIVERIES, Room, fix_size, messages};
use crate::common::rng::Rng;
use crate::common::volume::volume;

fn batches() -> usize {
    volume(100_000, 10_000_000)
}

/// Largest number of batches thrown in a frame: more than the limits of a peer allow.
const IN_A_FRAME: usize = 96;

fn config(packing: Packing) -> MessengerConfig {
    MessengerConfig {
        packing,
        receive_queue: 256,
        peer_messages: 200,
        batch_messages: 200,
        max_fragmented: 8 << 10,
        ..MessengerConfig::default()
    }
}

/// A real batch, and the positions of its messages, headers included.
struct Sample {
    delivery: Delivery,
    bytes: Vec<u8>,
    messages: Vec<Range<usize>>,
}

impl Sample {
    fn new(delivery: Delivery, bytes: &[u8]) -> Self {
        let wide = if delivery.fragments() { 4 } else { 2 };
        let (mut at, mut messages) = (wide, Vec::new());
        while at < bytes.len() {
            // The messages are small, so one byte of the size is enough.
            let end = at + wide + 3 + usize::from(bytes[at + 2]);
            messages.push(at..end);
            at = end;
        }
        Self { delivery, bytes: bytes.to_vec(), messages }
    }
}

/// Mutates a batch in place.
fn mutate(rng: &mut Rng, samples: &[Sample], sample: &Sample, batch: &mut Vec<u8>) {
    const SIZES: [u32; 8] = [0, 1, 0x7f, 0xff, 0xffff, 1 << 31, u32::MAX - 3, u32::MAX];
    let wide = if sample.delivery.fragments() { 4 } else { 2 };
    let mut fix = rng.below(4) != 0;
    for _ in 0..=rng.below(3) {
        let place = rng.below(batch.len().max(1));
        let message = sample.messages[rng.below(sample.messages.len())].clone();
        match rng.below(10) {
            0 | 1 if place < batch.len() => batch[place] ^= 1 << rng.below(8),
            2 if place < batch.len() => batch[place] = rng.next() as u8,
            // The size of a message, or that of the batch.
            3 if message.start + 2 + wide <= batch.len() => {
                let size = SIZES[rng.below(SIZES.len())].to_le_bytes();
                let at = if rng.below(8) == 0 { 0 } else { message.start + 2 };
                fix &= at > 0;
                batch[at..at + wide].copy_from_slice(&size[..wide]);
            }
            4 => batch.truncate(place),
            5 => {
                // Rarely more bytes than a datagram holds.
                let count = if rng.below(1000) == 0 { 1300 } else { rng.below(12) };
                (0..count).for_each(|_| batch.push(rng.next() as u8));
            }
            // A message once more at the end, or another in its place.
            6 => batch.extend_from_slice(&sample.bytes[message]),
            7 => {
                let other = &samples[rng.below(samples.len())];
                let from = other.messages[rng.below(other.messages.len())].clone();
                batch.truncate(message.start);
                batch.extend_from_slice(&other.bytes[from]);
            }
            8 => (place..batch.len().min(place + 8)).for_each(|at| batch[at] = rng.next() as u8),
            // Header bytes: the number, the stage or the channel.
            _ if message.start + wide + 2 < batch.len() => {
                let at = message.start + [0, 1, wide + 2][rng.below(3)];
                batch[at] = [0, 6, 7, 15, 16, 17, 21, 22, 255][rng.below(9)];
            }
            _ => {}
        }
    }
    if fix {
        fix_size(sample.delivery, batch);
    }
}

/// Throws a frame of mutated batches, without allocating. Returns their number.
fn frame(room: &mut Room, rng: &mut Rng, samples: &[Sample], batch: &mut Vec<u8>) -> usize {
    let count = 1 + rng.below(IN_A_FRAME);
    for _ in 0..count {
        let sample = &samples[rng.below(samples.len())];
        batch.clear();
        batch.extend_from_slice(&sample.bytes);
        mutate(rng, samples, sample, batch);
        // Sometimes the batch arrives with another delivery than it was made for.
        let other = rng.below(32) == 0;
        let delivery = if other { DELIVERIES[rng.below(5)] } else { sample.delivery };
        room.throw(delivery, batch);
    }
    room.frame();
    count
}

/// Grows every buffer to its largest size, by the longest strings and lists, and by as many batches
/// as messages may be queued.
fn warm_up(room: &mut Room, samples: &[Sample]) {
    let longest = room.longest();
    for _ in 0..2 {
        for (delivery, batch) in &longest {
            room.throw(*delivery, batch);
            room.frame();
        }
        for number in 0..2 * IN_A_FRAME {
            let sample = &samples[number % samples.len()];
            let message = sample.messages[number % sample.messages.len()].clone();
            let space: &[u8] = if sample.delivery.fragments() { &[0; 4] } else { &[0; 2] };
            let mut batch = [space, &sample.bytes[message]].concat();
            fix_size(sample.delivery, &mut batch);
            room.throw(sample.delivery, &batch);
        }
        room.frame();
    }
}

#[test]
fn ten_million_mutated_batches_take_no_memory_and_the_good_peer_is_served() {
    for (seed, packing) in [(21, Packing::Bits), (22, Packing::Bytes)] {
        let mut room = Room::new(config(packing));
        let samples: Vec<_> =
            room.greeting().iter().map(|(delivery, bytes)| Sample::new(*delivery, bytes)).collect();
        warm_up(&mut room, &samples);
        let (mut rng, mut batch) = (Rng::new(seed), Vec::with_capacity(4096));
        let (mut thrown, mut frames) = (0, 0);
        let before = room.faults().total();
        // Read before the measurement, since reading the environment variable allocates.
        let enough = batches() / 2;
        let info = measure(|| {
            while thrown < enough {
                thrown += frame(&mut room, &mut rng, &samples, &mut batch);
                frames += 1;
            }
        });
        assert_eq!(info.count_total, 0, "{} bytes", info.bytes_total);
        let (faults, handled) = (room.faults(), room.handled());
        assert!(faults.total() - before > thrown as u64 / 2, "most are refused: {faults:?}");
        let counts = [
            faults.batch_too_long,
            faults.batch_size,
            faults.beyond_batch,
            faults.unknown_message,
            faults.unknown_stage,
            faults.unknown_channel,
            faults.malformed,
            faults.peer_limit,
            faults.handler,
        ];
        assert!(counts.iter().all(|count| *count > 0), "{faults:?}");
        eprintln!(
            "{packing:?}: {thrown} batches in {frames} frames, {handled} messages handled, {} \
             refused, 0 allocations",
            faults.total()
        );
    }
}

#[test]
fn a_million_batches_of_nothing_in_one_frame_take_no_memory() {
    let mut room = Room::new(config(Packing::Bits));
    room.frame();
    // The smallest batch: one message, with an unknown number.
    let batch = [5, 0, 255, 4, 0, 0, 0];
    let info = measure(|| (0..1_000_000).for_each(|_| room.throw(Delivery::Unreliable, &batch)));
    assert_eq!(info.count_total, 0, "{} bytes", info.bytes_total);
    // The batches count towards the peer's limit of bytes until the frame ends.
    let most = (config(Packing::Bits).peer_bytes() / batch.len()) as u64;
    assert_eq!(room.faults().unknown_message, most);
    assert_eq!(room.faults().peer_limit, 1_000_000 - most);
    room.frame();
    room.throw(Delivery::Unreliable, &batch);
    assert_eq!(room.faults().unknown_message, most + 1);
}

#[test]
fn random_bytes_are_batches_of_a_hostile_peer() {
    let mut rng = Rng::new(23);
    let mut bytes = Vec::new();
    for _ in 0..batches() / 100 {
        bytes.clear();
        (0..rng.below(200)).for_each(|_| bytes.push(rng.next() as u8));
        messages(&bytes);
    }
}
