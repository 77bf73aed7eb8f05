use core::time::Duration;

use super::ticket::ResumeTicket;
use super::*;
use crate::message::{Messenger, MessengerConfig, PeerId};
use crate::reason::{Reason, TokenError};
use crate::session::{Admit, Admitted, SessionConfig};
use crate::token::TokenKey;

/// A gate whose tokens are the number of a client; each works once.
#[derive(Default)]
struct Numbers {
    used: Vec<Vec<u8>>,
}

impl Admit for Numbers {
    fn check(&mut self, token: &[u8], _: Duration) -> Result<Admitted, TokenError> {
        if self.used.iter().any(|used| used == token) {
            return Err(TokenError::Used);
        }
        let &[client @ 0..16, _] = token else { return Err(TokenError::NotGenuine) };
        Ok(Admitted { client: client.into(), user_data: vec![client, client] })
    }

    fn redeem(&mut self, token: &[u8], _: Duration) -> Result<(), TokenError> {
        self.used.push(token.to_vec());
        Ok(())
    }
}

/// A server's gate and logins, without a session.
struct TestBed {
    gate: ResumeGate<Numbers>,
    logins: Logins,
    peers: Messenger<()>,
}

impl TestBed {
    fn new(duplicates: DuplicateLogin, max_lost: usize) -> Self {
        let window = Duration::from_secs(120);
        let logins = Logins::new(LoginConfig { window, max_lost, duplicates, key: [7; 32] });
        let gate = ResumeGate::new(Numbers::default(), logins.clone());
        let peers = Messenger::builder(MessengerConfig::default()).send_only::<ResumeTicket>();
        Self { gate, logins, peers: peers.build().unwrap() }
    }

    /// Connects with a token, if the gate admits it.
    fn connect(&mut self, token: &[u8]) -> Result<(PeerId, Arrival), TokenError> {
        let admitted = self.gate.check(token, Duration::ZERO)?;
        self.gate.redeem(token, Duration::ZERO)?;
        let peer = self.peers.add_peer(1200);
        Ok((peer, self.logins.handle_connected(peer, admitted.client, &admitted.user_data)))
    }

    fn join(&mut self, token: &[u8]) -> (PeerId, ResumeTicket) {
        match self.connect(token) {
            Ok((peer, Arrival::Joined { ticket: Some(ticket) })) => (peer, ticket),
            other => panic!("{other:?}"),
        }
    }

    fn lose(&mut self, peer: PeerId, second: u64) -> Departure {
        self.logins.handle_disconnected(peer, &Reason::TimedOut, Duration::from_secs(second))
    }
}

#[test]
fn a_lost_player_resumes_with_its_ticket_and_gets_another_one() {
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
    let (player, ticket) = test_bed.join(&[3, 0]);
    assert_eq!(test_bed.lose(player, 10), Departure::Lost(player));
    assert_eq!(test_bed.logins.next_time(), Some(Duration::from_secs(130)));

    let (peer, arrival) = test_bed.connect(&ticket.to_token()).unwrap();
    let Arrival::Resumed { player: same, replaced: None, ticket: next } = arrival else {
        panic!("{arrival:?}")
    };
    assert_eq!(same, player);
    assert_ne!(peer, player);
    assert_ne!(next, ticket);
    // Used up, and the next one works.
    assert_eq!(test_bed.connect(&ticket.to_token()).unwrap_err(), TokenError::Expired);
    assert_eq!(test_bed.lose(peer, 11), Departure::Lost(player));
    assert!(test_bed.connect(&next.to_token()).is_ok());
    assert_eq!(test_bed.logins.poll_left(Duration::from_secs(1000)), None);
}

#[test]
fn the_user_data_of_the_token_comes_back_with_the_ticket() {
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
    let (player, ticket) = test_bed.join(&[3, 0]);
    test_bed.lose(player, 0);
    let admitted = test_bed.gate.check(&ticket.to_token(), Duration::ZERO).unwrap();
    assert_eq!(admitted, Admitted { client: 3, user_data: vec![3, 3] });
}

