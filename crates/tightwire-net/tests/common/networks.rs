//! Networks with one impairment each, and with all of them.

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
