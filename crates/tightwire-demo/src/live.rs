//! State shared between simulation and page: published values, and the page's controls.
//!
//! There are no queues of frames. The simulation never waits for a page, and a slow page skips
//! states that are outdated.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::game::{Action, Steer};

/// The shared state, in an [`Arc`].
///
/// Nouns return the newest value; `set_*` and `queue_chat` are the page's commands, `publish_*` and
/// `take_chat` the simulation's.
#[derive(Debug)]
pub(crate) struct Live {
    clients: u32,
    controls: Mutex<Controls>,
    published: Mutex<Published>,
    chat: Mutex<VecDeque<String>>,
    /// The newest input of a page, and when it came.
    pressed: Mutex<Option<(Steer, Instant)>>,
}

impl Live {
    /// Makes the state for a simulation of `clients` clients.
    pub(crate) fn new(controls: Controls, clients: u32) -> Self {
        Self {
            clients,
            controls: Mutex::new(controls.clamped(clients)),
            published: Mutex::default(),
            chat: Mutex::default(),
            pressed: Mutex::default(),
        }
    }

    /// Steers the cube of the shown client. A page repeats held keys.
    pub(crate) fn steer(&self, pressed: Pressed) {
        *lock(&self.pressed) = Some((pressed.steer(), Instant::now()));
    }

    /// Returns the input of the page; `None` if it has not steered for a while.
    pub(crate) fn steering(&self) -> Option<Steer> {
        let (steer, at) = (*lock(&self.pressed))?;
        held_for(steer, at.elapsed())
    }

    /// Returns the current controls.
    pub(crate) fn controls(&self) -> Controls {
        *lock(&self.controls)
    }

    /// Sets the controls, [clamped](Controls::clamped).
    pub(crate) fn set_controls(&self, controls: Controls) {
        *lock(&self.controls) = controls.clamped(self.clients);
    }

    /// Publishes a frame of both worlds.
    pub(crate) fn publish_worlds(&self, bytes: Vec<u8>) {
        lock(&self.published).worlds.replace(bytes.into());
    }

    /// Publishes the statistics, a JSON object.
    pub(crate) fn publish_stats(&self, json: String) {
        lock(&self.published).stats.replace(json.into());
    }

    /// Publishes the x-ray of a packet, a JSON object.
    pub(crate) fn publish_xray(&self, json: String) {
        lock(&self.published).xray.replace(json.into());
    }

    /// Returns the newest frame of both worlds.
    pub(crate) fn worlds(&self) -> Newest<[u8]> {
        lock(&self.published).worlds.clone()
    }

    /// Returns the newest statistics.
    pub(crate) fn stats(&self) -> Newest<str> {
        lock(&self.published).stats.clone()
    }

    /// Returns the newest x-ray.
    pub(crate) fn xray(&self) -> Newest<str> {
        lock(&self.published).xray.clone()
    }

    /// Queues a line of chat from the page: one line, not blank, cut to its largest length. If the
    /// queue is full, the oldest line is dropped.
    pub(crate) fn queue_chat(&self, text: String) {
        let line: String = text
            .trim()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(MAX_CHAT_CHARS)
            .collect();
        if line.trim().is_empty() {
            return;
        }
        let mut chat = lock(&self.chat);
        if chat.len() == MAX_CHAT {
            chat.pop_front();
        }
        chat.push_back(line);
    }

    /// Takes the lines of chat since the last call.
    pub(crate) fn take_chat(&self) -> Vec<String> {
        lock(&self.chat).drain(..).collect()
    }
}

/// Keys and buttons that a page holds down.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pressed {
    /// Wanted velocity along an axis, in percent; clamped.
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) gather: bool,
    pub(crate) blow: bool,
}

impl Pressed {
    fn steer(self) -> Steer {
        let action = match (self.blow, self.gather) {
            (true, _) => Action::Blow,
            (false, true) => Action::Gather,
            (false, false) => Action::Nothing,
        };
        Steer { stick: [self.x, self.y].map(|part| part.clamp(-100, 100) as i8), action }
    }
}

/// Returns the input after this time without another one. A closed page does not drive on.
fn held_for(steer: Steer, age: Duration) -> Option<Steer> {
    let held = if age < HOLD { steer } else { Steer::default() };
    (age < IDLE).then_some(held)
}

/// Settings that the page can change.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Controls {
    /// Share of packets that are lost, in each direction, from 0 to 1.
    pub(crate) loss: f64,
    /// Round-trip time of the links, in milliseconds.
    pub(crate) round_trip_ms: u32,
    /// Maximum additional latency of a packet, in each direction, in milliseconds.
    pub(crate) jitter_ms: u32,
    /// Snapshots per second.
    pub(crate) send_rate: u32,
    /// Number of the client whose world is shown.
    pub(crate) shown_client: u32,
}

impl Controls {
    /// Clamps the controls to the valid ranges.
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

/// The newest of a series of values, with a version number; 0 before the first value.
#[derive(Debug)]
pub(crate) struct Newest<T: ?Sized> {
    /// Number of values so far: a reader compares it to detect a new value.
    pub(crate) version: u64,
    /// Newest value, shared so that a frame is not copied for each page; `None` before the first.
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

/// Locks a mutex, poisoned or not: each change is one assignment, so a panic leaves nothing half
/// done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maximum length of a line of chat, in characters.
pub(crate) const MAX_CHAT_CHARS: usize = 200;

/// Time for which an input of a page counts; pages repeat it more often.
const HOLD: Duration = Duration::from_secs(1);

/// Time after the last input of a page after which the bot steers again.
const IDLE: Duration = Duration::from_secs(6);

/// Maximum number of lines that wait for the simulation.
const MAX_CHAT: usize = 16;

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
    fn a_page_steers_until_it_closes() {
        let live = Live::new(CONTROLS, 1);
        assert_eq!(live.steering(), None);
        live.steer(Pressed { x: 4000, y: -7, gather: true, blow: false });
        let steer = Steer { stick: [100, -7], action: Action::Gather };
        assert_eq!(live.steering(), Some(steer));
        let held_for = |seconds| held_for(steer, Duration::from_secs(seconds));
        assert_eq!([held_for(0), held_for(2)], [Some(steer), Some(Steer::default())]);
        assert_eq!(held_for(10), None, "the bot plays on");
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
    fn chat_lines_are_bounded() {
        let live = Live::new(CONTROLS, 1);
        live.queue_chat("  \n ".into());
        live.queue_chat("one\ntwo\u{7}".into());
        live.queue_chat("x".repeat(10_000));
        assert_eq!(live.take_chat(), ["one two ", &"x".repeat(MAX_CHAT_CHARS)]);
        assert!(live.take_chat().is_empty());
        for number in 0..100 {
            live.queue_chat(number.to_string());
        }
        let chat = live.take_chat();
        assert_eq!((chat.len(), chat[0].as_str()), (MAX_CHAT, "84"));
    }
}
