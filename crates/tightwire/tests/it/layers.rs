//! The layers of the crate, and that none imports one that stands above it.

use crate::common::layers;

/// What each layer may import. `at` is a macro, which stands at the root wherever it is written, and
/// `NamedTarget` is what its code names.
const LAYERS: [(&str, &[&str]); 9] = [
    ("bits", &[]),
    ("stream", &["bits", "NamedTarget"]),
    ("schema", &["stream", "bits", "at"]),
    ("bytes", &["stream", "bits"]),
    ("packet", &["bytes", "schema", "stream", "bits"]),
    ("message", &["bytes", "packet", "schema", "stream", "bits"]),
    ("snapshot", &["schema", "stream", "bits", "at"]),
    ("capture", &["packet", "snapshot", "schema", "stream", "bits"]),
    ("link", &[]),
];

#[test]
fn no_layer_imports_one_above_it() {
    layers::check(&LAYERS);
}

#[test]
fn the_checker_sees_every_way_out_of_a_layer() {
    let offences_of = |modules: &[String], text| layers::offences_of(&LAYERS, modules, text);
    let stream = ["stream".to_owned(), "int".to_owned()];
    let offences = |text| offences_of(&stream, text);
    for bad in [
        "use crate::packet::Header;",
        "use crate::{bits::BitReader, packet::{Header, bits}};",
        "use crate::Stream; // a re-export of the crate's root",
        "use crate::*;",
        "fn f() { crate::schema::describe() }",
        "macro_rules! m { () => { $crate::schema::describe() } }",
        "use super::super::packet::Header;",
        "mod tests { use super::super::super::packet::Header; }",
        "mod tests { fn f() { if x { y } } use crate::packet::Header; }",
        "const A: &str = \"\\\"\"; use crate::packet::B; const C: &str = \"\";",
        "const A: char = '\"'; use crate::packet::B; const C: char = '\"';",
        "fn f<'a>(_: &'a u8) { crate::packet::g::<'a>() }",
        "pub(in crate::packet) fn f() {}",
        "/* a /* nested */ comment */ use crate::packet::A;",
        "use ::core::fmt; use crate :: packet :: A;",
    ] {
        assert_eq!(offences(bad).len(), 1, "{bad}: {:?}", offences(bad));
    }
    for good in [
        "use crate::bits::{BitReader, packet}; use crate::stream::Op; use super::Op;",
        "use crate::{bits::BitReader, stream::{self, packet}};",
        "// use crate::packet::Header;\n/// [`crate::packet`]\nfn f() {}",
        "/* use crate::packet::Header; */",
        "const A: &str = \"crate::packet\"; const B: &str = r#\"\"crate::packet\"#;",
        "mod tests { use super::super::Op; } use super::Op;",
        "pub(crate) fn f() {} pub(super) fn g() {} use alloc::vec;",
    ] {
        assert_eq!(offences(good), Vec::<String>::new(), "{good}");
    }
    let bits = ["bits".to_owned()];
    assert_eq!(offences_of(&bits, "use super::stream::Op;").len(), 1);
    assert_eq!(offences_of(&bits, "use crate::stream::Op;").len(), 1);
    assert_eq!(offences_of(&bits, "mod tests { use super::*; }"), Vec::<String>::new());
    assert_eq!(offences_of(&["extra".to_owned()], "").len(), 1, "not in the list of layers");
}
