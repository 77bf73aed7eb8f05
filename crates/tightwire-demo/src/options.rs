//! The command line of the demo.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tightwire::link::{Bandwidth, Bursts, LinkConfig};
use tightwire::quic::Conditions;
use tightwire::snapshot::Level;

use super::live::Controls;
use super::random::Random;

/// Options of a run.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Number of clients.
    #[arg(long, value_name = "NUMBER", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) clients: u32,
    /// Length of the run: prints a summary at its end. Without a page unless `--port` or `--open`
    /// is given.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) seconds: Option<f64>,
    /// Prints the summary as JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Port of the page on this machine: 7777 by default, any free one if 0.
    #[arg(long, value_name = "PORT")]
    pub(super) port: Option<u16>,
    /// Opens the page in the browser.
    #[arg(long)]
    pub(super) open: bool,
    /// Serves no page.
    #[arg(long, conflicts_with_all = ["port", "open"])]
    pub(super) no_web: bool,
    /// Compression level of snapshots.
    #[arg(long, value_name = "LEVEL", default_value = "modeled")]
    pub(super) level: LevelName,
    /// Snapshots per second.
    #[arg(long, value_name = "NUMBER", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(super) send_rate: u32,
    /// Seed of the network, the world and the bots.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,
    /// Captures the server's messages, for `tightwire inspect` and Wireshark.
    #[arg(long, value_name = "FILE.pcapng")]
    pub(super) record: Option<PathBuf>,
    #[command(flatten)]
    pub(super) network: Network,
}

/// Network between the clients and the server. Shares are written as 0.02 or 2%.
#[derive(Args, Debug)]
#[command(next_help_heading = "The network of each client, in each direction")]
pub(super) struct Network {
    /// Round-trip time, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(0..=2000))]
    pub(super) round_trip: u32,
    /// Maximum additional latency of a packet, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(0..=500))]
    pub(super) jitter: u32,
    /// Share of packets that are lost; at most 90%.
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = loss)]
    pub(super) loss: f64,
    /// Bursts of loss: the chance that a burst begins with a packet, the chance that it ends, and
    /// the loss within it.
    #[arg(long, value_name = "BEGIN,END,LOSS", value_parser = bursts)]
    pub(super) bursts: Option<Bursts>,
    /// Share of packets that arrive twice.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(super) duplication: f64,
    /// Share of packets that others overtake.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(super) reordering: f64,
    /// Share of packets that arrive with a flipped bit.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    pub(super) corruption: f64,
    /// Bandwidth in bytes per second; unlimited by default.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1000..))]
    pub(super) bandwidth: Option<u64>,
    /// Queue in front of the bandwidth limit, in bytes; packets beyond it are lost.
    #[arg(long, value_name = "BYTES", default_value_t = 16384, requires = "bandwidth")]
    pub(super) queue: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum LevelName {
    Auto,
    Packed,
    Modeled,
}

impl LevelName {
    pub(super) fn level(self) -> Level {
        match self {
            Self::Auto => Level::Auto,
            Self::Packed => Level::Packed,
            Self::Modeled => Level::Modeled,
        }
    }
}

impl Demo {
    /// Returns the link conditions of a client.
    pub(super) fn conditions(&self, client: u32, controls: Controls) -> Conditions {
        let seed = Random::new(self.seed, 1000 + u64::from(client)).next();
        let link = self.network.link(controls);
        Conditions::new(link, link, seed)
    }

    /// Returns the initial controls of the page.
    pub(super) fn controls(&self) -> Controls {
        let Network { round_trip, jitter, loss, .. } = self.network;
        Controls {
            loss,
            round_trip_ms: round_trip,
            jitter_ms: jitter,
            send_rate: self.send_rate,
            shown_client: 0,
        }
        .clamped(self.clients)
    }
}

impl Network {
    /// Returns the links' configuration for these controls.
    pub(super) fn link(&self, controls: Controls) -> LinkConfig {
        LinkConfig {
            latency: Duration::from_millis(controls.round_trip_ms.into()) / 2,
            jitter: Duration::from_millis(controls.jitter_ms.into()),
            loss: controls.loss,
            bursts: self.bursts,
            duplication: self.duplication,
            reordering: self.reordering,
            corruption: self.corruption,
            bandwidth: self
                .bandwidth
                .map(|bytes_per_second| Bandwidth { bytes_per_second, queue_bytes: self.queue }),
        }
    }
}

/// Parses a loss of at most 90%, at which clients can still connect.
fn loss(text: &str) -> Result<f64, String> {
    let most = |share: &f64| *share <= 0.9;
    Some(share(text)?).filter(most).ok_or_else(|| "at most 90% can be lost".into())
}

/// Parses a share, as a number from 0 to 1 or in percent.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.trim().parse::<f64>().map(|number| number / scale);
    share
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is from 0 to 1, or from 0% to 100%".into())
}

fn bursts(text: &str) -> Result<Bursts, String> {
    let shares: Vec<f64> = text.split(',').map(share).collect::<Result<_, _>>()?;
    match shares[..] {
        [begin, end, loss] => Ok(Bursts { begin, end, loss }),
        _ => Err("three shares are needed, as 1%,20%,50%".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=1e7).contains(seconds));
    seconds.ok_or_else(|| "a number of seconds, at least 0.1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percent() {
        assert_eq!(share("0.02"), Ok(0.02));
        assert_eq!(share("2%"), Ok(0.02));
        assert!(share("2").is_err() && share("-1%").is_err() && share("nan").is_err());
        let three = Bursts { begin: 0.01, end: 0.2, loss: 0.5 };
        assert_eq!(bursts("1%,20%,0.5"), Ok(three));
        assert!(bursts("1%").is_err());
    }
}
