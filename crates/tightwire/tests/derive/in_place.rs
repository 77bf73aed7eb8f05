//! Reading into a value that holds something else.

use tightwire::Wire;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Player {
    is_named: bool,
    #[wire(when = self.is_named, max_len = 40)]
    name: String,
    #[wire(when = self.is_named, max_len = 40)]
    items: Vec<u16>,
    #[wire(when = self.is_named, max_len = 40)]
    boxed: Box<String>,
    #[wire(when = self.is_named, default = 7)]
    level: u8,
    #[wire(when = self.is_named)]
    rank: u8,
    action: Action,
    #[wire(skip)]
    local: u8,
    #[wire(skip, default = 3)]
    fresh: u8,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Action {
    #[default]
    Wait,
    Say {
        #[wire(max_len = 40)]
        text: String,
        #[wire(skip)]
        local: u8,
    },
    Move(#[wire(max_len = 9)] Vec<[u8; 2]>),
}

fn packet(value: &Player) -> Vec<u8> {
    let mut buffer = [0; Player::MAX_BYTES];
    tightwire::encode(&value.clone(), &mut buffer).unwrap().to_vec()
}

fn full() -> Player {
    Player {
        is_named: true,
        name: "a name of some length".into(),
        items: (0..20).collect(),
        boxed: Box::new("another one".into()),
        level: 1,
        rank: 2,
        action: Action::Say { text: "something".into(), local: 0 },
        local: 0,
        fresh: 3,
    }
}

#[test]
fn a_field_that_is_not_sent_gets_its_default_and_keeps_its_memory() {
    let mut value = full();
    let (name, items) = (value.name.capacity(), value.items.capacity());
    let (boxed, text) = (&raw const *value.boxed, value.boxed.capacity());
    tightwire::decode_into(&packet(&Player::default()), &mut value).unwrap();
    assert_eq!(value, Player { level: 7, fresh: 3, ..Player::default() });
    assert_eq!((value.name.capacity(), value.items.capacity()), (name, items));
    assert_eq!((&raw const *value.boxed, value.boxed.capacity()), (boxed, text));
}

#[test]
fn a_skipped_field_stays_or_gets_its_default() {
    let mut value = Player { local: 9, fresh: 9, ..full() };
    value.action = Action::Say { text: String::new(), local: 5 };
    tightwire::decode_into(&packet(&full()), &mut value).unwrap();
    assert_eq!((value.local, value.fresh), (9, 3));
    let Action::Say { text, local: 5 } = &value.action else { panic!("{value:?}") };
    assert_eq!(text, "something");
    // Another variant starts from its default.
    value.action = Action::Wait;
    tightwire::decode_into(&packet(&full()), &mut value).unwrap();
    assert_eq!(value.action, Action::Say { text: "something".into(), local: 0 });
}

#[test]
fn every_variant_is_read_over_every_other() {
    let actions = [
        Action::Wait,
        Action::Say { text: "hello".into(), local: 0 },
        Action::Say { text: String::new(), local: 0 },
        Action::Move(vec![[1, 2]; 9]),
        Action::Move(vec![]),
        Action::Move(vec![[3, 4]; 2]),
    ];
    for before in &actions {
        for after in &actions {
            let mut value = Player { action: before.clone(), ..full() };
            let sent = Player { action: after.clone(), ..full() };
            tightwire::decode_into(&packet(&sent), &mut value).unwrap();
            assert_eq!(value, sent);
        }
    }
}

#[test]
fn the_same_variant_keeps_its_memory() {
    let mut value = Player { action: Action::Move(vec![[1, 2]; 9]), ..full() };
    let sent = packet(&Player { action: Action::Move(vec![[3, 4]; 2]), ..full() });
    let Action::Move(path) = &value.action else { panic!() };
    let (place, capacity) = (path.as_ptr(), path.capacity());
    tightwire::decode_into(&sent, &mut value).unwrap();
    let Action::Move(path) = &value.action else { panic!() };
    assert_eq!((path.as_ptr(), path.capacity(), path.len()), (place, capacity, 2));
}