#[test]
fn a_ticket_whose_connection_was_lost_before_it_was_established_works_again() {
    let mut test_bed = TestBed::new(DuplicateLogin::Refuse, 8);
    let (player, ticket) = test_bed.join(&[3, 0]);
    test_bed.lose(player, 0);
    let token = ticket.to_token();
    assert_eq!(test_bed.gate.redeem(&token, Duration::ZERO), Ok(()));
    assert!(matches!(test_bed.connect(&token), Ok((_, Arrival::Resumed { .. }))));
    assert_eq!(test_bed.gate.redeem(&token, Duration::ZERO), Err(TokenError::Expired));
}

#[test]
fn the_window_ends_and_the_player_has_left() {
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
    let (player, ticket) = test_bed.join(&[3, 0]);
    test_bed.lose(player, 10);
    assert_eq!(test_bed.logins.poll_left(Duration::from_secs(129)), None);
    assert_eq!(test_bed.logins.poll_left(Duration::from_secs(130)), Some(player));
    assert_eq!(test_bed.logins.poll_left(Duration::from_secs(130)), None);
    assert_eq!(test_bed.connect(&ticket.to_token()).unwrap_err(), TokenError::Expired);
    // With another connect token it is another player.
    assert_ne!(test_bed.join(&[3, 1]).0, player);
}

#[test]
fn leaving_and_kicks_are_for_good() {
    for reason in [Reason::Left, Reason::kicked("afk"), Reason::violation("flood")] {
        let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
        let (player, ticket) = test_bed.join(&[3, 0]);
        let departure = test_bed.logins.handle_disconnected(player, &reason, Duration::ZERO);
        assert_eq!(departure, Departure::Left(player));
        assert_eq!(test_bed.connect(&ticket.to_token()).unwrap_err(), TokenError::Expired);
    }
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
    let (player, ticket) = test_bed.join(&[3, 0]);
    test_bed.lose(player, 0);
    test_bed.logins.forget(player);
    assert_eq!(test_bed.connect(&ticket.to_token()).unwrap_err(), TokenError::Expired);
    assert_eq!(test_bed.logins.next_time(), None);
}

#[test]
fn a_second_login_replaces_the_first_or_is_refused() {
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
    let (first, _) = test_bed.join(&[3, 0]);
    let (_, arrival) = test_bed.connect(&[3, 1]).unwrap();
    assert!(
        matches!(arrival, Arrival::Resumed { player, replaced: Some(old), .. } if (player, old) == (first, first))
    );
    // The end of the replaced connection belongs to no player.
    assert_eq!(test_bed.lose(first, 1), Departure::Nobody);

    let mut test_bed = TestBed::new(DuplicateLogin::Refuse, 8);
    let (first, ticket) = test_bed.join(&[3, 0]);
    assert_eq!(test_bed.connect(&[3, 1]).unwrap_err(), TokenError::AlreadyConnected);
    assert_eq!(test_bed.connect(&[4, 1]).map(|_| ()), Ok(()));
    // The ticket shows that it is the same client, whose old connection is dead.
    let (_, arrival) = test_bed.connect(&ticket.to_token()).unwrap();
    assert!(matches!(arrival, Arrival::Resumed { replaced: Some(old), .. } if old == first));
}

#[test]
fn of_two_that_say_hello_at_once_the_second_is_refused() {
    let mut test_bed = TestBed::new(DuplicateLogin::Refuse, 8);
    let [first, second] = [1200, 1200].map(|mtu| test_bed.peers.add_peer(mtu));
    assert!(matches!(test_bed.logins.handle_connected(first, 3, &[]), Arrival::Joined { .. }));
    assert_eq!(test_bed.logins.handle_connected(second, 3, &[]), Arrival::Refused);
    assert_eq!(test_bed.lose(second, 0), Departure::Nobody);
    assert_eq!(test_bed.lose(first, 0), Departure::Lost(first));
}

