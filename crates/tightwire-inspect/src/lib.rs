//! Captures of packets, and x-rays: a packet with the bits of each field.
//!
//! An [`Xray`] is one packet with the span of bits of each of its fields, as JSON for pages and
//! tools. [`XRAY_SCRIPT`] and [`XRAY_STYLE`] draw an x-ray in a page: the demo serves them, and
//! `tightwire inspect --html` embeds them in its page.
//!
//! ```
//! use tightwire::{encode, Wire};
//! use tightwire::packet::{Identity, Protection};
//! use tightwire::schema::Schema;
//! use tightwire::inspect::Xray;
//!
//! #[derive(Wire)]
//! struct Player {
//!     #[wire(range = 0..=100)]
//!     health: u8,
//! }
//!
//! let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<Player>());
//! let mut buffer = [0; 16];
//! let packet = encode(&Player { health: 77 }, &mut buffer)?;
//! let xray = Xray::of_trace("Player", 0.0, packet, &identity.explain(packet));
//! assert_eq!(xray.spans[0].path, "Player.health");
//! assert_eq!((xray.spans[0].bits, xray.spans[0].value.as_str()), (7.0, "77"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Derived code refers to `::tightwire`, and this crate derives `Wire` itself.
extern crate tightwire_core as tightwire;

mod capture;
mod captured;
mod xray;

pub use capture::{Capture, CaptureError, CaptureWriter, Direction, Record};
pub use captured::Captured;
pub use xray::{Xray, XraySpan, family, group_in, kind_of};

/// A script that draws an x-ray into a page with its function `drawXray`.
pub const XRAY_SCRIPT: &str = include_str!("../assets/xray.js");

/// The style sheet for [`XRAY_SCRIPT`].
pub const XRAY_STYLE: &str = include_str!("../assets/xray.css");
