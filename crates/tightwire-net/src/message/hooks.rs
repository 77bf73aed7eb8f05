//! Hooks: to observe, measure and veto messages.

use super::{PeerId, RefusedMessageError, Route};
use tightwire_core::stream::ExplainedError;

/// Argument of a hook: a message and its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MessageEvent {
    /// Receiver of a sent message, or sender of a received one.
    pub peer: PeerId,
    /// Name of its type.
    pub message: &'static str,
    /// Delivery, channel and stage.
    pub route: Route,
    /// Bytes of its body; `None` if it is not written, or not yet.
    pub size: Option<usize>,
}

/// Callbacks around every step of a message: for profiling, for logs, and for a veto.
///
/// The defaults do nothing.
///
/// ```
/// use tightwire::message::{Hooks, MessageEvent};
///
/// /// Vetoes every chat message.
/// struct Silence;
///
/// impl Hooks for Silence {
///     fn before_handle(&mut self, event: &MessageEvent) -> bool {
///         event.message != "Chat"
///     }
/// }
/// ```
pub trait Hooks: Send + Sync {
    /// Called before a message is written for a peer. `false` vetoes it.
    fn before_send(&mut self, event: &MessageEvent) -> bool {
        let _ = event;
        true
    }

    /// Called when a message is in the peer's batch, in a queue, or was handled at once.
    fn after_send(&mut self, event: &MessageEvent) {
        let _ = event;
    }

    /// Called before a received message is put into the queue of its stage. `false` vetoes it.
    fn before_receive(&mut self, event: &MessageEvent) -> bool {
        let _ = event;
        true
    }

    /// Called when a received message is in its queue.
    fn after_receive(&mut self, event: &MessageEvent) {
        let _ = event;
    }

    /// Called before a message is read and passed to its handler, or drained. `false` vetoes it.
    fn before_handle(&mut self, event: &MessageEvent) -> bool {
        let _ = event;
        true
    }

    /// Called when the handler has returned, when the message could not be read, or when it was
    /// drained.
    fn after_handle(&mut self, event: &MessageEvent) {
        let _ = event;
    }

    /// Called when a batch or a message was refused. `explain` reads a malformed one again and
    /// names the field, which takes a while and allocates.
    fn refused(
        &mut self,
        refused: &RefusedMessageError,
        explain: &dyn Fn() -> Option<ExplainedError>,
    ) {
        let _ = (refused, explain);
    }

    /// Called when a handler returned this error.
    fn handler_failed(&mut self, event: &MessageEvent, error: &str) {
        let _ = (event, error);
    }
}
