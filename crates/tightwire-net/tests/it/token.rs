//! Connect tokens: only tokens of the backend are accepted, in time, once, and forged bytes
//! cost nothing.

use std::time::Duration;

use tightwire::token::{
    Claims, MintError, SealedToken, TokenError, TokenGate, TokenGateConfig, TokenKey,
};

use crate::common::rng::Rng;
use crate::common::volume::volume;

const SERVER: &str = "eu-west-3";
const NOW: Duration = Duration::from_secs(1_800_000_000);
const MINUTE: Duration = Duration::from_secs(60);

fn key(number: u8) -> TokenKey {
    TokenKey::from_bytes([number; 32])
}

fn claims() -> Claims {
    Claims::new(7, SERVER, NOW, MINUTE).with_user_data(b"red team")
}

fn token() -> SealedToken {
    key(1).mint(&claims()).unwrap()
}

fn gate() -> TokenGate {
    TokenGate::new(vec![key(1)], SERVER)
}

/// Checks and redeems a token.
fn enter(gate: &mut TokenGate, token: &SealedToken, now: Duration) -> Result<Claims, TokenError> {
    let admission = gate.check(token.as_bytes(), now)?;
    gate.redeem(&admission)?;
    Ok(admission.into_claims())
}

#[test]
fn claims_round_trip() {
    assert_eq!(enter(&mut gate(), &token(), NOW), Ok(claims()));
    let longest = Claims {
        client: u64::MAX,
        server: "é".repeat(127) + "x",
        user_data: vec![0xff; 512],
        ..claims()
    };
    let token = key(1).mint(&longest).unwrap();
    assert_eq!(token.as_bytes().len(), SealedToken::MAX_BYTES);
    let mut gate = TokenGate::new(vec![key(1)], &longest.server);
    assert_eq!(enter(&mut gate, &token, NOW), Ok(longest));
    let least = key(1).mint(&Claims::new(0, "", NOW, MINUTE)).unwrap();
    assert_eq!(enter(&mut TokenGate::new(vec![key(1)], ""), &least, NOW).unwrap().client, 0);
}

#[test]
fn claims_that_no_token_can_have_are_refused_with_a_reason() {
    let refused = |claims: Claims| key(1).mint(&claims).unwrap_err();
    let long = Claims { server: "x".repeat(256), ..claims() };
    assert_eq!(refused(long), MintError::ServerTooLong(256));
    let zero = Claims { server: "a\0b".into(), ..claims() };
    assert_eq!(refused(zero), MintError::ServerHasZero);
    let long = claims().with_user_data([0; 513]);
    assert_eq!(refused(long), MintError::UserDataTooLong(513));
    let moment = Claims::new(7, SERVER, NOW, Duration::from_millis(999));
    assert_eq!(refused(moment), MintError::Expired);
}

#[test]
fn two_tokens_with_the_same_claims_are_two() {
    let (first, second) = (token(), token());
    assert_ne!(first, second);
    let mut gate = gate();
    assert!(enter(&mut gate, &first, NOW).is_ok());
    assert!(enter(&mut gate, &second, NOW).is_ok());
}

#[test]
fn another_key_opens_nothing() {
    let token = key(2).mint(&claims()).unwrap();
    assert_eq!(gate().check(token.as_bytes(), NOW), Err(TokenError::NotGenuine));
    assert_eq!(key(1).open(token.as_bytes()), Err(TokenError::NotGenuine));
    let mut nobody = TokenGate::new(vec![], SERVER);
    assert_eq!(nobody.check(token.as_bytes(), NOW), Err(TokenError::NotGenuine));
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let mut gate = gate();
    let token = token();
    let bytes = token.as_bytes();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(gate.check(&changed, NOW), Err(TokenError::NotGenuine), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert_eq!(gate.check(&bytes[..length], NOW), Err(TokenError::NotGenuine), "{length}");
        assert_eq!(gate.check(&bytes[length + 1..], NOW), Err(TokenError::NotGenuine), "{length}");
    }
    for extra in [1, 2, 1000, 100_000] {
        let longer = [bytes, &vec![0; extra]].concat();
        assert_eq!(gate.check(&longer, NOW), Err(TokenError::NotGenuine), "{extra} more");
    }
    assert!(enter(&mut gate, &token, NOW).is_ok(), "nothing of it left a trace");
}

#[test]
fn a_token_expires_to_the_second() {
    let token = token();
    let end = NOW + MINUTE;
    let last = end - Duration::from_nanos(1);
    assert!(gate().check(token.as_bytes(), last).is_ok());
    assert_eq!(gate().check(token.as_bytes(), end), Err(TokenError::Expired));
    assert_eq!(gate().check(token.as_bytes(), Duration::MAX), Err(TokenError::Expired));
}

