//! Networks that are bad in one way, and in all.

use std::time::Duration;

use tightwire::link::{Bandwidth, Bursts, LinkConfig};

pub(crate) fn latency() -> LinkConfig {
    LinkConfig { latency: Duration::from_millis(30), ..LinkConfig::default() }
}

pub(crate) fn bursts() -> Option<Bursts> {
    Some(Bursts { begin: 0.01, end: 0.1, loss: 0.9 })
}

pub(crate) fn narrow() -> LinkConfig {
    let bandwidth = Some(Bandwidth { bytes_per_second: 4_000_000, queue_bytes: 64_000 });
    LinkConfig { bandwidth, ..latency() }
}

pub(crate) fn everything() -> LinkConfig {
    LinkConfig {
        jitter: Duration::from_millis(100),
        loss: 0.05,
        bursts: bursts(),
        duplication: 0.1,
        reordering: 0.2,
        corruption: 0.02,
        bandwidth: Some(Bandwidth { bytes_per_second: 8_000_000, queue_bytes: 128_000 }),
        ..latency()
    }
}

/// The tests of a transport over each of them, which `judge(name, link, seed)` judges.
macro_rules! promises_are_kept {
    () => {
        #[test]
        fn promises_are_kept_over_a_perfect_link() {
            let report = judge("perfect", LinkConfig::default(), 1);
            assert!(report.deliveries.iter().all(|figures| figures.dropped() == 0));
        }

        #[test]
        fn promises_are_kept_with_5_percent_lost() {
            let report = judge("5 % loss", LinkConfig { loss: 0.05, ..latency() }, 2);
            assert!(report.deliveries[Delivery::Reliable as usize].overtaken > 0);
        }

        #[test]
        fn promises_are_kept_with_20_percent_lost() {
            let report = judge("20 % loss", LinkConfig { loss: 0.2, ..latency() }, 3);
            assert!(report.deliveries[Delivery::Reliable as usize].overtaken > 0);
        }

        #[test]
        fn promises_are_kept_with_loss_in_bursts() {
            judge("bursts", LinkConfig { bursts: networks::bursts(), ..latency() }, 4);
        }

        #[test]
        fn promises_are_kept_with_200_ms_of_jitter() {
            let jitter = Duration::from_millis(200);
            judge("200 ms jitter", LinkConfig { jitter, ..latency() }, 5);
        }

        #[test]
        fn promises_are_kept_with_a_third_doubled() {
            judge("33 % doubled", LinkConfig { duplication: 0.33, ..latency() }, 6);
        }

        #[test]
        fn promises_are_kept_with_a_third_out_of_order() {
            let report = judge("33 % reordered", LinkConfig { reordering: 0.33, ..latency() }, 7);
            assert!(report.deliveries[Delivery::Unreliable as usize].overtaken > 0);
            assert!(report.deliveries[Delivery::Reliable as usize].overtaken > 0);
        }

        #[test]
        fn promises_are_kept_with_a_tenth_corrupted() {
            judge("10 % corrupted", LinkConfig { corruption: 0.1, ..latency() }, 8);
        }

        #[test]
        fn promises_are_kept_with_little_bandwidth() {
            judge("4 MB/s", networks::narrow(), 9);
        }

        #[test]
        fn promises_are_kept_with_everything_at_once() {
            judge("everything", networks::everything(), 10);
        }
    };
}
