//! The log of a server.

use std::cell::RefCell;

use tightwire::token::{TokenGate, TokenKey};
use tightwire::transport::InProcess;
use tightwire::{Message, Wire};
use tightwire::{Server, SessionConfig};

#[derive(Wire, Message, Default)]
struct Jump;

struct Lines;

thread_local! {
    /// Lines of this thread only: other tests run in parallel.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LINES.with_borrow_mut(|lines| lines.push(format!("{} {}", record.level(), record.args())));
    }

    fn flush(&self) {}
}

#[test]
fn a_server_that_is_open_to_anyone_says_so() {
    log::set_logger(&Lines).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let builder =
        || Server::<(), _>::builder(SessionConfig::new("arena", "1.0")).send_only::<Jump>();
    let transport = || InProcess::pair().0;

    let gate = TokenGate::new(vec![TokenKey::from_bytes([7; 32])], "here");
    builder().with_tokens(gate).build(transport()).unwrap();
    LINES.with_borrow(|lines| assert!(lines.is_empty(), "{lines:?}"));
    builder().open_to_anyone().build(transport()).unwrap();
    LINES.with_borrow(|lines| {
        assert_eq!(*lines, ["WARN arena 1.0: open to anyone, without tokens"]);
    });
}
