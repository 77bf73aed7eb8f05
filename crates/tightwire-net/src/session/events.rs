//! Events that wait to be polled.

use std::collections::VecDeque;

use super::SessionEvent;

/// Events that wait for the application. Anyone can cause any number of refusals, so the
/// number of waiting refusals is limited.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<SessionEvent>,
    refusals: usize,
    dropped: u64,
}

impl Events {
    pub(super) fn push(&mut self, event: SessionEvent) {
        if is_refusal(&event) {
            if self.refusals == MAX_REFUSALS {
                self.dropped += 1;
                return;
            }
            self.refusals += 1;
        }
        self.waiting.push_back(event);
    }

    pub(super) fn poll(&mut self) -> Option<SessionEvent> {
        let event = self.waiting.pop_front()?;
        self.refusals -= usize::from(is_refusal(&event));
        Some(event)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut SessionEvent> {
        self.waiting.back_mut()
    }

    pub(super) fn refusals_dropped(&self) -> u64 {
        self.dropped
    }
}

fn is_refusal(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Refused { .. })
}

/// Largest number of waiting refusals.
const MAX_REFUSALS: usize = 1024;