#[test]
fn clients_without_a_number_are_distinct() {
    let mut test_bed = TestBed::new(DuplicateLogin::Refuse, 8);
    let (first, arrival) = test_bed.connect(&[0, 0]).unwrap();
    assert_eq!(arrival, Arrival::Joined { ticket: None });
    let (second, arrival) = test_bed.connect(&[0, 1]).unwrap();
    assert_eq!(arrival, Arrival::Joined { ticket: None });
    assert_eq!(test_bed.lose(first, 0), Departure::Left(first));
    assert_eq!(test_bed.lose(second, 0), Departure::Left(second));
}

#[test]
fn the_number_of_lost_players_is_bounded() {
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 2);
    let players: Vec<_> = (1..=4).map(|client| test_bed.join(&[client, 0]).0).collect();
    for (second, player) in (0..).zip(&players) {
        assert_eq!(test_bed.lose(*player, second), Departure::Lost(*player));
    }
    let now = Duration::from_secs(4);
    assert_eq!(test_bed.logins.poll_left(now), Some(players[0]));
    assert_eq!(test_bed.logins.poll_left(now), Some(players[1]));
    assert_eq!(test_bed.logins.poll_left(now), None);
}

#[test]
fn a_changed_ticket_resumes_nobody() {
    let mut test_bed = TestBed::new(DuplicateLogin::Replace, 8);
    let (player, ticket) = test_bed.join(&[3, 0]);
    test_bed.lose(player, 0);
    let token = ticket.to_token();
    for bit in 0..token.len() * 8 {
        let mut changed = token.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // In the prefix, it is a token of the game, which the game's gate does not know.
        assert!(test_bed.connect(&changed).is_err(), "bit {bit}");
    }
    for length in 0..token.len() {
        assert!(test_bed.connect(&token[..length]).is_err(), "{length} bytes");
    }
    assert!(test_bed.connect(&[&token[..], &[0]].concat()).is_err());
    assert!(test_bed.connect(&token).is_ok());
    assert_eq!(format!("{ticket:?}"), "ResumeTicket(secret)");
}

#[test]
fn the_same_key_gives_the_same_tickets() {
    let mut test_beds = [0; 2].map(|_| TestBed::new(DuplicateLogin::Replace, 8));
    let [one, two] = test_beds.each_mut().map(|test_bed| test_bed.join(&[3, 0]).1);
    assert_eq!(one, two);
    let other = test_beds[0].join(&[4, 0]).1;
    assert_ne!(one, other);
}

#[test]
fn the_seed_and_the_start_of_a_session_say_nothing_of_its_tickets() {
    // A recording has both, and a client can try all seeds.
    let session = SessionConfig::default();
    let [one, two] = [0; 2].map(|_| ticket_key(None, &session).unwrap());
    assert_ne!(one, two);
}

#[test]
fn a_key_that_is_kept_gives_a_replay_its_tickets_and_no_other_run() {
    let key = TokenKey::from_bytes([7; 32]);
    let session = SessionConfig::default();
    let of = |session: &SessionConfig| ticket_key(Some(&key), session).unwrap();
    assert_eq!(of(&session), of(&session.clone()));
    let later = session.unix_start + Duration::from_secs(1);
    assert_ne!(of(&session), of(&SessionConfig { unix_start: later, ..session.clone() }));
    assert_ne!(of(&session), [7; 32]);
}

#[test]
fn attempts_are_half_a_second_to_four_seconds_apart() {
    let mut backoff = Backoff::default();
    let mut now = Duration::from_secs(100);
    assert!(!backoff.poll_attempt(now));
    let mut delays = Vec::new();
    for _ in 0..5 {
        backoff.handle_failure(now);
        let next = backoff.next_time().unwrap();
        delays.push((next - now).as_millis());
        assert!(!backoff.poll_attempt(next - Duration::from_millis(1)));
        assert!(backoff.poll_attempt(next));
        assert!(!backoff.poll_attempt(next));
        now = next;
    }
    assert_eq!(delays, [500, 1000, 2000, 4000, 4000]);
    assert_eq!(backoff.failures(), 5);
    backoff.handle_success();
    assert_eq!(backoff, Backoff::default());
}
