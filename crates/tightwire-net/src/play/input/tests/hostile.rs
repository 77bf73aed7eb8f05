//! Clients that send what no honest client does.

use super::*;

#[test]
fn a_lag_switch_gains_nothing() {
    let layout = drive();
    let mut ring = ring(&layout, 0);
    let inputs = |ticks: std::ops::Range<u32>| ticks.map(|tick| (tick, [tick % 3, 0, 1]));
    receive(&mut ring, &whole(&layout, inputs(0..1)));
    let kinds: Vec<_> = (0..20).map(|_| ring.take().0).collect();
    assert_eq!(
        (kinds[0], kinds[12], kinds[13]),
        (InputKind::Fresh, InputKind::Repeated(12), InputKind::Neutral)
    );
    // The burst after the silence has all inputs, and the one after it.
    let received = receive(&mut ring, &whole(&layout, inputs(1..21)));
    assert!(received.arrivals.eq(1..21));
    assert_eq!((ring.stats().late, ring.next()), (19, 20));
    assert_eq!(ring.take(), (InputKind::Fresh, Some(&[2, 0, 1][..])));
    assert_eq!(ring.take().0, InputKind::Repeated(1));
    // The late ones are baselines.
    let (mut log, mut ring_at_9) = (log(&layout), ring.clone());
    inputs(0..23).for_each(|(tick, row)| assert!(log.push(tick, &row)));
    log.handle_ack(9);
    assert!(receive(&mut ring_at_9, &frame(&log)).arrivals.eq([21, 22]));
    assert_eq!(ring_at_9.stats().dropped_baseline, 0);
}

#[test]
fn the_first_input_of_a_tick_wins() {
    let layout = drive();
    let mut ring = ring(&layout, 0);
    receive(&mut ring, &whole(&layout, [(3, [1, 1, 0])].into_iter()));
    let revised = whole(&layout, (2..5).map(|tick| (tick, [2, 2, 1])));
    assert!(receive(&mut ring, &revised).arrivals.eq([2, 4]));
    assert_eq!((ring.stats().duplicates, ring.stats().revised), (1, 1));
    (0..3).for_each(|_| _ = ring.take());
    assert_eq!(ring.take(), (InputKind::Fresh, Some(&[1, 1, 0][..])));
    // Also after its tick.
    receive(&mut ring, &revised);
    assert_eq!((ring.stats().late, ring.stats().revised), (0, 2));
}

#[test]
fn inputs_of_the_future_and_the_past_are_dropped() {
    let layout = drive();
    let mut ring = ring(&layout, 1000);
    let input = |tick| whole(&layout, [(tick, [1, 1, 1])].into_iter());
    for (tick, is_kept) in
        [(1031, true), (1032, false), (3000, false), (968, true), (967, false), (0, false)]
    {
        let frame = input(tick);
        let kept = receive(&mut ring, &frame).arrivals.count();
        assert_eq!(kept == 1, is_kept, "{tick}");
    }
    let stats = ring.stats();
    assert_eq!((stats.late, stats.dropped_future, stats.dropped_ancient), (1, 2, 2));
    assert_eq!(ring.newest(), Some(1031));
}

#[test]
fn inputs_without_a_known_baseline_are_dropped() {
    let layout = drive();
    let (mut log, mut ring) = (log(&layout), ring(&layout, 0));
    (0..5).for_each(|tick| assert!(log.push(tick, &[1, 2, 0])));
    // A server that acked inputs which it does not have, or a client that claims it.
    log.handle_ack(2);
    let received = receive(&mut ring, &frame(&log));
    assert_eq!((received.newest, received.arrivals.count()), (Some(4), 0));
    assert!(received.view.is_some());
    assert_eq!((ring.stats().dropped_baseline, ring.newest()), (1, None));
}

