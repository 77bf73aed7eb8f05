//! Frames that are lost, late, duplicated and out of order.

use super::*;

const TICKS: u32 = 3000;

/// A frame in flight to the server.
struct Sent {
    arrives: u32,
    /// Ticks of the inputs that the frame must have, counted from the start.
    inputs: std::ops::RangeInclusive<u32>,
    bytes: Vec<u8>,
}

/// Sends the frames of a client over a network with loss, and latency and jitter in ticks, and
/// compares each input that the server takes with the one that the client logged. Returns the shares
/// of inputs that are missing, and of frames that lacked their baseline.
fn run_network(seed: u64, loss: u64, latency: u64, jitter: u64, lead: u32) -> (f64, f64) {
    let (layout, mut random) = (shooter(), Random(seed * 2 + 1));
    // Also where ticks wrap around.
    let start = if seed.is_multiple_of(2) { 0 } else { u32::MAX - 1000 };
    let (mut log, mut ring) = (log(&layout), ring(&layout, start));
    let mut logged = vec![None; (TICKS + lead) as usize];
    let mut is_in_time = vec![false; (TICKS + lead) as usize];
    let (mut up, mut down): (Vec<Sent>, Vec<(u32, u32)>) = Default::default();
    let (mut row, mut missing, mut inputs) = (random.row(&layout), 0, 0);
    for now in 0..TICKS {
        let made = now + lead;
        let delay = |random: &mut Random| now + (latency + random.below(jitter + 1)) as u32;
        // The client's clock skips a tick now and then.
        if random.below(200) > 0 {
            match random.below(4) {
                0 => row = random.row(&layout),
                1 => row[1] = random.below(65536) as u32,
                _ => {}
            }
            assert!(log.push(start.wrapping_add(made), &row));
            logged[made as usize] = Some(row.clone());
            let acked = log.acked().map(|acked| acked.wrapping_sub(start));
            let is_sent = |&tick: &u32| logged[tick as usize].is_some() && acked != Some(tick);
            let count = (0..=made).rev().take(32).take_while(is_sent).count() as u32;
            // Some frames are duplicated.
            for _ in 0..=u32::from(random.below(10) == 0) {
                if random.below(100) >= loss {
                    let (arrives, inputs) = (delay(&mut random), made + 1 - count..=made);
                    up.push(Sent { arrives, inputs, bytes: frame(&log) });
                }
            }
        }
        if random.below(100) >= loss {
            down.extend(ring.newest().map(|newest| (delay(&mut random), newest)));
        }
        while let Some(index) = up.iter().position(|frame| frame.arrives <= now) {
            let sent = up.swap_remove(index);
            let received = receive(&mut ring, &sent.bytes);
            assert_eq!(received.newest, Some(start.wrapping_add(*sent.inputs.end())));
            for tick in received.arrivals {
                assert!(sent.inputs.contains(&tick.wrapping_sub(start)));
            }
            sent.inputs
                .filter(|&tick| tick >= now)
                .for_each(|tick| is_in_time[tick as usize] = true);
        }
        while let Some(index) = down.iter().position(|ack| ack.0 <= now) {
            log.handle_ack(down.swap_remove(index).1);
        }
        let (kind, taken) = ring.take();
        let input = logged[now as usize].as_deref();
        match is_in_time[now as usize] {
            true => assert_eq!((kind, taken), (InputKind::Fresh, input), "{now}"),
            false => assert_ne!(kind, InputKind::Fresh, "{now}"),
        }
        inputs += u32::from(input.is_some());
        missing += u32::from(input.is_some() && kind != InputKind::Fresh);
    }
    let stats = ring.stats();
    assert_eq!((stats.revised, stats.refused, stats.dropped_future), (0, 0, 0));
    assert_eq!(stats.fresh + stats.repeated + stats.neutral, u64::from(TICKS));
    let without_baseline = stats.dropped_baseline as f64 / stats.frames as f64;
    (f64::from(missing) / f64::from(inputs), without_baseline)
}

#[test]
fn the_server_takes_what_the_client_logged_if_it_arrives_in_time() {
    for (loss, jitter, lead, most_missing) in [
        (0, 0, 3, 0.0),
        (3, 2, 7, 0.0015),
        (20, 3, 10, 0.003),
        (50, 4, 12, 0.015),
        // So late that baselines of late frames are gone.
        (10, 30, 12, 0.2),
    ] {
        let (mut missing, mut baseline) = (0.0, 0.0);
        for seed in 0..20 {
            let shares = run_network(seed, loss, 3, jitter, lead);
            (missing, baseline) = (missing + shares.0 / 20.0, baseline + shares.1 / 20.0);
        }
        println!(
            "loss {loss}%, jitter {jitter} ticks, lead {lead} ticks: {missing:.5} of the inputs are \
             missing, {baseline:.4} of the frames lack their baseline"
        );
        assert!(missing <= most_missing);
    }
}
