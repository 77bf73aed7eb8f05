//! Objects by their rows, and fields that are for some clients only.

use std::time::Duration;

use tightwire::play::{
    Client, ClientConfig, Game, ObjectConfig, Server, ServerConfig, ServerEvent,
};
use tightwire::schema::{ObjectId, Schema};
use tightwire::session::OpenToAnyone;
use tightwire::snapshot::{ChangeKind, Row};
use tightwire::transport::InProcess;
use tightwire::{PeerId, Wire};

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Hand {
    #[wire(owner, range = 0..=52)]
    card: u8,
    #[wire(others, range = 0..=3)]
    back: u8,
    #[wire(range = 0..=9)]
    count: u8,
}

/// A box that the game knows by its schema only.
#[derive(Wire, Default)]
struct Crate {
    #[wire(range = 0..=100)]
    weight: u8,
    is_open: bool,
}

fn table() -> Game {
    let crates = ObjectConfig::default();
    Game::new("table", "1.0").object::<Hand>().object_of("Crate", Schema::of::<Crate>(), crates)
}

/// A server and a client in one process.
struct Table {
    server: Server<(), InProcess>,
    client: Client<(), InProcess>,
    peer: Option<PeerId>,
    now: Duration,
}

impl Table {
    fn new() -> Self {
        let (here, there) = InProcess::pair();
        let server = table().serve(ServerConfig::default(), OpenToAnyone::default(), there);
        let client = table().connect(ClientConfig::default(), &[], here);
        let (server, client) = (server.unwrap(), client.unwrap());
        Self { server, client, peer: None, now: Duration::ZERO }
    }

    fn run(&mut self, milliseconds: u64, mut each: impl FnMut(&mut Self)) {
        for _ in 0..milliseconds {
            self.now += Duration::from_millis(1);
            self.server.receive(self.now);
            while let Some(event) = self.server.poll_event() {
                if let ServerEvent::Joined { peer, .. } = event {
                    self.peer = Some(peer);
                }
            }
            while self.server.begin_tick(self.now).is_some() {}
            self.server.send(self.now);
            self.client.receive(self.now);
            while self.client.next_step().is_some() {}
            each(self);
            self.client.send(self.now);
        }
    }
}

#[test]
fn a_field_is_for_the_owner_or_for_the_others() {
    let mut table = Table::new();
    table.run(500, |_| {});
    let hand = Hand { card: 17, back: 2, count: 4 };
    let id = table.server.world().spawn(&hand).unwrap();
    let shown = |table: &Table| table.client.world().get::<Hand>(id);
    table.run(500, |_| {});
    assert_eq!(shown(&table), Some(Hand { card: 0, back: 2, count: 4 }));
    // A field that the client does not get is not sent when it changes either.
    table.server.world().set(id, &Hand { card: 18, ..hand }).unwrap();
    table.run(500, |_| {});
    assert_eq!(shown(&table), Some(Hand { card: 0, back: 2, count: 4 }));
    let peer = table.peer;
    table.server.world().set_owner(id, peer);
    table.run(500, |_| {});
    assert_eq!(shown(&table), Some(Hand { card: 18, back: 0, count: 4 }));
    table.server.world().set_owner(id, None);
    table.run(500, |_| {});
    assert_eq!(shown(&table), Some(Hand { card: 0, back: 2, count: 4 }));
}

#[test]
fn objects_without_a_type_are_spawned_set_seen_and_listed_by_their_rows() {
    let mut table = Table::new();
    table.run(500, |_| {});
    let hand = table.server.world().spawn(&Hand::default()).unwrap();
    let hands = table.server.world().row(hand).unwrap().class;
    let class = 1 - hands;
    let row = |cells| Row { class, cells };
    let id = table.server.world().spawn_row(row(&[40, 0])).unwrap();
    assert!(table.server.world().set_row(id, row(&[101, 0])).is_err(), "beyond its range");
    assert!(table.server.world().spawn_row(row(&[40])).is_err(), "a cell is missing");
    assert!(table.server.world().spawn_row(Row { class: 9, cells: &[] }).is_err());

    let mut changes: Vec<(ObjectId, u16, ChangeKind)> = Vec::new();
    let mut list = |table: &mut Table| {
        let all = table.client.world();
        let these = all.changes().iter().filter(|change| change.id == id);
        changes.extend(these.map(|change| (change.id, change.class, change.kind)));
    };
    table.run(500, &mut list);
    let shown = |table: &Table| table.client.world().with_row(id, |row| row.cells.to_vec());
    assert_eq!(shown(&table), Some(vec![40, 0]));
    table.server.world().set_row(id, row(&[41, 1])).unwrap();
    table.run(500, &mut list);
    assert_eq!(shown(&table), Some(vec![41, 1]));
    let peer = table.peer.unwrap();
    let seen = table
        .server
        .as_seen_by(peer, |past| past.with_row(id, |row| (row.class, row.cells.to_vec())));
    assert_eq!(seen, Some((class, vec![41, 1])));
    table.server.world().remove(id);
    table.run(500, &mut list);
    assert_eq!(shown(&table), None);
    let kinds = [ChangeKind::Spawned, ChangeKind::Changed, ChangeKind::Despawned];
    assert_eq!(changes, kinds.map(|kind| (id, class, kind)));
}
