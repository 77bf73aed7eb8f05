//! One world in every representation, from readable text to entropy-coded deltas.

use tightwire::schema::{Representation, World, WorldSchema};
use tightwire::snapshot::Level;

use super::delta;
use super::input::MeasuredWorld;

/// One representation of the world.
pub(super) struct SizeRow {
    pub(super) name: &'static str,
    /// Length in bytes, or the reason why this representation is impossible.
    pub(super) bytes: Result<usize, String>,
    /// Whether it is relative to the previous state.
    pub(super) is_delta: bool,
}

/// Measures every representation, the longest first. Each is decoded and compared with the world.
pub(super) fn climb(input: &MeasuredWorld) -> Result<Vec<SizeRow>, String> {
    let mut ladder = Vec::new();
    for &representation in Representation::ALL {
        let name = match representation {
            Representation::RelativeJson => "JSON by schema",
            Representation::Text => "text by schema",
            other => other.name(),
        };
        let bytes = whole(&input.world, representation, &input.schema)?;
        ladder.push(SizeRow { name, bytes: Ok(bytes), is_delta: false });
    }
    for (name, level) in [("delta", Level::Packed), ("delta, entropy-coded", Level::Modeled)] {
        ladder.push(SizeRow { name, bytes: delta::size(input, level), is_delta: true });
    }
    Ok(ladder)
}

fn whole(
    world: &World,
    representation: Representation,
    schema: &WorldSchema,
) -> Result<usize, String> {
    let refused = |error| format!("as {representation}: {error}");
    let written = world.write(representation, schema).map_err(refused)?;
    let read = World::read(representation, &written, schema).map_err(refused)?;
    match read == *world {
        true => Ok(written.len()),
        false => Err(format!("as {representation}, the world does not come back as it was")),
    }
}
