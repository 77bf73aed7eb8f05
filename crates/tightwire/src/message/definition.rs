//! What a message is.

use crate::stream::Wire;

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
    /// The name of the type: it decides which number the type has, so it must be the same on both
    /// sides.
    const NAME: &'static str;
}
