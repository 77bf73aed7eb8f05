//! State shared between the demo's threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tightwire::quic::Conditions;

use super::live::Live;
use super::server_history::ServerHistory;
use super::tally::{ServerTally, Tally};

/// State that the threads of the server, the clients and `main` share in an [`Arc`].
#[derive(Debug)]
pub(super) struct Shared {
    start: Instant,
    stop: Arc<AtomicBool>,
    /// Time for which a thread sleeps before it polls its socket again.
    pub(super) nap: Duration,
    /// Whether a page is served, which can show the worlds.
    pub(super) has_page: bool,
    pub(super) live: Arc<Live>,
    pub(super) server_history: ServerHistory,
    pub(super) server: Mutex<ServerTally>,
    pub(super) clients: Vec<ClientLink>,
}

/// Link conditions and counters of a client.
#[derive(Debug)]
pub(super) struct ClientLink {
    pub(super) conditions: Conditions,
    pub(super) tally: Mutex<Tally>,
}

impl Shared {
    /// Makes the state for clients on these links.
    pub(super) fn new(live: Arc<Live>, links: Vec<Conditions>, has_page: bool) -> Self {
        let seats =
            links.into_iter().map(|conditions| ClientLink { conditions, tally: Mutex::default() });
        let clients: Vec<_> = seats.collect();
        // A poll costs a few microseconds: with many clients, polls would take most of the time.
        let nap = Duration::from_millis(1 + clients.len() as u64 / 12);
        Self {
            start: Instant::now(),
            stop: Arc::default(),
            nap,
            has_page,
            live,
            server_history: ServerHistory::default(),
            server: Mutex::default(),
            clients,
        }
    }

    /// Returns the time since the start of the demo, which all threads share.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Sleeps until a time, but no longer than a [`nap`](Self::nap).
    pub(super) fn sleep_until(&self, time: Option<Duration>) {
        let wait = time.map_or(self.nap, |time| time.saturating_sub(self.now()));
        thread::sleep(wait.clamp(SHORTEST_NAP, self.nap));
    }

    /// Stops the demo: all clients leave.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the flag that stops the demo, for a signal handler.
    pub(super) fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }
}

/// Locks a mutex, poisoned or not: a thread that panicked leaves counters that are at most
/// outdated.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shortest sleep: shorter ones would only cost processor time.
const SHORTEST_NAP: Duration = Duration::from_micros(200);