#[test]
fn a_token_that_lasts_longer_than_memory_is_refused() {
    let hour = Duration::from_secs(3600);
    let token = key(1).mint(&Claims::new(7, SERVER, NOW, hour)).unwrap();
    assert!(gate().check(token.as_bytes(), NOW).is_ok());
    let early = NOW - MINUTE - Duration::from_nanos(1);
    assert_eq!(gate().check(token.as_bytes(), early), Err(TokenError::TooLong));
    let forever = Claims { expires: u64::MAX, ..claims() };
    let token = key(1).mint(&forever).unwrap();
    assert_eq!(gate().check(token.as_bytes(), NOW), Err(TokenError::TooLong));
}

#[test]
fn a_token_is_for_one_server() {
    for other in ["", "eu-west-2", "eu-west-30", "EU-WEST-3"] {
        let mut gate = TokenGate::new(vec![key(1)], other);
        assert_eq!(gate.check(token().as_bytes(), NOW), Err(TokenError::WrongServer), "{other}");
    }
}

#[test]
fn a_token_is_redeemed_only_when_its_client_is_admitted() {
    let mut gate = gate();
    let token = token();
    // The server was full, twice.
    assert!(gate.check(token.as_bytes(), NOW).is_ok());
    let waits = gate.check(token.as_bytes(), NOW).unwrap();
    assert_eq!(gate.remembered(), 0);
    assert!(enter(&mut gate, &token, NOW).is_ok());
    assert_eq!(enter(&mut gate, &token, NOW), Err(TokenError::Used));
    assert_eq!(gate.redeem(&waits), Err(TokenError::Used), "checked before the other one was");
    assert_eq!(gate.remembered(), 1);
    let last = NOW + MINUTE - Duration::from_nanos(1);
    assert_eq!(enter(&mut gate, &token, last), Err(TokenError::Used));
    assert_eq!(enter(&mut gate, &token, NOW + MINUTE), Err(TokenError::Expired));
}

#[test]
fn a_clock_that_goes_back_redeems_no_token_twice() {
    let mut gate = gate();
    let first = token();
    assert!(enter(&mut gate, &first, NOW).is_ok());
    let later = NOW + 2 * MINUTE;
    let second = key(1).mint(&Claims::new(8, SERVER, later, MINUTE)).unwrap();
    assert!(enter(&mut gate, &second, later).is_ok());
    assert_eq!(gate.remembered(), 1, "the first is forgotten");
    assert_eq!(enter(&mut gate, &first, NOW), Err(TokenError::Expired));
    assert_eq!(enter(&mut gate, &second, NOW + MINUTE), Err(TokenError::Used));
}

#[test]
fn keys_are_changed_while_clients_connect() {
    let mut gate = TokenGate::new(vec![key(1), key(2)], SERVER);
    let (old, new) = (token(), key(2).mint(&claims()).unwrap());
    let late = token();
    assert!(enter(&mut gate, &old, NOW).is_ok());
    assert!(enter(&mut gate, &new, NOW).is_ok());
    gate.set_keys(vec![key(2)]);
    assert_eq!(enter(&mut gate, &new, NOW), Err(TokenError::Used));
    assert_eq!(enter(&mut gate, &late, NOW), Err(TokenError::NotGenuine));
}

#[test]
fn a_restarted_server_refuses_old_connections() {
    let start = NOW + Duration::from_millis(500);
    let mut gate = gate();
    gate.refuse_minted_before(start);
    gate.refuse_minted_before(Duration::ZERO);
    let minted = |now| key(1).mint(&Claims::new(7, SERVER, now, MINUTE)).unwrap();
    // This one may have been made and used in the half second before the start.
    assert_eq!(enter(&mut gate, &minted(NOW), start), Err(TokenError::Expired));
    assert!(enter(&mut gate, &minted(NOW + Duration::from_secs(1)), start).is_ok());
}

