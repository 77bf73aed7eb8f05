//! Every message of the macro: where it points, what it says, and that it comes alone.
//!
//! After a message was changed on purpose, `TRYBUILD=overwrite cargo test -p tightwire-derive`
//! writes it down anew.

#[test]
fn a_mistake_has_one_message_that_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
