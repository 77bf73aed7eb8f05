//! Identities up to the maximum length in a capture.

use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;
use tightwire::stream::{Field, Op, Shape};

/// Returns an identity that is encoded in `bytes` bytes.
pub(crate) fn identity_of(bytes: usize) -> Identity {
    let field = |name: String| Field::new(&name, Shape::Op(Op::Bool));
    let of = |last: usize| {
        // Each field takes three bytes and its name.
        let fields = (0..(bytes - 60) / 200).map(|index| field(format!("{index:0>197}")));
        let fields = fields.chain([field("x".repeat(last))]).collect();
        let schema = Schema::new(Shape::Struct { name: "Packet".into(), fields }).unwrap();
        Identity::new("tanks", "1.3", Protection::Crc32, schema)
    };
    let identity = of(1 + bytes - length_of(&of(1)));
    assert_eq!(length_of(&identity), bytes);
    identity
}

fn length_of(identity: &Identity) -> usize {
    tightwire::encode(&identity.clone(), &mut vec![0; 1 << 20]).unwrap().len()
}
