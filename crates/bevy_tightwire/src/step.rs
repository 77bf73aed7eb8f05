//! Ticks: the play layer decides which ones are due, and `FixedMain` runs for each.

use core::ops::Deref;

use bevy_app::FixedMain;
use bevy_ecs::change_detection::Mut;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::Res;
use bevy_ecs::world::World;
use bevy_time::{Fixed, Real, Time, Virtual};

use crate::client::{self, NetClient};
use crate::message::{self, Outlet};
use crate::mode::NetMode;
use crate::registry::Registry;
use crate::server::NetServer;
use crate::taken::{deferring, with_taken};

/// The number of the tick that `FixedMain` runs, the same on both sides.
#[derive(Resource, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetTick {
    pub(crate) tick: u32,
    pub(crate) is_replay: bool,
}

impl Deref for NetTick {
    type Target = u32;

    fn deref(&self) -> &u32 {
        &self.tick
    }
}

/// Whether Bevy's own loop of `FixedMain` runs: offline only.
pub(crate) fn is_driven_by_bevy(mode: Res<'_, NetMode>) -> bool {
    *mode == NetMode::Offline
}

/// Runs `FixedMain` for each tick that is due.
pub(crate) fn step(world: &mut World) {
    match *world.resource::<NetMode>() {
        NetMode::Offline => return,
        NetMode::Host | NetMode::Dedicated => step_server(world),
        NetMode::Client => client::step(world),
    }
    set_overstep(world);
    let time = world.resource::<Time<Virtual>>().as_generic();
    *world.resource_mut::<Time>() = time;
}

/// Sets the overstep of fixed time to the part of a tick that has passed, as Bevy's own loop does offline: programs
/// that interpolate between two ticks need not know the mode.
fn set_overstep(world: &mut World) {
    let now = world.resource::<Time<Real>>().elapsed();
    let fraction = if let Some(server) = world.get_resource::<NetServer>() {
        server.0.tick_fraction(now)
    } else if let Some(client) = world.get_resource::<NetClient>() {
        client.0.predicted_fraction()
    } else {
        return;
    };
    let mut fixed = world.resource_mut::<Time<Fixed>>();
    let overstep = fixed.overstep();
    fixed.discard_overstep(overstep);
    let overstep = fixed.timestep().mul_f32(fraction.clamp(0.0, 1.0));
    fixed.accumulate_overstep(overstep);
}

fn step_server(world: &mut World) {
    let now = world.resource::<Time<Real>>().elapsed();
    loop {
        let Some(mut server) = world.get_resource_mut::<NetServer>() else { return };
        let Some(tick) = server.0.begin_tick(now) else { return };
        run_tick(world, NetTick { tick, is_replay: false });
    }
}

/// Runs `FixedMain` for one tick. The time of a tick is its number times the timestep, on both
/// sides and in replays.
pub(crate) fn run_tick(world: &mut World, tick: NetTick) {
    world.insert_resource(tick);
    let timestep = world.resource::<Time<Fixed>>().timestep();
    let mut fixed = Time::<Fixed>::from_duration(timestep);
    fixed.advance_to(timestep.saturating_mul(tick.tick.saturating_sub(1)));
    fixed.advance_by(timestep);
    let generic = fixed.as_generic();
    *world.resource_mut::<Time<Fixed>>() = fixed;
    *world.resource_mut::<Time>() = generic;
    world.run_schedule(FixedMain);
}

/// Writes the inputs of the tick into the `Controls` of entities. A client writes them before the
/// tick, since each replayed tick has its own input.
pub(crate) fn write_inputs(world: &mut World) {
    match *world.resource::<NetMode>() {
        NetMode::Offline => {
            let mut tick = world.resource_mut::<NetTick>();
            tick.tick = tick.tick.saturating_add(1);
            world.resource_scope(|world, registry: Mut<'_, Registry>| {
                registry.input.write_local_controls(world);
            });
        }
        NetMode::Host | NetMode::Dedicated => {
            if let Some(mut server) = world.remove_resource::<NetServer>() {
                server.0.write_controls(world);
                world.insert_resource(server);
            }
        }
        NetMode::Client => {}
    }
}

/// Ends the frame: sends messages and snapshots.
pub(crate) fn send(world: &mut World) {
    let now = world.resource::<Time<Real>>().elapsed();
    if world.contains_resource::<NetServer>() {
        with_taken(world, |world, server: &mut NetServer| {
            message::flush(world, Outlet::Server(&mut *server.0));
            server.0.send(now);
        });
    } else if world.contains_resource::<NetClient>() {
        with_taken(world, |world, client: &mut NetClient| {
            message::flush(world, Outlet::Client(&mut *client.0));
            client.0.send(now);
        });
    } else {
        // A command of an observer may begin another mode, which needs the messages of the app.
        deferring(world, |world| message::flush(world, Outlet::Offline));
    }
}
