//! The prelude beside those of Bevy.

/// Every glob that a game may import together: the parts of `bevy::prelude` that can be had without
/// building assets or a renderer. Of the others there is a list. The folder `window` imports
/// `bevy::prelude` itself.
#[allow(unused_imports)]
mod globs {
    pub(super) use bevy_app::prelude::*;
    pub(super) use bevy_derive::{Deref, DerefMut, bevy_main};
    pub(super) use bevy_ecs::prelude::*;
    pub(super) use bevy_input::prelude::*;
    pub(super) use bevy_math::prelude::*;
    pub(super) use bevy_platform::prelude::*;
    pub(super) use bevy_state::prelude::*;
    pub(super) use bevy_tightwire::prelude::*;
    pub(super) use bevy_time::prelude::*;
    pub(super) use bevy_transform::prelude::*;
    pub(super) use bevy_utils::prelude::*;
    pub(super) use bevy_window::prelude::*;
}

#[path = "prelude_names.rs"]
mod names;

/// Makes the list of all names.
macro_rules! bevy_prelude {
    ($($of:ident: $($name:ident)+;)+) => {
        pub(super) const BEVY: &[&str] = &[$($(stringify!($name)),+),+];
    };
}

#[path = "bevy_prelude.rs"]
mod bevy;

use bevy::BEVY;
use names::NAMES;

#[test]
fn no_name_of_the_prelude_is_one_of_bevy() {
    let source = include_str!("../../src/lib.rs");
    let start = source.find("pub mod prelude {").unwrap();
    let block = source[start..].split("\n}").next().unwrap();
    let is_name = |word: &&str| !["", "pub", "use", "mod", "crate", "prelude"].contains(word);
    let paths = [
        "tightwire",
        "message",
        "play",
        "quic",
        "session",
        "snapshot",
        "wire",
        "cfg",
        "feature",
        "transform",
    ];
    let words = block.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let missing: Vec<_> = words
        .filter(is_name)
        .filter(|word| !paths.contains(word) && !NAMES.contains(word))
        .collect();
    assert_eq!(missing, [""; 0], "add these to the list above");
    assert!(NAMES.len() > 40 && BEVY.len() > 400);
    let both: Vec<_> = NAMES.iter().filter(|name| BEVY.contains(name)).collect();
    assert_eq!(both, [&""; 0], "names of `bevy::prelude` as well");
}
