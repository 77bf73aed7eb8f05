use tightwire::schema::{Dynamic, DynamicError, Schema};
use tightwire::stream::{ErrorKind, MeasureStream};
use tightwire::{decode, encode};

/// Checks the whole input as a schema: refused, or valid and the same after another round trip.
pub(crate) fn schema_bytes(data: &[u8]) {
    let Ok(schema) = decode::<Schema>(data) else {
        let trace = tightwire::explain::<Schema>(data);
        assert!(trace.failure().is_some());
        return;
    };
    let mut buffer = vec![0; 64 + 2 * data.len()];
    let again = encode(&schema, &mut buffer).map(<[u8]>::to_vec).unwrap();
    let read = decode::<Schema>(&again).unwrap();
    assert_eq!(read, schema);
    assert_eq!(Schema::new(schema.root().clone()).as_ref(), Ok(&schema));
    assert_eq!(read.fingerprint(), schema.fingerprint());
    assert!(schema.diff(&read).is_empty());
    let _ = schema.max_bits();
    // Compared with an empty schema, in both directions.
    let empty = Schema::default();
    for diff in [schema.diff(&empty), empty.diff(&schema)] {
        let changes = diff.iter().any(|difference| difference.changes_bytes());
        assert_eq!(changes, schema.fingerprint() != empty.fingerprint());
        let _ = diff.to_string();
    }
}

/// Checks a schema and a packet: the first byte is the length of the schema, in steps of two.
pub(crate) fn schema_packet(data: &[u8]) {
    let Some((&length, rest)) = data.split_first() else { return };
    let (schema, packet) = rest.split_at(rest.len().min(2 * usize::from(length)));
    if let Ok(schema) = decode::<Schema>(schema) {
        check_packet(&schema, packet);
    }
}

/// Checks any packet with any schema: refused, or decoded into a tree that can be written and read
/// again.
pub(crate) fn check_packet(schema: &Schema, packet: &[u8]) {
    let mut tree = match schema.decode(packet) {
        Ok(tree) => tree,
        Err(DynamicError::Read(refused)) => {
            let failure = schema.explain(packet).failure();
            assert_eq!(failure, Some((refused.kind, refused.bit)));
            return;
        }
        Err(DynamicError::Undescribed { .. }) => {
            let failure = schema.explain(packet).failure();
            assert!(matches!(failure, Some((ErrorKind::Undescribed, _))));
            return;
        }
        Err(other) => panic!("a reader has no tree to refuse: {other}"),
    };
    assert_eq!(schema.explain(packet).failure(), None);
    assert!(count(&tree) <= 4 * 8 * packet.len() + (1 << 14));
    let _ = tree.to_string();
    let most = MeasureStream::bits_of(|stream| schema.serialize(&mut tree, stream));
    let mut buffer = vec![0; most.div_ceil(8) as usize];
    let written = match schema.encode(&tree, &mut buffer) {
        Ok(written) => written.to_vec(),
        // For values without bits, a reader counts all remaining bits, a writer only those of the
        // array.
        Err(DynamicError::Value(refused)) if refused.kind() == ErrorKind::OutOfRange => return,
        Err(other) => panic!("what was read has another form: {other}"),
    };
    // The bytes may differ, since a rotation has more than one encoding. After that they are
    // stable.
    let read = schema.decode(&written).unwrap();
    let mut again = vec![0; most.div_ceil(8) as usize];
    let again = schema.encode(&read, &mut again).unwrap();
    assert_eq!(again.len(), written.len());
    assert!(schema.decode(again).is_ok());
}

fn count(tree: &Dynamic) -> usize {
    1 + match tree {
        Dynamic::Struct { fields, .. } | Dynamic::Enum { fields, .. } => {
            fields.iter().map(|(_, value)| count(value)).sum()
        }
        Dynamic::Option(value) => value.as_ref().map_or(0, |value| count(value)),
        Dynamic::List(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}
