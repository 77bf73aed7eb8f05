//! What a server says in the log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Mutex;

use tightwire::{Message, Wire};
use tightwire_transport::{InProcess, InProcessConfig, Server, SessionConfig, TokenGate, TokenKey};

#[derive(Wire, Message, Default)]
struct Jump;

struct Lines(Mutex<Vec<String>>);

static LINES: Lines = Lines(Mutex::new(Vec::new()));

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
    }

    fn flush(&self) {}
}

#[test]
fn a_server_that_is_open_to_anyone_says_so() {
    log::set_logger(&LINES).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    let builder =
        || Server::<(), _>::builder(SessionConfig::new("arena", "1.0")).send_only::<Jump>();
    let transport = || InProcess::pair(InProcessConfig::default(), 1).0;

    let gate = TokenGate::new(vec![TokenKey::from_bytes([7; 32])], "here");
    builder().with_tokens(gate).build(transport()).unwrap();
    assert!(LINES.0.lock().unwrap().is_empty());
    builder().open_to_anyone().build(transport()).unwrap();
    assert_eq!(*LINES.0.lock().unwrap(), ["WARN arena 1.0: open to anyone, without tokens"]);
}
