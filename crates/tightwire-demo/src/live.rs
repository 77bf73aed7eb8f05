//! What the simulation and its page share: what is shown, and what was chosen.
//!
//! Nothing queues up. The simulation never waits for a page, and a page that is slow misses states
//! that are old by then.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// The meeting point, in an [`Arc`].
///
/// Nouns give the newest value; `set_*` and `say` are the page's commands, `publish_*` and
/// `take_said` the simulation's.
#[derive(Debug)]
pub(crate) struct Live {
    clients: u32,
    controls: Mutex<Controls>,
    published: Mutex<Published>,
    said: Mutex<VecDeque<String>>,
}

impl Live {
    /// For a simulation with as many clients, which starts with these controls.
    pub(crate) fn new(controls: Controls, clients: u32) -> Self {
        Self {
            clients,
            controls: Mutex::new(controls.clamped(clients)),
            published: Mutex::default(),
            said: Mutex::default(),
        }
    }

    /// What is wanted now.
    pub(crate) fn controls(&self) -> Controls {
        *lock(&self.controls)
    }

    /// Takes what is wanted from now on, [clamped](Controls::clamped).
    pub(crate) fn set_controls(&self, controls: Controls) {
        *lock(&self.controls) = controls.clamped(self.clients);
    }

    /// Shows a frame of both worlds.
    pub(crate) fn publish_worlds(&self, bytes: Vec<u8>) {
        lock(&self.published).worlds.replace(bytes.into());
    }

    /// Shows the numbers: a JSON object.
    pub(crate) fn publish_stats(&self, json: String) {
        lock(&self.published).stats.replace(json.into());
    }

    /// Shows a packet: a JSON object.
    pub(crate) fn publish_xray(&self, json: String) {
        lock(&self.published).xray.replace(json.into());
    }

    /// The newest frame of both worlds.
    pub(crate) fn worlds(&self) -> Newest<[u8]> {
        lock(&self.published).worlds.clone()
    }

    /// The newest numbers.
    pub(crate) fn stats(&self) -> Newest<str> {
        lock(&self.published).stats.clone()
    }

    /// The newest packet.
    pub(crate) fn xray(&self) -> Newest<str> {
        lock(&self.published).xray.clone()
    }

    /// Takes a line of chat that was typed on the page: one line, not blank, cut to
    /// [`MAX_SAID_CHARS`]. Of lines that nobody takes the oldest are forgotten.
    pub(crate) fn say(&self, text: String) {
        let line: String = text
            .trim()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(MAX_SAID_CHARS)
            .collect();
        if line.trim().is_empty() {
            return;
        }
        let mut said = lock(&self.said);
        if said.len() == MAX_SAID {
            said.pop_front();
        }
        said.push_back(line);
    }

    /// The lines that were typed since the last call.
    pub(crate) fn take_said(&self) -> Vec<String> {
        lock(&self.said).drain(..).collect()
    }
}

/// What can be chosen while the demo runs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Controls {
    /// The share of the packets that is lost, in each direction.
    pub(crate) loss: f64,
    /// How long a packet and its answer are on the way.
    pub(crate) round_trip_ms: u32,
    /// How much later than that a packet can come, in each direction.
    pub(crate) jitter_ms: u32,
    /// Snapshots per second.
    pub(crate) send_rate: u32,
    /// The client whose world is shown.
    pub(crate) shown_client: u32,
}

impl Controls {
    /// The nearest that make sense.
    pub(crate) fn clamped(self, clients: u32) -> Self {
        Self {
            loss: if self.loss.is_nan() { 0.0 } else { self.loss.clamp(0.0, 0.9) },
            round_trip_ms: self.round_trip_ms.min(2000),
            jitter_ms: self.jitter_ms.min(500),
            send_rate: self.send_rate.clamp(1, 60),
            shown_client: self.shown_client.min(clients.saturating_sub(1)),
        }
    }
}

/// A value that is replaced now and then, with a number that grows each time; 0 before the first.
#[derive(Debug)]
pub(crate) struct Newest<T: ?Sized> {
    /// Differs from the last one that was seen if the value is new.
    pub(crate) version: u64,
    /// Shared, so that a frame is not copied for each page.
    pub(crate) value: Option<Arc<T>>,
}

impl<T: ?Sized> Newest<T> {
    fn replace(&mut self, value: Arc<T>) {
        self.version += 1;
        self.value = Some(value);
    }
}

impl<T: ?Sized> Clone for Newest<T> {
    fn clone(&self) -> Self {
        Self { version: self.version, value: self.value.clone() }
    }
}

impl<T: ?Sized> Default for Newest<T> {
    fn default() -> Self {
        Self { version: 0, value: None }
    }
}

#[derive(Default, Debug)]
struct Published {
    worlds: Newest<[u8]>,
    stats: Newest<str>,
    xray: Newest<str>,
}

/// A thread that panicked leaves nothing half done here: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest line of chat.
pub(crate) const MAX_SAID_CHARS: usize = 200;

/// Lines that wait for the simulation.
const MAX_SAID: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLS: Controls =
        Controls { loss: 0.02, round_trip_ms: 100, jitter_ms: 10, send_rate: 60, shown_client: 0 };

    #[test]
    fn controls_are_clamped() {
        let live = Live::new(CONTROLS, 4);
        assert_eq!(live.controls(), CONTROLS);
        live.set_controls(Controls {
            loss: 7.0,
            round_trip_ms: u32::MAX,
            jitter_ms: u32::MAX,
            send_rate: 0,
            shown_client: 4,
        });
        let most = Controls {
            loss: 0.9,
            round_trip_ms: 2000,
            jitter_ms: 500,
            send_rate: 1,
            shown_client: 3,
        };
        assert_eq!(live.controls(), most);
        live.set_controls(Controls { loss: f64::NAN, ..CONTROLS });
        assert_eq!(live.controls().loss, 0.0);
        live.set_controls(Controls { loss: -0.1, ..CONTROLS });
        assert_eq!(live.controls().loss, 0.0);
        assert_eq!(CONTROLS.clamped(0).shown_client, 0, "no clients at all");
    }

    #[test]
    fn only_the_newest_counts() {
        let live = Live::new(CONTROLS, 1);
        assert_eq!((live.worlds().version, live.worlds().value), (0, None));
        live.publish_worlds(vec![1]);
        live.publish_worlds(vec![2]);
        let newest = live.worlds();
        assert_eq!((newest.version, newest.value.as_deref()), (2, Some(&[2][..])));
        live.publish_stats("{}".into());
        assert_eq!((live.stats().version, live.stats().value.as_deref()), (1, Some("{}")));
        assert_eq!(live.xray().version, 0);
    }

    #[test]
    fn what_is_said_is_bounded() {
        let live = Live::new(CONTROLS, 1);
        live.say("  \n ".into());
        live.say("one\ntwo\u{7}".into());
        live.say("x".repeat(10_000));
        assert_eq!(live.take_said(), ["one two ", &"x".repeat(MAX_SAID_CHARS)]);
        assert!(live.take_said().is_empty());
        for number in 0..100 {
            live.say(number.to_string());
        }
        let said = live.take_said();
        assert_eq!((said.len(), said[0].as_str()), (MAX_SAID, "84"));
    }
}
