//! Check that packets read by schema equal those read by type, before anything is timed.

use fastrand::Rng;
use tightwire::schema::Schema;
use tightwire::stream::{ReadStream, Trace, TraceStream, Value, explain_write};
use tightwire::{Target, Wire};

/// Panics if a schema reads or writes another packet than its type.
///
/// Uses traces alone: a second call of the timed functions would keep the compiler from inlining
/// them.
pub fn check<P: Wire>(name: &str, make: fn(&mut Rng) -> Vec<P>) {
    let schema = Schema::of::<P>();
    let mut again = vec![0; P::MAX_BYTES];
    for packet in make(&mut Rng::with_seed(7)).iter_mut().take(100) {
        let written = explain_write(packet);
        let bytes = written.bytes();
        let tree = schema.decode(bytes).expect("a schema reads what its type wrote");
        let rewritten = schema.encode(&tree, &mut again).expect("a schema writes what it read");
        assert_eq!(rewritten, bytes, "{name}: the schema writes other bytes");

        let mut stream = TraceStream::new(ReadStream::new(bytes));
        P::serialize(Target::from(packet), &mut stream).expect("a type reads what it wrote");
        let typed = values(&stream.into_parts().1);
        assert!(typed == values(&schema.explain(bytes)), "{name}: the schema reads other values");
        assert!(!typed.is_empty());
    }
}

/// Returns the value of every operation. Adjacent bytes are joined: a type may copy at once what
/// its schema describes one by one.
fn values(trace: &Trace) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for value in trace.spans().filter_map(|span| span.value().cloned()) {
        match (values.last_mut(), value) {
            (Some(Value::Bytes(before)), Value::Bytes(more)) => before.extend(more),
            (_, value) => values.push(value),
        }
    }
    values
}
