//! The trait of messages.

use tightwire_core::stream::Wire;

/// Derives `Message` for a type that is [`Wire`](trait@tightwire_core::Wire) and
/// has a default, for a [`Messenger`](crate::message::Messenger).
///
/// `#[message(name = "…")]` sets another name than that of the type, if two types have the same.
///
/// ```
/// use tightwire::{Message, Wire};
///
/// #[derive(Wire, Message, Default)]
/// #[message(name = "level")]
/// struct Level {
///     #[wire(max_len = 1_000_000)]
///     data: Vec<u8>,
/// }
///
/// assert_eq!(Level::NAME, "level");
/// ```
pub use tightwire_derive::Message;

/// A [`Wire`](trait@Wire) type that is sent as a message of its own. Derive it.
///
/// The receiver reads every message of a type into one value, whose strings and lists keep their
/// memory.
///
/// ```
/// use tightwire::{Message, Wire};
///
/// #[derive(Wire, Message, Default)]
/// struct Chat {
///     #[wire(max_len = 100)]
///     text: String,
/// }
///
/// assert_eq!(Chat::NAME, "Chat");
/// ```
pub trait Message: Wire + Default + Send + Sync + 'static {
    /// Name of the type. It decides the number of the type, so it must be the same on both sides.
    const NAME: &'static str;
}
