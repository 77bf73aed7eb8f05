//! Deltas of a world against its previous state, as snapshots send them.

use tightwire::schema::{Class, Dynamic, Object, Schema, World, WorldSchema};
use tightwire::snapshot::{self, Leaving, Level};
use tightwire::stream::Shape;

use super::input::MeasuredWorld;
use crate::terminal::safe;

/// Ticks per second.
const RATE: u32 = 60;

/// Budget in bytes: more than the snapshot of any world that is accepted.
const BUDGET: usize = 1 << 24;

/// Returns the bytes of the world's snapshot for a receiver that acked the previous state. The
/// snapshot was decoded, and gives the same world except for its time, which is the tick.
pub(super) fn size(input: &MeasuredWorld, level: Level) -> Result<usize, String> {
    let previous = input.previous.as_ref();
    let most = input.world.objects().len() + previous.map_or(0, |world| world.objects().len());
    let protocol = protocol(&input.schema, level, most)?;
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let id = sender.add_receiver(Leaving::Despawn);
    let mut tick = 1;
    if let Some(previous) = previous {
        sender.begin_tick(tick);
        set(&mut sender, previous, &input.schema)?;
        let packet = sender.snapshot(id, BUDGET).ok_or(TOO_LARGE)?;
        receiver.handle_snapshot(packet).map_err(|error| error.to_string())?;
        sender.handle_ack(id, receiver.ack().ok_or("nothing was acknowledged")?);
        tick += ticks_between(previous, &input.world);
    }
    sender.begin_tick(tick);
    for gone in previous.iter().flat_map(|previous| previous.objects()) {
        if input.world.get(gone.id()).is_none() {
            sender.remove(gone.id()).map_err(|error| error.to_string())?;
        }
    }
    set(&mut sender, &input.world, &input.schema)?;
    let packet = sender.snapshot(id, BUDGET).ok_or(TOO_LARGE)?;
    let received = receiver.handle_snapshot(packet).map_err(|error| error.to_string())?;
    if !received.is_complete {
        return Err(TOO_LARGE.to_owned());
    }
    match is_same(&mut receiver, &input.world) {
        true => Ok(packet.len()),
        false => Err("the world does not come back as it was".to_owned()),
    }
}

const TOO_LARGE: &str = "the world is too large for one snapshot";

/// Makes the snapshot protocol of the world's classes.
fn protocol(
    schema: &WorldSchema,
    level: Level,
    objects: usize,
) -> Result<snapshot::Protocol, String> {
    let config = snapshot::Config {
        level,
        ticks_per_second: RATE,
        max_objects: objects.max(1),
        ..snapshot::Config::default()
    };
    let mut builder = snapshot::Protocol::builder(config);
    for Class { name, properties } in schema.classes() {
        let root = Shape::Struct { name: name.clone(), fields: properties.clone() };
        builder = builder.class_of(name, Schema::new(root).map_err(|error| error.to_string())?);
    }
    builder.build().map_err(|error| safe(&error.to_string()))
}

fn set(sender: &mut snapshot::Sender, world: &World, schema: &WorldSchema) -> Result<(), String> {
    for object in world.objects() {
        let class = schema.classes().iter().position(|class| class.name == object.class);
        let class = class.and_then(|class| u16::try_from(class).ok()).ok_or("too many classes")?;
        sender
            .set_dynamic(object.id(), class, &tree(object))
            .map_err(|error| safe(&error.to_string()))?;
    }
    Ok(())
}

fn tree(object: &Object) -> Dynamic {
    Dynamic::Struct { name: object.class.clone(), fields: object.properties.clone() }
}

fn is_same(receiver: &mut snapshot::Receiver, world: &World) -> bool {
    receiver.objects().count() == world.objects().len()
        && world.objects().iter().all(|object| {
            receiver.get_dynamic(object.id()).is_some_and(|received| received == tree(object))
        })
}

/// Returns the number of ticks between two worlds, which predictions depend on.
fn ticks_between(previous: &World, world: &World) -> u32 {
    let ticks = (world.time - previous.time) * f64::from(RATE);
    // A time that does not advance, or is NaN, counts as one tick.
    (ticks.round() as u32).clamp(1, RATE)
}
