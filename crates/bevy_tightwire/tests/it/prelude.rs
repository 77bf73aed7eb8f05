//! The prelude beside those of Bevy.

/// Every glob that a game may import together.
#[allow(unused_imports)]
mod globs {
    pub(super) use bevy_app::prelude::*;
    pub(super) use bevy_ecs::prelude::*;
    pub(super) use bevy_math::prelude::*;
    pub(super) use bevy_state::prelude::*;
    pub(super) use bevy_tightwire::prelude::*;
    pub(super) use bevy_time::prelude::*;
    pub(super) use bevy_transform::prelude::*;
}

/// Imports each name through all globs: the compiler refuses one that two of them have.
macro_rules! unambiguous {
    ($($name:ident)+) => {
        #[allow(unused_imports)]
        use globs::{$($name),+};

        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

unambiguous! {
    ClientRooms ClientState ClientTeam ConnectedClient
    Controls Disconnected EntityMap FromClient
    LagCompensation LocalClient LocalInput NetAppExt
    NetCommandsExt NetComponent NetEntityCommandsExt NetMode
    NetPriority NetScope NetScopeOf NetTick NetTriggerExt NetWorldExt
    NetworkSet Owned OwnedBy Owns
    PreSpawned Predicted Recipients RelationCodec
    Remote Replicated ServerState Simulated
    TightwireClientPlugin TightwirePlugins TightwireServerPlugin ToClients
    Viewer When has_authority has_local_player
    is_connected is_replaying Wire Delivery
    Input RoomId Scope TeamId
}

#[test]
fn no_name_of_the_prelude_is_one_of_bevy() {
    let source = include_str!("../../src/lib.rs");
    let start = source.find("pub mod prelude {").unwrap();
    let block = source[start..].split("\n}").next().unwrap();
    let is_name = |word: &&str| !["", "pub", "use", "mod", "crate", "prelude"].contains(word);
    let paths = ["tightwire", "message", "play", "snapshot"];
    let words = block.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let missing: Vec<_> = words
        .filter(is_name)
        .filter(|word| !paths.contains(word) && !NAMES.contains(word))
        .collect();
    assert_eq!(missing, [""; 0], "add these to the list above");
    assert!(NAMES.len() > 40);
}
