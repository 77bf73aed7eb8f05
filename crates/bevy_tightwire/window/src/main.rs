//! The example `simple_box` in a window. The keys W, A, S and D move the own box.
//!
//! ```sh
//! cd crates/bevy_tightwire/window
//! cargo run                                          # single player
//! cargo run host 127.0.0.1:7777                      # prints its fingerprint
//! cargo run client 127.0.0.1:7777 FINGERPRINT
//! ```
//!
//! A server or a client without a window, `cargo run -p bevy_tightwire --example simple_box`, plays with it.

/// The prelude of Bevy beside ours: the build fails if both have a name.
#[allow(unused_imports)]
mod globs {
    pub(super) use bevy::prelude::*;
    pub(super) use bevy_tightwire::prelude::*;
}

#[allow(dead_code, reason = "the list of the names is for the test")]
#[path = "../../tests/it/prelude_names.rs"]
mod prelude_names;

/// Imports the names of the crates that are built here whole: the list is that of this Bevy.
macro_rules! bevy_prelude {
    ($($of:ident: $($name:ident)+;)+) => { $(bevy_prelude! { @$of $($name)+ })+ };
    (@asset $($name:ident)+) => { bevy_prelude! { @import asset $($name)+ } };
    (@camera $($name:ident)+) => { bevy_prelude! { @import camera $($name)+ } };
    (@color $($name:ident)+) => { bevy_prelude! { @import color $($name)+ } };
    (@image $($name:ident)+) => { bevy_prelude! { @import image $($name)+ } };
    (@sprite_render $($name:ident)+) => { bevy_prelude! { @import sprite_render $($name)+ } };
    (@window $($name:ident)+) => { bevy_prelude! { @import window $($name)+ } };
    (@import $of:ident $($name:ident)+) => {
        #[allow(unused_imports)]
        mod $of {
            use bevy::prelude::{$($name),+};
        }
    };
    (@$of:ident $($name:ident)+) => {};
}

#[path = "../../tests/it/bevy_prelude.rs"]
mod bevy_prelude;

#[allow(dead_code, reason = "its own `main`, and its bots")]
#[path = "../../examples/simple_box.rs"]
mod simple_box;

use bevy::prelude::*;
use bevy_tightwire::prelude::*;
use simple_box::{Move, Position, Tint};

fn main() -> AppExit {
    let mut app = App::new();
    app.add_plugins(DefaultPlugins);
    simple_box::game(&mut app);
    app.add_systems(Startup, start)
        .add_systems(RunFixedMainLoop, read_keys.in_set(NetworkSet::WriteInput))
        .add_systems(Update, (dress, place).chain())
        .run()
}

fn start(mut commands: Commands) -> Result {
    commands.spawn(Camera2d);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    simple_box::start(&mut commands, &arguments)?;
    Ok(())
}

fn read_keys(keys: Res<ButtonInput<KeyCode>>, mut input: ResMut<LocalInput<Move>>) {
    let axis = |minus, plus| i8::from(keys.pressed(plus)) - i8::from(keys.pressed(minus));
    let (x, y) = (axis(KeyCode::KeyA, KeyCode::KeyD), axis(KeyCode::KeyS, KeyCode::KeyW));
    **input = Move { x, y };
}

/// Gives each new box a sprite.
fn dress(boxes: Query<(Entity, &Tint), Added<Tint>>, mut commands: Commands) {
    for (entity, &Tint([r, g, b])) in &boxes {
        let sprite = Sprite::from_color(Color::srgb_u8(r, g, b), Vec2::splat(40.0));
        commands.entity(entity).insert((sprite, Transform::default()));
    }
}

/// Moves the sprites to their boxes, which are interpolated or predicted already.
fn place(mut boxes: Query<(&Position, &mut Transform)>) {
    for (position, mut transform) in &mut boxes {
        transform.translation = position.0.extend(0.0);
    }
}