#[test]
fn memory_is_bounded_and_drains() {
    let config = TokenGateConfig { max_remembered: 100, ..TokenGateConfig::default() };
    let mut gate = gate().with_config(config);
    let tokens: Vec<_> = (0..101).map(|_| token()).collect();
    for token in &tokens[..100] {
        assert!(enter(&mut gate, token, NOW).is_ok());
    }
    let admission = gate.check(tokens[0].as_bytes(), NOW);
    assert_eq!(admission, Err(TokenError::Used), "known, although there is no room");
    assert_eq!(enter(&mut gate, &tokens[100], NOW), Err(TokenError::TooMany));
    assert_eq!(gate.remembered(), 100);

    // When they have expired, each new one frees more entries than it takes.
    let mut now = NOW + MINUTE;
    for client in 0..50 {
        now += Duration::from_secs(1);
        let token = key(1).mint(&Claims::new(client, SERVER, now, 2 * MINUTE)).unwrap();
        assert!(enter(&mut gate, &token, now).is_ok());
    }
    assert_eq!(gate.remembered(), 50);
}

#[test]
fn two_checked_tokens_do_not_both_get_the_last_place() {
    let config = TokenGateConfig { max_remembered: 1, ..TokenGateConfig::default() };
    let mut gate = gate().with_config(config);
    let first = gate.check(token().as_bytes(), NOW).unwrap();
    let second = gate.check(token().as_bytes(), NOW).unwrap();
    assert_eq!(gate.redeem(&first), Ok(()));
    assert_eq!(gate.redeem(&second), Err(TokenError::TooMany));
}

#[test]
fn memory_of_redeemed_tokens_is_bounded() {
    let count = volume(5_000, 65_536);
    let tokens: Vec<_> = (0..count).map(|_| token()).collect();
    let mut gate = gate();
    let measured = allocation_counter::measure(|| {
        for token in &tokens {
            assert!(enter(&mut gate, token, NOW).is_ok());
        }
    });
    let each = measured.bytes_current as f64 / f64::from(count);
    println!("{each:.1} bytes for each of {count} tokens that are remembered");
    assert!(each < 64.0, "{each} bytes");
}

#[test]
fn invalid_tokens_are_refused_without_allocating() {
    let count = volume(20_000, 1_000_000);
    let mut gate = TokenGate::new(vec![key(1), key(2)], SERVER);
    let genuine: Vec<_> = (1..=2).map(|number| key(number).mint(&claims()).unwrap()).collect();
    let mut random = Rng::new(1);
    let mut bytes = Vec::with_capacity(2 * SealedToken::MAX_BYTES);
    let mut unchanged = 0;
    let measured = allocation_counter::measure(|| {
        for _ in 0..count {
            bytes.clear();
            bytes.extend_from_slice(genuine[random.below(2)].as_bytes());
            let original = bytes.len();
            match random.below(4) {
                0 => bytes.truncate(random.below(original)),
                1 => bytes.resize(original + 1 + random.below(SealedToken::MAX_BYTES), 0),
                2 => bytes.rotate_left(1 + random.below(original - 1)),
                _ => {}
            }
            for _ in 0..=random.below(4) {
                let place = random.below(bytes.len().max(1));
                let Some(byte) = bytes.get_mut(place) else { break };
                *byte ^= 1 + random.below(255) as u8;
            }
            // Two changes of one byte can cancel out.
            let is_same = genuine.iter().any(|token| token.as_bytes() == bytes);
            unchanged += u64::from(is_same);
            assert_eq!(gate.check(&bytes, NOW).is_ok(), is_same);
        }
    });
    let allocations = measured.count_total;
    println!("{count} tokens of strangers, {unchanged} of them genuine: {allocations} allocations");
    assert_eq!(gate.remembered(), 0);
    assert!(allocations <= 2 * unchanged, "the name and the user data of genuine ones");
}

#[test]
fn text_is_for_json_and_errors_do_not_repeat_it() {
    let token = token();
    let text = token.to_string();
    assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!(text.parse(), Ok(token.clone()));
    assert_eq!(text.to_uppercase().parse(), Ok(token.clone()));
    assert_eq!(format!("{token:?}"), format!("SealedToken({} bytes)", token.as_bytes().len()));
    for bad in [&text[1..], &format!(" {text}"), &"0".repeat(2 * SealedToken::MAX_BYTES + 2)] {
        assert!(bad.parse::<SealedToken>().is_err());
    }

    let key = key(0xab);
    let secret = key.secret_text();
    assert_eq!(secret, "ab".repeat(32));
    let again: TokenKey = secret.parse().unwrap();
    assert!(again.open(key.mint(&claims()).unwrap().as_bytes()).is_ok());
    let refused = (secret + "!").parse::<TokenKey>().unwrap_err().to_string();
    assert_eq!(refused, "character 65 is not a hexadecimal digit: a token key is 64 of them");
    assert!(!format!("{key:?} {:?}", TokenGate::new(vec![key.clone()], "")).contains("abab"));
}
