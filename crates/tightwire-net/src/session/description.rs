//! Description of a side for the handshake, and the explanation of a mismatch.

use crate::message::{Messenger, MessengerConfig};
use tightwire_core::packet::{Identity, Protection};
use tightwire_core::schema::{Difference, DifferenceKind};
use tightwire_core::stream::Wire;
use tightwire_snapshot as snapshot;

use super::{SessionConfig, SessionError};
use crate::limits::at_most_bytes;

/// The properties that both sides must share, as they are sent to the other side.
#[derive(Wire, Clone, PartialEq, Debug, Default)]
pub(super) struct Description {
    identity: Identity,
    channels: u64,
    max_fragmented: u64,
    batch_messages: u64,
    snapshots: Option<snapshot::Description>,
    /// Class of the players' input; `None` for a session without.
    input: Option<snapshot::Description>,
}

impl Description {
    pub(super) fn new<C: 'static>(
        config: &SessionConfig,
        messenger: &Messenger<C>,
    ) -> Result<Self, SessionError> {
        for (limit, text) in [("game", &config.game), ("version", &config.version)] {
            at_most_bytes(limit, text.len(), 255).map_err(SessionError::Limit)?;
        }
        let schema = messenger.schema()?;
        let MessengerConfig { packing, channels, max_fragmented, batch_messages, .. } =
            config.messenger;
        let identity = Identity::new(&config.game, &config.version, Protection::None, schema);
        Ok(Self {
            identity: identity.with_packing(packing),
            channels: channels as u64,
            max_fragmented: max_fragmented as u64,
            batch_messages: batch_messages as u64,
            snapshots: config.snapshots.clone(),
            input: config.input.clone(),
        })
    }

    #[cfg(test)]
    pub(super) fn of(
        identity: Identity,
        limits: [u64; 3],
        snapshots: Option<snapshot::Description>,
    ) -> Self {
        let [channels, max_fragmented, batch_messages] = limits;
        Self { identity, channels, max_fragmented, batch_messages, snapshots, input: None }
    }

    pub(super) fn into_identity(self) -> Identity {
        self.identity
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Explains why this side does not understand the other.
    pub(super) fn mismatch(&self, there: &Self) -> String {
        let mut lines: Vec<String> = match self.identity.mismatch(&there.identity) {
            Some(mismatch) => mismatch.iter().map(shown).collect(),
            // Packets do not depend on the names of messages, but numbers do.
            None => {
                let layout = self.identity.schema().diff(there.identity.schema());
                layout.iter().filter(|line| is_message(line)).map(shown).collect()
            }
        };
        for (what, here, there) in [
            ("channels", self.channels, there.channels),
            ("max_fragmented", self.max_fragmented, there.max_fragmented),
            ("batch_messages", self.batch_messages, there.batch_messages),
        ] {
            if here != there {
                lines.push(format!("{what}: {here} here, {there} there"));
            }
        }
        for (what, here, there) in
            [("snapshots", &self.snapshots, &there.snapshots), ("input", &self.input, &there.input)]
        {
            match (here, there) {
                (Some(here), Some(there)) => {
                    lines.extend(here.diff(there).iter().map(Difference::to_string));
                }
                (Some(_), None) => lines.push(format!("{what}: only here")),
                (None, Some(_)) => lines.push(format!("{what}: only there")),
                (None, None) => {}
            }
        }
        if lines.is_empty() {
            return UNKNOWN.into();
        }
        lines.join("; ")
    }
}

/// Explanation where a side did not send its description.
pub(super) const UNKNOWN: &str = "the protocol ids differ; the other side sent no description";

/// Returns the protocol id of a session: it covers the game, its version, messages, limits that
/// both sides must share, and the classes and settings of snapshots.
pub(super) fn protocol_id<C: 'static>(description: &Description, messenger: &Messenger<C>) -> u64 {
    let snapshots = description.snapshots.as_ref().map_or(0, snapshot::Description::fingerprint);
    let input = description.input.as_ref().map_or(0, snapshot::Description::fingerprint);
    let classes = snapshots.rotate_left(16) ^ input.rotate_left(48);
    description.identity.id().rotate_left(32) ^ messenger.id() ^ classes
}

/// Whether the difference is the name of a message.
fn is_message(line: &Difference) -> bool {
    !line.changes_bytes() && inside(&line.path).is_some_and(|path| !path.contains('.'))
}

/// Strips the prefix of all messages from a path: the enum, and the single field of each variant.
fn inside(path: &str) -> Option<&str> {
    path.strip_prefix("Message.")
}

fn shown(line: &Difference) -> String {
    let path = inside(&line.path).unwrap_or(&line.path);
    let path = path.replacen(".0.", ".", 1);
    let path = path.strip_suffix(".0").unwrap_or(&path);
    match (line.kind, &line.there) {
        (DifferenceKind::Name, Some(there)) => {
            format!("{path}: called `{there}` there, and names decide the numbers")
        }
        _ => format!("{path}: {}", line.in_words()),
    }
}
