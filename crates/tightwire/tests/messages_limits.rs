//! Memory and sizes at their limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common {
    pub(crate) mod office;
}

use allocation_counter::measure;
use common::office::Jump;
use tightwire::{Config, Context, Delivery, Messenger, PeerId, Stage};

#[test]
fn a_handler_that_fails_takes_no_memory_unless_somebody_reads_its_error() {
    let handler = |_: &Jump, _: &mut Context<'_, ()>| Err::<(), _>("a sentence of some length");
    let mut messenger = Messenger::builder(Config::default()).handle(handler).build().unwrap();
    messenger.run_stage(Stage::Update, &mut ());
    let mut fail =
        || messenger.send(&mut (), PeerId::LOCAL, &mut Jump, Delivery::Reliable).unwrap();
    let info = measure(|| (0..100).for_each(|_| fail()));
    assert_eq!(info.count_total, 0);
    assert_eq!(messenger.faults().handler, 100);
}
