//! Causes of errors.

use core::error::Error;
use core::fmt;
use std::sync::Arc;

/// The error below another error, or a text where there is none.
///
/// ```
/// use std::io;
/// use tightwire::transport::Cause;
///
/// let cause = Cause::from(io::Error::from(io::ErrorKind::AddrInUse));
/// assert_eq!(cause.to_string(), "address in use");
/// let error = cause.source().and_then(|error| error.downcast_ref::<io::Error>());
/// assert_eq!(error.map(io::Error::kind), Some(io::ErrorKind::AddrInUse));
/// assert!(Cause::text("the other end was dropped").source().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Cause {
    text: String,
    error: Option<Arc<dyn Error + Send + Sync>>,
}

impl Cause {
    /// Creates a cause that is no error of another library.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { text: text.into(), error: None }
    }

    /// Returns the error of the library or the system that refused; `None` if there is only a text.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.as_deref().map(|error| error as &(dyn Error + 'static))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Cause {
    fn from(error: E) -> Self {
        Self { text: error.to_string(), error: Some(Arc::new(error)) }
    }
}

/// Causes are equal if they say the same: errors of other libraries cannot be compared.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cause {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
