//! A client's log against the server's ring.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tightwire_core::Wire;

use super::ring::{FrameError, ReceivedFrame};
use super::*;

mod hostile;
mod network;

/// The ack of a snapshot, whose fields are private.
#[derive(Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Ack {
    newest: u8,
    tag: u16,
    all: bool,
    #[wire(when = !self.all)]
    earlier: u32,
}

const ACK: Ack = Ack { newest: 0x2a, tag: 0xbeef, all: true, earlier: 0 };

/// 112 bits in 8 groups; the second and third are an aim of 32 bits.
fn shooter() -> Arc<InputLayout> {
    let maxima = [255, 65535, 65535, 15, 4095, 16383, 16383, 4095, 4095, 15];
    let groups = vec![0..1, 1..2, 2..3, 3..4, 4..5, 5..7, 7..9, 9..10];
    let layout = InputLayout::new(maxima.to_vec(), groups).unwrap();
    assert_eq!(layout.whole_bits(), 112);
    Arc::new(layout)
}

/// Throttle and turn of 0..=2 in a group, and fire.
fn drive() -> Arc<InputLayout> {
    Arc::new(InputLayout::new(vec![2, 2, 1], vec![0..2, 2..3]).unwrap())
}

fn ring(layout: &Arc<InputLayout>, next: u32) -> InputRing {
    InputRing::new(Arc::clone(layout), InputConfig::default(), next)
}

fn log(layout: &Arc<InputLayout>) -> InputLog {
    InputLog::new(Arc::clone(layout), 32)
}

fn frame(log: &InputLog) -> Vec<u8> {
    let view = Some((ACK, ViewDelay::from_ticks(6.25)));
    log.write(view, &mut [0; 1200]).unwrap().to_vec()
}

/// Returns the frame of inputs of `ticks`, of which the oldest is whole.
fn whole(layout: &Arc<InputLayout>, ticks: impl Iterator<Item = (u32, [u32; 3])>) -> Vec<u8> {
    let mut log = log(layout);
    for (tick, row) in ticks {
        assert!(log.push(tick, &row));
    }
    frame(&log)
}

fn receive(ring: &mut InputRing, frame: &[u8]) -> ReceivedFrame<Ack> {
    ring.receive(frame, |_| true).unwrap().unwrap()
}

/// A generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn row(&mut self, layout: &InputLayout) -> Vec<u32> {
        let max = |column| u64::from(layout.max(column)) + 1;
        (0..layout.columns()).map(|column| self.below(max(column)) as u32).collect()
    }
}

#[test]
fn frames_have_the_documented_bytes() {
    let layout = drive();
    let mut log = log(&layout);
    let write = |log: &InputLog, view| -> Vec<u8> {
        log.write::<Ack>(view, &mut [0; 64]).unwrap().to_vec()
    };
    assert_eq!(write(&log, None), [0x00]);
    let view = Some((ACK, ViewDelay::from_ticks(6.25)));
    assert_eq!(write(&log, view), [0x55, 0xde, 0x7d, 0x23, 0x03]);
    assert!(log.push(1000, &[2, 1, 0]));
    assert_eq!(write(&log, None), [0xa2, 0x0f, 0x68, 0x00]);
    log.handle_ack(1000);
    assert!(log.push(1001, &[2, 1, 0]) && log.push(1002, &[1, 1, 0]) && log.push(1003, &[1, 1, 1]));
    assert_eq!(write(&log, None), [0xae, 0x8f, 0x50, 0xc5]);
    assert_eq!(write(&log, view), [0x55, 0xde, 0x7d, 0x23, 0x73, 0x7d, 0x84, 0x2a, 0x06]);
}

#[test]
fn a_frame_is_read_as_it_was_written() {
    let (layout, mut random) = (shooter(), Random(7));
    let (mut log, mut ring) = (log(&layout), ring(&layout, 100));
    for tick in 100..120 {
        assert!(log.push(tick, &random.row(&layout)));
        let received = receive(&mut ring, &frame(&log));
        assert_eq!(received.view, Some((ACK, ViewDelay::from_ticks(6.25))));
        assert_eq!(received.newest, Some(tick));
        assert!(received.arrivals.eq([tick]));
        assert_eq!(ring.newest(), Some(tick));
        log.handle_ack(tick - 3);
    }
    for tick in 100..120 {
        assert_eq!(ring.take(), (InputKind::Fresh, log.row(tick)));
    }
    assert_eq!(ring.stats().fresh, 20);
    assert_eq!(ring.stats().revised, 0);
}

