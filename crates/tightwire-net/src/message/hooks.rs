//! To watch, to measure, and to stop a message.

use super::{PeerId, RefusedMessageError, Route};
use tightwire_core::stream::ExplainedError;

/// What a hook is told about a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MessageEvent {
    /// The receiver of a message that is sent, the sender of one that came.
    pub peer: PeerId,
    /// The name of its type.
    pub message: &'static str,
    /// How it travels.
    pub route: Route,
    /// The bytes of its body; nothing where it is not written, or not yet.
    pub size: Option<usize>,
}

/// Called around everything that happens to a message: for profiling, for logs, and for a veto.
///
/// All functions do nothing unless they are written.
///
/// ```
/// use tightwire::message::{Hooks, MessageEvent};
///
/// /// Lets nobody chat.
/// struct Silence;
///
/// impl Hooks for Silence {
///     fn before_handle(&mut self, event: &MessageEvent) -> bool {
///         event.message != "Chat"
///     }
/// }
/// ```
pub trait Hooks: Send + Sync {
    /// Before a message is written for a peer. `false` stops it.
    fn before_send(&mut self, event: &MessageEvent) -> bool {
        let _ = event;
        true
    }

    /// When it stands in the peer's batch, in a queue, or was handled at once.
    fn after_send(&mut self, event: &MessageEvent) {
        let _ = event;
    }

    /// Before a message that came is put into the queue of its stage. `false` stops it.
    fn before_receive(&mut self, event: &MessageEvent) -> bool {
        let _ = event;
        true
    }

    /// When it is in the queue.
    fn after_receive(&mut self, event: &MessageEvent) {
        let _ = event;
    }

    /// Before a message is read and given to its handler, or to whoever drains it. `false` stops it.
    fn before_handle(&mut self, event: &MessageEvent) -> bool {
        let _ = event;
        true
    }

    /// When its handler has returned, or it could not be read; when one that is drained was read.
    fn after_handle(&mut self, event: &MessageEvent) {
        let _ = event;
    }

    /// A batch or a message was refused. `explain` reads a malformed one again and names the field,
    /// which takes a while and allocates.
    fn refused(
        &mut self,
        refused: &RefusedMessageError,
        explain: &dyn Fn() -> Option<ExplainedError>,
    ) {
        let _ = (refused, explain);
    }

    /// A handler returned this error.
    fn handler_failed(&mut self, event: &MessageEvent, error: &str) {
        let _ = (event, error);
    }
}
