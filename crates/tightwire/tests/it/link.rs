//! The simulated link: each fault at its configured rate, and the same for the same seed.

use std::time::Duration;

use tightwire::link::{Bandwidth, Bursts, Link, LinkConfig};

use crate::common::seed;

const COUNT: u32 = 100_000;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Sends numbered datagrams, one each millisecond, and returns arrival times and numbers.
fn run(config: LinkConfig, seed: u64) -> (Vec<(Duration, u32)>, Link) {
    let mut link = Link::new(config, seed::seed(seed));
    let mut came = Vec::new();
    for number in 0..COUNT {
        let now = ms(number.into());
        link.handle_datagram(now, &number.to_le_bytes());
        receive(&mut link, now, &mut came);
    }
    while let Some(time) = link.next_time() {
        receive(&mut link, time, &mut came);
    }
    (came, link)
}

fn receive(link: &mut Link, now: Duration, came: &mut Vec<(Duration, u32)>) {
    while let Some(datagram) = link.poll_datagram(now) {
        came.push((now, u32::from_le_bytes(datagram.try_into().unwrap())));
    }
}

fn is_about(count: u64, chance: f64) -> bool {
    let expected = f64::from(COUNT) * chance;
    (count as f64 - expected).abs() < 5.0 * expected.sqrt()
}

#[test]
fn a_perfect_link_delivers_everything_in_order_and_at_once() {
    let (came, link) = run(LinkConfig::default(), 1);
    let expected: Vec<_> = (0..COUNT).map(|number| (ms(number.into()), number)).collect();
    assert_eq!(came, expected);
    assert_eq!(link.stats().delivered, u64::from(COUNT));
}

#[test]
fn the_same_seed_gives_the_same_network_and_another_another() {
    let config = LinkConfig {
        latency: ms(50),
        jitter: ms(30),
        loss: 0.05,
        bursts: Some(Bursts { begin: 0.001, end: 0.1, loss: 0.9 }),
        duplication: 0.02,
        reordering: 0.03,
        corruption: 0.01,
        bandwidth: Some(Bandwidth { bytes_per_second: 3_000, queue_bytes: 400 }),
    };
    let (first, link) = run(config, 7);
    assert_eq!(first, run(config, 7).0);
    assert_ne!(first, run(config, 8).0);
    let stats = link.stats();
    assert_eq!(stats.sent, u64::from(COUNT));
    assert_eq!(stats.delivered, stats.sent - stats.lost - stats.overflowed + stats.duplicated);
    assert!(stats.overflowed > 0 && stats.corrupted > 0 && stats.held_back > 0);
}

#[test]
fn latency_and_jitter_delay_and_keep_the_order() {
    let (came, _) = run(LinkConfig { latency: ms(50), jitter: ms(30), ..LinkConfig::default() }, 1);
    assert_eq!(came.len(), COUNT as usize);
    let mut delays = Vec::new();
    for (place, (time, number)) in came.iter().enumerate() {
        assert_eq!(*number, place as u32);
        delays.push(*time - ms((*number).into()));
    }
    assert!(delays.iter().all(|delay| (ms(50)..=ms(81)).contains(delay)));
    assert!(
        delays.iter().any(|delay| *delay < ms(60)) && delays.iter().any(|delay| *delay > ms(75))
    );
}

#[test]
fn each_chance_is_as_large_as_it_says() {
    let base = LinkConfig { latency: ms(50), ..LinkConfig::default() };
    let (_, link) = run(LinkConfig { loss: 0.05, ..base }, 1);
    assert!(is_about(link.stats().lost, 0.05));
    let (_, link) = run(LinkConfig { duplication: 0.05, ..base }, 1);
    assert!(is_about(link.stats().duplicated, 0.05));

    let (came, link) = run(LinkConfig { reordering: 0.05, ..base }, 1);
    assert!(is_about(link.stats().held_back, 0.05));
    let overtaken = came.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
    assert!(overtaken > 1000, "{overtaken}");
    assert!(came.iter().all(|(time, number)| *time - ms((*number).into()) <= ms(101)));

    let (came, link) = run(LinkConfig { corruption: 0.05, ..base }, 1);
    assert!(is_about(link.stats().corrupted, 0.05));
    let changed = came.iter().enumerate().filter(|(place, (_, number))| *place as u32 != *number);
    let flips: Vec<_> = changed.map(|(place, (_, number))| place as u32 ^ number).collect();
    assert!(flips.iter().all(|flip| flip.count_ones() == 1));
    assert_eq!(flips.len() as u64, link.stats().corrupted);
}

#[test]
fn losses_come_in_bursts() {
    let bursts = Some(Bursts { begin: 0.01, end: 0.2, loss: 1.0 });
    let (came, link) = run(LinkConfig { bursts, ..LinkConfig::default() }, 1);
    let gaps: Vec<_> = came.windows(2).map(|pair| pair[1].1 - pair[0].1 - 1).collect();
    let long = gaps.iter().filter(|gap| **gap >= 5).count();
    assert!(long > 200, "{long} gaps of five and more");
    // A burst lasts for 0.01 of 0.21 of the time.
    let share = link.stats().lost as f64 / f64::from(COUNT);
    assert!((0.03..0.07).contains(&share), "{share}");
}

#[test]
fn bandwidth_delays_and_then_drops() {
    // Four bytes each millisecond are 4000 per second.
    let bandwidth = |bytes_per_second| {
        let bandwidth = Some(Bandwidth { bytes_per_second, queue_bytes: 1000 });
        run(LinkConfig { bandwidth, ..LinkConfig::default() }, 1)
    };
    let (came, link) = bandwidth(5000);
    assert_eq!(link.stats().overflowed, 0);
    assert!(came.iter().all(|(time, number)| *time - ms((*number).into()) <= ms(1)));
    let (came, link) = bandwidth(2000);
    let delivered = link.stats().delivered as f64 / f64::from(COUNT);
    assert!((0.49..0.51).contains(&delivered), "{delivered}");
    // A full queue is half a second long.
    let (last, number) = came[came.len() - 1];
    assert!((ms(490)..ms(510)).contains(&(last - ms(number.into()))));
}

#[test]
fn after_a_while_it_takes_no_memory() {
    let config = LinkConfig { latency: ms(50), duplication: 1.0, ..LinkConfig::default() };
    let mut link = Link::new(config, seed::seed(1));
    let send = |link: &mut Link, numbers: std::ops::Range<u64>| {
        for number in numbers {
            link.handle_datagram(ms(number), &[7; 100]);
            while link.poll_datagram(ms(number)).is_some() {}
        }
    };
    send(&mut link, 0..1_000);
    while link.poll_datagram(ms(2_000)).is_some() {}
    link.set_config(LinkConfig { loss: 0.05, duplication: 0.1, ..config });
    let info = allocation_counter::measure(|| send(&mut link, 2_000..20_000));
    assert_eq!(info.count_total, 0);
}