/// Bytes of the frames of a client at a round trip of 100 ms: with the 3 bytes of the batch, on
/// average after the start.
fn bytes_per_frame(mut change: impl FnMut(&mut [u32], &mut Random)) -> f64 {
    let (layout, mut random) = (shooter(), Random(3));
    let (mut log, mut row, mut bytes) = (log(&layout), vec![0; layout.columns()], 0);
    for tick in 0..1060u32 {
        change(&mut row, &mut random);
        assert!(log.push(tick, &row));
        // 6 ticks of round trip, and one until the snapshot.
        if let Some(acked) = tick.checked_sub(7) {
            log.handle_ack(acked);
        }
        bytes += if tick < 60 { 0 } else { 3 + frame(&log).len() };
    }
    bytes as f64 / 1000.0
}

#[test]
fn frames_are_as_small_as_designed() {
    let still = bytes_per_frame(|_, _| {});
    let aim = bytes_per_frame(|row, random| {
        (1..3).for_each(|column| row[column] = (row[column] + 1 + random.below(99) as u32) % 65536);
    });
    let all = bytes_per_frame(|row, _| {
        let maxima = [255, 65535, 65535, 15, 4095, 16383, 16383, 4095, 4095, 15];
        row.iter_mut().zip(maxima).for_each(|(cell, max)| *cell = (*cell + 1) % (max + 1));
    });
    println!("play bytes: {still} still, {aim} aim, {all} all");
    println!("on the wire: {:.2} {:.2} {:.2} kB/s", wire(still), wire(aim), wire(all));
    assert_eq!((still, aim, all), (11.0, 46.0, 116.0));
    for (bytes, kilobytes) in [(still, 4.1), (aim, 6.2), (all, 10.4)] {
        assert!((wire(bytes) / kilobytes - 1.0).abs() < 0.05);
    }
}

/// Kilobytes per second at 60 Hz with the headers of UDP, IP and QUIC.
fn wire(bytes: f64) -> f64 {
    (bytes + 58.0) * 60.0 / 1000.0
}

#[test]
fn a_missing_input_is_repeated_and_then_neutral() {
    let layout = drive();
    let mut ring = ring(&layout, 10);
    assert_eq!(ring.take(), (InputKind::Neutral, None));
    receive(&mut ring, &whole(&layout, [(11, [2, 2, 1])].into_iter()));
    assert_eq!(ring.take(), (InputKind::Fresh, Some(&[2, 2, 1][..])));
    for missing in 1..=12 {
        assert_eq!(ring.take(), (InputKind::Repeated(missing), Some(&[2, 2, 1][..])));
    }
    (0..100).for_each(|_| assert_eq!(ring.take(), (InputKind::Neutral, None)));
    receive(&mut ring, &whole(&layout, [(124, [1, 0, 0])].into_iter()));
    assert_eq!(ring.take(), (InputKind::Fresh, Some(&[1, 0, 0][..])));
    // Repeats are counted from the last input that arrived.
    assert_eq!(ring.take().0, InputKind::Repeated(1));
    receive(&mut ring, &whole(&layout, [(126, [2, 0, 0])].into_iter()));
    assert_eq!(ring.take().0, InputKind::Fresh);
    assert_eq!(ring.take(), (InputKind::Repeated(1), Some(&[2, 0, 0][..])));
    let stats = ring.stats();
    assert_eq!((stats.fresh, stats.repeated, stats.neutral), (3, 14, 101));
}

#[test]
fn a_client_far_behind_learns_how_far() {
    let layout = drive();
    let mut ring = ring(&layout, 1000);
    let received = receive(&mut ring, &whole(&layout, [(940, [1, 1, 1])].into_iter()));
    assert!(received.arrivals.eq([940]));
    assert_eq!(ring.newest(), Some(940));
    let received = receive(&mut ring, &whole(&layout, [(930, [1, 1, 1])].into_iter()));
    assert!(received.arrivals.eq([0u32; 0]));
    assert_eq!((ring.newest(), ring.stats().late), (Some(940), 0));
}

#[test]
fn nothing_is_allocated_after_the_start() {
    let layout = shooter();
    let (mut log, mut ring) = (log(&layout), ring(&layout, 0));
    let (mut random, mut buffer) = (Random(5), [0; 1200]);
    let rows: Vec<_> = (0..200).map(|_| random.row(&layout)).collect();
    let info = allocation_counter::measure(|| {
        for (tick, row) in (0..).zip(&rows) {
            assert!(log.push(tick, row));
            let frame = log.write(Some((ACK, ViewDelay::default())), &mut buffer).unwrap();
            if tick % 5 != 0 {
                let received = ring.receive::<Ack>(frame, |_| true).unwrap();
                assert!(received.unwrap().arrivals.count() > 0);
            }
            assert!(ring.receive::<Ack>(&buffer[..9], |_| true).is_err());
            ring.take();
            ring.newest().into_iter().for_each(|newest| log.handle_ack(newest));
        }
    });
    assert_eq!(info.count_total, 0);
}
