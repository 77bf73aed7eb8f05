//! What the threads of the demo share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::bad_link::Knobs;
use super::live::Live;
use super::tally::{ServerTally, Tally};
use super::truth::Truth;

/// In an [`Arc`]: the server's thread, those of the clients, and the one that looks after them.
#[derive(Debug)]
pub(super) struct Shared {
    start: Instant,
    stop: Arc<AtomicBool>,
    /// How long a thread sleeps until it looks at its socket again.
    pub(super) nap: Duration,
    /// Somebody may look at the worlds.
    pub(super) has_page: bool,
    pub(super) live: Arc<Live>,
    pub(super) truth: Truth,
    pub(super) server: Mutex<ServerTally>,
    pub(super) clients: Vec<Seat>,
}

/// What is known of a client from outside.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) knobs: Arc<Knobs>,
    pub(super) tally: Mutex<Tally>,
}

impl Shared {
    /// For clients on these links.
    pub(super) fn new(live: Arc<Live>, links: Vec<Knobs>, has_page: bool) -> Self {
        let seats =
            links.into_iter().map(|knobs| Seat { knobs: Arc::new(knobs), tally: Mutex::default() });
        let clients: Vec<_> = seats.collect();
        // A look costs a few microseconds: with many clients, they would be most of what is done.
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

    /// The time of all of them.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Everybody is to leave.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// For a signal.
    pub(super) fn stop_flag(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }
}

/// A thread that panicked leaves numbers that are at most old.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