#[test]
fn a_row_that_the_input_type_does_not_have_is_refused() {
    let layout = drive();
    let mut ring = ring(&layout, 0);
    let frame = whole(&layout, (0..3).map(|tick| (tick, [tick, 0, 0])));
    let refused = ring.receive::<Ack>(&frame, |row| row[0] < 2);
    assert!(matches!(refused, Err(FrameError::Malformed(_))));
    // Nothing of the frame stays.
    assert_eq!((ring.newest(), ring.stats().refused), (None, 1));
    assert_eq!(ring.take().0, InputKind::Neutral);
    // 3 in a column of 0..=2: all bits of the whole row are set.
    let mut bytes = whole(&layout, [(0, [2, 2, 1])].into_iter());
    let last = bytes.len() - 1;
    bytes[last - 1..].fill(0xff);
    assert!(ring.receive::<Ack>(&bytes, |_| true).is_err());
}

#[test]
fn a_frame_with_bytes_behind_its_inputs_is_refused() {
    let layout = drive();
    let mut ring = ring(&layout, 0);
    let mut frame = whole(&layout, [(0, [2, 2, 1])].into_iter());
    frame.push(0);
    assert!(ring.receive::<Ack>(&frame, |_| true).is_err());
    assert_eq!(ring.newest(), None);
    frame.pop();
    assert!(ring.receive::<Ack>(&frame, |_| true).is_ok());
    assert!(ring.receive::<Ack>(&[0, 0], |_| true).is_err());
}

#[test]
fn a_flood_is_closed_and_does_no_work() {
    let layout = drive();
    let mut ring = ring(&layout, 0);
    let frame = whole(&layout, (0..3).map(|tick| (tick, [tick, 0, 0])));
    let mut read = 0;
    let closed = (0..10_000).find_map(|_| match ring.receive::<Ack>(&frame, |_| true) {
        Ok(received) => {
            read += received.iter().count();
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!((closed, read), (Some(FrameError::Flood), 32));
    assert_eq!((ring.stats().frames, ring.stats().dropped_flood), (32, 600));
}

/// Checks the invariants of a ring.
fn check(ring: &InputRing, layout: &InputLayout) {
    for back in 1..=64 {
        let tick = ring.next().wrapping_add(32).wrapping_sub(back);
        let start = place(tick) * layout.columns();
        for column in 0..layout.columns() {
            assert!(ring.rows()[start + column] <= layout.max(column));
        }
    }
    assert!(ring.newest().is_none_or(|newest| newest.wrapping_sub(ring.next()) as i32 <= 31));
}

#[test]
fn hostile_frames_are_refused_without_harm() {
    let mut random = Random(11);
    let (mut accepted, mut refused, mut dropped) = (0, 0, 0);
    for layout in [drive(), shooter()] {
        let (mut log, mut victim) = (log(&layout), ring(&layout, 5000));
        for tick in 5000..5020 {
            assert!(log.push(tick, &random.row(&layout)));
        }
        log.handle_ack(5012);
        let unacked = frame(&log);
        log.clear_all();
        (5000..5013).for_each(|tick| assert!(log.push(tick, &random.row(&layout))));
        receive(&mut victim, &frame(&log));
        for round in 0..200_000 {
            let mut bytes = unacked.clone();
            match round % 4 {
                0 => (0..=random.below(4)).for_each(|_| {
                    let bit = random.below(8 * bytes.len() as u64) as usize;
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }),
                1 => bytes.truncate(random.below(bytes.len() as u64) as usize),
                2 => bytes = (0..random.below(60)).map(|_| random.below(256) as u8).collect(),
                _ => bytes.extend((0..=random.below(9)).map(|_| random.below(256) as u8)),
            }
            let mut ring = victim.clone();
            match ring.receive::<Ack>(&bytes, |row| row.iter().sum::<u32>() % 64 != 63) {
                Ok(Some(received)) => {
                    accepted += 1;
                    dropped += ring.stats().dropped_baseline;
                    assert!(received.arrivals.count() <= 33);
                }
                Ok(None) => unreachable!("the limit is not reached"),
                Err(_) => {
                    refused += 1;
                    assert_eq!((ring.newest(), ring.filled()), (victim.newest(), victim.filled()));
                }
            }
            check(&ring, &layout);
            for tick in 5000..5013 {
                let (kind, row) = ring.take();
                assert_eq!((kind, row), (InputKind::Fresh, log.row(tick)));
            }
        }
    }
    println!("{accepted} accepted, {refused} refused, {dropped} without a baseline");
    assert!(accepted > 10_000 && refused > 10_000 && dropped > 1000);
}
