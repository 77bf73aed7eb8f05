//! Identities from any bytes: refused, or usable for every operation.

use allocation_counter::measure;
use tightwire::packet::Identity;
use tightwire::schema::DynamicError;
use tightwire::stream::ErrorKind;
use tightwire::{decode, encode, explain};

/// Checks an identity and a packet: the first byte is the length of the identity, in steps of two.
pub(crate) fn identity(data: &[u8]) {
    let Some((&length, rest)) = data.split_first() else { return };
    let (sent, packet) = rest.split_at(rest.len().min(2 * usize::from(length)));
    let Ok(identity) = decode::<Identity>(sent) else {
        assert!(explain::<Identity>(sent).failure().is_some());
        return;
    };
    let mut buffer = vec![0xff; sent.len()];
    assert_eq!(encode(&identity, &mut buffer), Ok(sent), "it has another form");
    let memory = measure(|| check_mismatch(&identity)).bytes_max;
    assert!(memory <= HEAP_PER_BYTE * (data.len() as u64 + 64), "{memory} bytes for a mismatch");
    check_packet(&identity, packet);
}

/// Maximum memory of a reader per byte of input; `HEAP_FOR_FREE` is the constant part, in bytes.
const HEAP_PER_BYTE: u64 = 16 << 10;
const HEAP_FOR_FREE: u64 = 8 << 20;

/// Maximum memory of a trace per value, in bytes: about a kilobyte. A schema may have 16384 values
/// without bits.
const TRACE_PER_VALUE: u64 = 2 << 10;

/// Compares the identity with an empty one, and with one that differs in one property.
fn check_mismatch(identity: &Identity) {
    let checked = identity.clone().with_checks();
    assert_eq!(checked.id() == identity.id(), identity.has_checks());
    assert_eq!(identity.mismatch(identity), None);
    for other in [Identity::default(), checked] {
        for (here, there) in [(identity, &other), (&other, identity)] {
            let Some(mismatch) = here.mismatch(there) else {
                assert_eq!(here.id(), there.id());
                continue;
            };
            // Ids that differ without a listed reason would be useless to a user.
            assert!(mismatch.iter().next().is_some());
            assert!(mismatch.iter().all(|difference| difference.changes_bytes()));
            let lines = mismatch.to_string().lines().count();
            assert_eq!(lines, 1 + mismatch.iter().count());
        }
    }
}

fn check_packet(identity: &Identity, packet: &[u8]) {
    let length = packet.len() as u64;
    let mut failure = None;
    let memory = measure(|| failure = identity.explain(packet).failure()).bytes_max;
    let values = (1 << 14) + 4 * 8 * length;
    assert!(memory <= TRACE_PER_VALUE * values, "{memory} bytes for a trace of {length}");
    let mut read = None;
    let memory = measure(|| read = Some(identity.decode(packet))).bytes_max;
    assert!(memory <= HEAP_FOR_FREE + HEAP_PER_BYTE * length, "{memory} bytes for {length}");
    match read.unwrap() {
        Ok(tree) => {
            assert_eq!(failure, None);
            let _ = tree.to_string();
        }
        Err(DynamicError::Read(refused)) => assert_eq!(failure, Some((refused.kind, refused.bit))),
        Err(DynamicError::Undescribed { .. }) => {
            assert!(matches!(failure, Some((ErrorKind::Undescribed, _))));
        }
        Err(other) => panic!("a reader has no tree to refuse: {other}"),
    }
}
