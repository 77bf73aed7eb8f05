//! State shared between the demo's threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::bad_link::Knobs;
use super::live::Live;
use super::tally::{ServerTally, Tally};
use super::truth::Truth;

/// State of the demo, in an [`Arc`]: for the threads of the server, the clients and `main`.
#[derive(Debug)]
pub(super) struct Shared {
    start: Instant,
    stop: Arc<AtomicBool>,
    /// Time for which a thread sleeps before it polls its socket again.
    pub(super) nap: Duration,
    /// Whether a page is served, which may show the worlds.
    pub(super) has_page: bool,
    pub(super) live: Arc<Live>,
    pub(super) truth: Truth,
    pub(super) server: Mutex<ServerTally>,
    pub(super) clients: Vec<Seat>,
}

/// Link settings and counters of a client.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) knobs: Arc<Knobs>,
    pub(super) tally: Mutex<Tally>,
}

impl Shared {
    /// Makes the state for clients on these links.
    pub(super) fn new(live: Arc<Live>, links: Vec<Knobs>, has_page: bool) -> Self {
        let seats =
            links.into_iter().map(|knobs| Seat { knobs: Arc::new(knobs), tally: Mutex::default() });
        let clients: Vec<_> = seats.collect();
        // A poll costs a few microseconds: with many clients, polls would take most of the time.
        let nap = Duration::from_millis(1 + clients.len() as u64 / 12);
        Self {
            start: Instant::now(),
            stop: Arc::default(),
            nap,
            has_page,
            live,
            truth: Truth::default(),
            server: Mutex::default(),
            clients,
        }
    }

    /// Returns the time since the start of the demo, which all threads share.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
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
