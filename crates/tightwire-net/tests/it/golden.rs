//! The examples of docs/WIRE.md, byte by byte.

use tightwire::token::TokenError;
use tightwire::transport::Reason;

#[test]
fn reasons() {
    let cases = [
        (Reason::kicked("afk"), "Example of a reason:", "34 00 61 66 6b"),
        (Reason::Token(TokenError::Expired), "Example of a reason with a fault:", "27"),
    ];
    let document = include_str!("../../../../docs/WIRE.md");
    for (reason, name, expected) in cases {
        let bytes = reason.to_bytes();
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex.join(" "), expected, "{name}");
        assert_eq!(Reason::from_bytes(&bytes), reason);
        let line = document.lines().find(|line| line.starts_with(name));
        assert!(line.unwrap().ends_with(&format!("→ `{expected}`")), "{name}");
    }
}
