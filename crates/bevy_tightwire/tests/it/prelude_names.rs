//! The names of the prelude, each of which may be in one of `globs` only.
//!
//! The folder `window` includes this file too, beside the prelude of `bevy` itself.

/// Imports each name through all globs: the compiler refuses one that two of them have.
macro_rules! unambiguous {
    ($($name:ident)+) => {
        #[allow(unused_imports)]
        use super::globs::{$($name),+};

        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

unambiguous! {
    ClientRooms ClientState ClientTeam ConnectedClient ConnectionLost
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
    FloatRange OpenToAnyone Quic TransformCodec
}
