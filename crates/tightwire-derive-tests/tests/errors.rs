//! Every error of the macro: its span, its text, and that there is no other.
//!
//! After a text was changed on purpose, `TRYBUILD=overwrite cargo test -p tightwire-derive-tests`
//! updates the expected texts.

#[test]
fn a_mistake_has_one_message_that_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// A mistake in a name is one of the derived type, and not of its schema later.
#[test]
fn names_follow_the_rule_of_schemas() {
    let schemas = include_str!("../../tightwire-core/src/schema/names.rs");
    assert_eq!(include_str!("../../tightwire-derive/src/names.rs"), schemas);
}
