//! A recorded run of the demo: every message of it.

use std::collections::BTreeMap;
use std::fs::File;

use tightwire::Capture;

use crate::agreement::assert_agrees;
use crate::tshark::{Folder, dissected, tightwire, write_dissector};

#[test]
fn a_recorded_run_of_the_demo_is_read_as_the_library_reads_it() {
    let folder = Folder::new("demo");
    let [file, lua] = ["demo.pcapng", "game.lua"].map(|name| folder.file(name));
    let arguments = ["demo", "--seconds", "4", "--no-web", "--clients", "2", "--record", &file];
    let output = tightwire(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    write_dissector(&lua, &["--schema", &file, "--name", "demo"]);
    let items = dissected(&lua, &file, "demo");
    let mut capture = Capture::new(File::open(&file).unwrap()).unwrap();
    let identity = capture.identity().unwrap().clone();
    let (mut items, mut counts) = (items.iter(), BTreeMap::<_, usize>::new());
    while let Some(record) = capture.next_record() {
        let (record, item) = (record.unwrap(), items.next().unwrap().as_ref().unwrap());
        assert_agrees(&identity, "demo", record.datagram, item);
        assert_eq!(item.show("demo.refused"), None);
        for message in ["snapshot", "input"] {
            let is_it = item.show(&format!("demo.message.{message}")).is_some();
            *counts.entry(message).or_default() += usize::from(is_it);
        }
    }
    assert_eq!(items.next(), None);
    // The physics of a build without optimisations does not keep up with the clock.
    let least = if cfg!(debug_assertions) { 5 } else { 200 };
    assert!(counts.values().all(|count| *count >= least), "{counts:?}");
}
