//! Tokens, reasons and fingerprints at their limits.

use std::time::Duration;

use tightwire::token::{Claims, TokenError, TokenGate, TokenKey};
use tightwire::transport::Reason;

#[test]
fn a_reason_whose_text_is_too_long_keeps_its_kind() {
    let reason = Reason::Kicked("x".repeat(241));
    let received = Reason::from_bytes(&reason.to_bytes());
    assert!(matches!(received, Reason::Kicked(_)), "{received:?}");
}

#[test]
fn a_token_that_lasts_too_long_is_not_called_a_forgery() {
    let key = TokenKey::generate().unwrap();
    let now = Duration::from_secs(1_800_000_000);
    let token = key.mint(&Claims::new(7, "eu", now, Duration::from_secs(2 * 3600))).unwrap();
    let said = TokenGate::new(vec![key], "eu").check(token.as_bytes(), now).unwrap_err();
    assert_ne!(said, TokenError::NotGenuine, "{said}");
}

#[test]
fn a_clock_slightly_ahead_is_tolerated() {
    let key = TokenKey::generate().unwrap();
    let now = Duration::from_secs(1_800_000_000);
    let ahead = now + Duration::from_secs(2);
    let token = key.mint(&Claims::new(7, "eu", ahead, Duration::from_secs(3600))).unwrap();
    assert!(TokenGate::new(vec![key], "eu").check(token.as_bytes(), now).is_ok());
}

#[test]
fn a_wrong_digit_of_a_fingerprint_is_found_where_it_stands() {
    let mut text = ["ab"; 32].join(":");
    text.replace_range(93..94, "x");
    let said = text.parse::<tightwire::quic::Fingerprint>().unwrap_err().to_string();
    assert!(said.starts_with("character 94 "), "{said}");
}
