//! Handling of a message by its handler.

use super::context::MessageOrigin;
use super::error::HandlerError;
use super::inbox::QueuedMessage;
use super::registry::{HandleError, MessageType, Receive};
use super::{Context, Message, MessageError, MessageEvent, Messenger, Stage};
use tightwire_core::stream::{ExplainedError, ReadError, Trace};

impl<C: 'static> Messenger<C> {
    /// Handles one message and the following ones of its run, at most `left`; `false` if there is
    /// none.
    pub(super) fn handle_next(&mut self, stage: Stage, state: &mut C, left: &mut usize) -> bool {
        let Some((origin, item)) = self.inbox.pop(stage.into()) else { return false };
        Handling::new(self, origin, Some(item)).handle(state, left);
        true
    }
}

/// A message while it is handled: its batch is kept, and its receiver is out of the registry.
///
/// Dropping this gives both back, also while a panic of the handler unwinds: an application that
/// catches the panic goes on with a messenger that misses nothing.
pub(super) struct Handling<'m, C: 'static> {
    messenger: &'m mut Messenger<C>,
    origin: MessageOrigin,
    /// Position of the body; `None` if the message was never written.
    item: Option<QueuedMessage>,
    receiver: Option<Box<dyn Receive<C>>>,
    /// The handler was called and has not returned.
    is_running: bool,
}

impl<'m, C: 'static> Handling<'m, C> {
    pub(super) fn new(
        messenger: &'m mut Messenger<C>,
        origin: MessageOrigin,
        item: Option<QueuedMessage>,
    ) -> Self {
        Self { messenger, origin, item, receiver: None, is_running: false }
    }

    /// Handles a received message, and the following ones of its run.
    fn handle(&mut self, state: &mut C, left: &mut usize) {
        let Self { messenger, origin, item: Some(item), receiver, is_running } = self else {
            return;
        };
        let MessageOrigin { sender, route, number, .. } = *origin;
        messenger.count_popped(sender, left);
        let Some(entry) = messenger.registry.entry(number) else { return };
        let (message, size) = (entry.name, Some(item.size()));
        let event = || MessageEvent { peer: sender, message, route, size };
        if messenger.hooks.as_mut().is_some_and(|hooks| !hooks.before_handle(&event())) {
            messenger.refuse(sender, Some(number), MessageError::Vetoed);
            return;
        }
        *receiver = messenger.registry.entry(number).and_then(|entry| entry.receiver.take());
        let Some(receiver) = receiver else { return };
        *is_running = true;
        let handled = receiver.handle(item, *origin, messenger, state, left);
        *is_running = false;
        match handled {
            Ok(()) => messenger.count_handled(number, Ok(()), event),
            Err(HandleError::Failed(error)) => messenger.count_handled(number, Err(error), event),
            Err(HandleError::Malformed(refused)) => {
                let packing = messenger.packing();
                let fault = MessageError::Malformed(refused);
                messenger.refuse_explained(sender, Some(number), fault, |inbox| {
                    Some(receiver.explain(refused, inbox.body(item), packing))
                });
            }
        }
        if let Some(hooks) = &mut messenger.hooks {
            hooks.after_handle(&event());
        }
    }

    /// Reads a message of a drained type into the value that is kept for the type: `false` if it
    /// was refused.
    pub(super) fn read<M: Message>(&mut self) -> bool {
        let packing = self.messenger.packing();
        self.read_with(
            |body, value: &mut M| packing.decode_into(body, value),
            |body| Some(packing.explain::<M>(body)),
        )
    }

    /// Copies the body of a message that is known by name and schema; `false` if it was refused.
    pub(super) fn read_raw(&mut self) -> bool {
        let copy = |body: &[u8], value: &mut Vec<u8>| {
            value.clear();
            value.extend_from_slice(body);
            Ok(())
        };
        self.read_with(copy, |_| None)
    }

    fn read_with<V: 'static>(
        &mut self,
        read: impl FnOnce(&[u8], &mut V) -> Result<(), ReadError>,
        explain: impl Fn(&[u8]) -> Option<Trace>,
    ) -> bool {
        let Self { messenger, origin, item: Some(item), is_running, .. } = self else {
            return false;
        };
        let MessageOrigin { sender, route, number, .. } = *origin;
        messenger.count_popped(sender, &mut 1);
        let size = Some(item.size());
        let Some(message) = messenger.registry.entry(number).map(|entry| entry.name) else {
            return false;
        };
        let event = || MessageEvent { peer: sender, message, route, size };
        if messenger.hooks.as_mut().is_some_and(|hooks| !hooks.before_handle(&event())) {
            messenger.refuse(sender, Some(number), MessageError::Vetoed);
            return false;
        }
        let Messenger { registry, inbox, .. } = &mut **messenger;
        let Some(value) = registry.entry(number).and_then(MessageType::value_mut::<V>) else {
            return false;
        };
        *is_running = true;
        let read = read(inbox.body(item), value);
        *is_running = false;
        if let Err(refused) = read {
            let fault = MessageError::Malformed(refused);
            messenger.refuse_explained(sender, Some(number), fault, |inbox| {
                let trace = explain(inbox.body(item))?;
                Some(ExplainedError::new(refused.kind, refused.bit, trace))
            });
        } else {
            messenger.count_handled(number, Ok(()), event);
        }
        if let Some(hooks) = &mut messenger.hooks {
            hooks.after_handle(&event());
        }
        read.is_ok()
    }

    /// Passes a message that was never written to its handler; `None` if that handler is running.
    pub(super) fn handle_value<M: Message>(
        &mut self,
        message: &M,
        state: &mut C,
    ) -> Option<Result<(), HandlerError>> {
        let Self { messenger, origin, receiver, is_running, .. } = self;
        let entry = messenger.registry.entry(origin.number);
        *receiver = entry.and_then(|entry| entry.receiver.take());
        let receiver = receiver.as_mut()?;
        *is_running = true;
        let result = receiver.handle_value(message, &mut Context::new(state, messenger, *origin));
        *is_running = false;
        Some(result)
    }
}

impl<C: 'static> Drop for Handling<'_, C> {
    fn drop(&mut self) {
        let Self { messenger, origin, item, receiver, is_running } = self;
        if *is_running {
            // Hooks are not called: a second panic would abort the program.
            messenger.count_panic(origin);
        }
        if let (Some(receiver), Some(entry)) =
            (receiver.take(), messenger.registry.entry(origin.number))
        {
            entry.receiver = Some(receiver);
        }
        if let Some(item) = item
            && let Some((owner, length)) = messenger.inbox.release(item, &mut messenger.pool)
            && let Some(peer) = messenger.peers.get_mut(owner)
        {
            peer.waiting_bytes -= length;
        }
    }
}

impl<C: 'static> Messenger<C> {
    #[cold]
    fn count_panic(&mut self, origin: &MessageOrigin) {
        self.faults.count(MessageError::Handler);
        if let Some(entry) = self.registry.entry(origin.number) {
            entry.stats.refused += 1;
        }
        if let Some(peer) = self.peers.get_mut(origin.sender) {
            peer.count_refused();
        }
    }
}
