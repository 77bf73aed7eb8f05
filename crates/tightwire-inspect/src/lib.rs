//! What every bit of a packet is for.
//!
//! An [`Xray`] is one packet with the span of bits of each of its fields, as JSON for pages and for
//! tools. [`XRAY_SCRIPT`] and [`XRAY_STYLE`] draw it in a page: the demo serves them, and
//! `tightwire inspect --html` puts them into its page.
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

// Derived code says `::tightwire`, also where this crate derives.
extern crate tightwire_core as tightwire;

mod capture;
mod captured;
mod xray;

pub use capture::{Capture, CaptureError, CaptureWriter, Direction, Record};
pub use captured::Captured;
pub use xray::{Xray, XraySpan, family, group_in, kind_of};

/// A script that draws an x-ray into a page: `drawXray` is its function.
pub const XRAY_SCRIPT: &str = include_str!("../assets/xray.js");

/// The style of what [`XRAY_SCRIPT`] draws.
pub const XRAY_STYLE: &str = include_str!("../assets/xray.css");
