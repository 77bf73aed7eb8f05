use tightwire::schema::{Representation, World, WorldError, WorldSchema};
use tightwire::{decode, encode};

/// Checks a schema and a world: the first byte is the length of the schema, in steps of two, the
/// second the representation of the world, 0 for bits.
pub(crate) fn world(data: &[u8]) {
    let [length, representation, rest @ ..] = data else { return };
    let (schema, written) = rest.split_at(rest.len().min(2 * usize::from(*length)));
    let Ok(schema) = decode::<WorldSchema>(schema) else { return };
    let mut buffer = vec![0; 64 + 2 * data.len()];
    let again = encode(&schema, &mut buffer).unwrap();
    assert_eq!(decode::<WorldSchema>(again).as_ref(), Ok(&schema));
    let all = Representation::ALL;
    let representation = all[all.len() - 1 - usize::from(*representation) % all.len()];
    check_world(&schema, representation, written);
}

/// Checks any bytes as a world of any schema: refused with a reason, or the same world in every
/// representation. Returns whether the world was read.
pub(crate) fn check_world(
    schema: &WorldSchema,
    representation: Representation,
    written: &[u8],
) -> bool {
    let world = match World::read(representation, written, schema) {
        Ok(world) => world,
        Err(refused) => {
            assert!(!refused.to_string().is_empty());
            if let (WorldError::Read(error), Representation::Bits) = (&refused, representation) {
                let failure = schema.schema().explain(written).failure();
                assert_eq!(failure, Some((error.kind, error.bit)));
            }
            return false;
        }
    };
    assert!(world.objects().is_sorted_by_key(|object| object.id()));
    assert_eq!(world.quantised(schema).as_ref(), Ok(&world));
    let bits = world.write(Representation::Bits, schema).unwrap();
    for &representation in Representation::ALL {
        let again = world.write(representation, schema).unwrap();
        let read = World::read(representation, &again, schema);
        assert_eq!(read.as_ref(), Ok(&world), "{representation}");
        // Equal worlds may have different bits: there are two zeros.
        assert_eq!(read.unwrap().write(Representation::Bits, schema).as_ref(), Ok(&bits));
    }
    true
}
