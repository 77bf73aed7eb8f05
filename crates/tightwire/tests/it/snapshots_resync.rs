//! Restarts of senders and receivers, views that are reused, outages of any length, packets and
//! acks of other senders, damaged headers: a receiver never takes wrong state for complete, except
//! by the chance that a 16-bit check leaves.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use tightwire::snapshot::{Leaving, Level, ReceiverId};
use tightwire::{Wire, snapshot};

use crate::common::figures::say;
use crate::common::rng::Rng;
use crate::common::volume::volume;

#[derive(Wire, Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Item {
    #[wire(range = 0..=1000)]
    at: u16,
    lit: bool,
}

type Contents = BTreeMap<u32, Item>;

/// A packet, and the sender's world when it was made.
struct Made {
    bytes: Vec<u8>,
    tick: u32,
    expected: Rc<Contents>,
}

#[derive(Default)]
struct Tally {
    outages: u32,
    made: u64,
    handed: u64,
    honest: u64,
    complete: u64,
    wrong: u64,
    by_check: u64,
    other_sender: u64,
    unknown_baseline: u64,
    late: u64,
    malformed: u64,
}

struct Run {
    rng: Rng,
    protocol: snapshot::Protocol,
    sender: snapshot::Sender,
    client: ReceiverId,
    receiver: snapshot::Receiver,
    tick: u32,
    world: Rc<Contents>,
    initial: Contents,
    /// Percentage of objects that change in a tick.
    change: usize,
    budget: usize,
    delayed: VecDeque<(u64, Rc<Made>)>,
    /// Packets and acks of this sender and of others.
    old_packets: Vec<Rc<Made>>,
    old_acks: Vec<snapshot::Ack>,
    step: u64,
    no_acks_until: u64,
    tally: Tally,
}

fn protocol(level: Level) -> snapshot::Protocol {
    let config = snapshot::Config { level, max_objects: 64, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Item>().build().unwrap()
}

fn contents(receiver: &snapshot::Receiver) -> Contents {
    receiver.iter::<Item>().map(|(id, item)| (id.0, item)).collect()
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let protocol = protocol([Level::Packed, Level::Modeled][seed as usize % 2]);
        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let receiver = snapshot::Receiver::new(&protocol);
        let (change, budget) = ([0, 0, 5, 60][rng.below(4)], [1200, 1200, 64][rng.below(3)]);
        let mut run = Self {
            rng,
            protocol,
            sender,
            client,
            receiver,
            tick: 0,
            world: Rc::default(),
            initial: Contents::new(),
            change,
            budget,
            delayed: VecDeque::new(),
            old_packets: Vec::new(),
            old_acks: Vec::new(),
            step: 0,
            no_acks_until: 0,
            tally: Tally::default(),
        };
        run.restart_sender();
        run.restart_receiver();
        run
    }

    fn is_one_in(&mut self, chances: usize) -> bool {
        self.rng.below(chances) == 0
    }

    /// Restarts the sender, whose world may be the same as before, or almost.
    fn restart_sender(&mut self) {
        // Most do not get another epoch.
        let epoch = if self.is_one_in(3) { self.rng.below(4) as u32 } else { 0 };
        self.sender = snapshot::Sender::new(&self.protocol).with_epoch(epoch);
        self.tick = match self.rng.below(4) {
            0 => u32::MAX - 400 - self.rng.below(400) as u32,
            1 => self.tick.min(u32::MAX - 3000),
            _ => self.rng.below(3) as u32,
        };
        if self.is_one_in(3) {
            let count = self.rng.below(3) as u32;
            self.initial = (0..count).map(|id| (id, self.item())).collect();
        }
        let mut world: Contents = self.initial.clone();
        for (&id, &item) in self.world.iter() {
            if self.rng.below(3) > 0 {
                world.insert(id, item);
            }
        }
        for _ in 0..self.rng.below(4) {
            world.insert(self.rng.below(8) as u32, self.item());
        }
        for (&id, item) in &self.initial {
            self.sender.set_initial(id, item).unwrap();
        }
        self.world = Rc::new(world);
        self.client = self.sender.add_receiver(Leaving::Despawn);
    }

    fn item(&mut self) -> Item {
        Item { at: self.rng.below(3) as u16, lit: self.is_one_in(2) }
    }

    fn take_view_again(&mut self) {
        self.sender.remove_receiver(self.client);
        self.client = self.sender.add_receiver(Leaving::Despawn);
    }

    fn restart_receiver(&mut self) {
        self.receiver = snapshot::Receiver::new(&self.protocol);
        // Few receivers have other initial objects than the sender.
        if !self.is_one_in(12) {
            for (&id, item) in &self.initial {
                self.receiver.set_initial(id, item).unwrap();
            }
        }
    }

    /// Runs a tick of the sender, and makes its packet.
    fn make(&mut self) -> Rc<Made> {
        let jump = if self.is_one_in(60) { self.rng.below(300) as u32 } else { 0 };
        match self.tick.checked_add(1 + jump) {
            Some(tick) if tick < u32::MAX => self.tick = tick,
            _ => self.restart_sender(),
        }
        self.tick = self.tick.max(1);
        self.sender.begin_tick(self.tick);
        if self.rng.below(100) < self.change {
            let (id, item) = (self.rng.below(8) as u32, self.item());
            let world = Rc::make_mut(&mut self.world);
            if self.rng.below(4) > 0 {
                world.insert(id, item)
            } else {
                world.remove(&id)
            };
        }
        for id in 0..8u32 {
            match self.world.get(&id) {
                Some(item) => self.sender.set(id, item).unwrap(),
                None => self.sender.remove(id).unwrap(),
            }
        }
        let bytes = self.sender.snapshot(self.client, self.budget).unwrap().to_vec();
        self.tally.made += 1;
        Rc::new(Made { bytes, tick: self.tick, expected: self.world.clone() })
    }

    fn hand(&mut self, made: &Made, bytes: &[u8]) {
        self.tally.handed += 1;
        match self.receiver.handle_snapshot(bytes) {
            Ok(received) if received.is_complete => {
                if received.tick == made.tick && contents(&self.receiver) == *made.expected {
                    self.tally.complete += 1;
                } else {
                    self.tally.wrong += 1;
                    self.restart_receiver();
                }
            }
            Ok(_) => {}
            Err(snapshot::ReceiveError::Check { .. }) => self.tally.by_check += 1,
            Err(snapshot::ReceiveError::OtherSender { .. }) => {
                self.tally.other_sender += 1;
                if self.is_one_in(4) {
                    self.receiver.resync();
                    assert_eq!(self.receiver.ack(), None);
                }
            }
            Err(snapshot::ReceiveError::UnknownBaseline) => self.tally.unknown_baseline += 1,
            Err(snapshot::ReceiveError::Late) => self.tally.late += 1,
            Err(_) => self.tally.malformed += 1,
        }
    }

    /// Hands over a packet whose header is damaged, sometimes with the bytes behind it.
    fn hand_damaged(&mut self, made: &Made) {
        let mut bytes = made.bytes.clone();
        let damaged = if self.is_one_in(4) { 18 } else { 3 };
        for _ in 0..=self.rng.below(3) {
            let bit = self.rng.below(8 * damaged.min(bytes.len()));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if bytes != made.bytes {
            self.hand(made, &bytes);
        }
    }

    fn step(&mut self) {
        self.step += 1;
        match self.rng.below(600) {
            0..=2 => self.restart_sender(),
            3..=5 => self.take_view_again(),
            6..=8 => self.restart_receiver(),
            9..=11 => self.no_acks_until = self.step + self.rng.below(200) as u64,
            12..=14 => {
                let lengths = [20, 60, 93, 100, 254, 300, 1020, 4093];
                let length = lengths[self.rng.below(8)] + self.rng.below(9);
                (0..length).for_each(|_| drop(self.make()));
            }
            15..=20 => {
                let level = [Level::Packed, Level::Modeled][self.rng.below(2)];
                self.sender.set_level(self.client, level);
            }
            _ => {}
        }
        let made = self.make();
        if self.is_one_in(20) || self.old_packets.len() < 40 {
            self.old_packets.push(made.clone());
        }
        if self.old_packets.len() > 60 {
            let place = self.rng.below(60);
            self.old_packets.swap_remove(place);
        }
        if self.is_one_in(2) {
            self.hand_damaged(&made);
        }
        if self.is_one_in(8) && !self.old_packets.is_empty() {
            let old = self.old_packets[self.rng.below(self.old_packets.len())].clone();
            self.hand(&old, &old.bytes);
        }
        match self.rng.below(10) {
            0 => {}
            1 => self.delayed.push_back((self.step + self.rng.below(20) as u64, made)),
            _ => {
                self.tally.honest += 1;
                self.hand(&made, &made.bytes);
            }
        }
        while let Some((_, made)) = self.delayed.pop_front_if(|(due, _)| *due <= self.step) {
            self.hand(&made, &made.bytes);
        }
        self.acknowledge();
    }

    /// An outage in which none of the packets arrives, of one view of one sender.
    fn wait(&mut self, packets: u32) {
        self.tick = self.tick.min(u32::MAX - 2 * packets);
        if self.tick + packets > u32::MAX / 2 {
            // Not near the last tick, at which the sender would have to restart.
            self.restart_sender();
            self.tick = 1;
        }
        for _ in 0..packets {
            self.tick += 1;
            self.sender.begin_tick(self.tick);
            let bytes = self.sender.snapshot(self.client, self.budget).unwrap();
            assert!(!bytes.is_empty());
            self.tally.made += 1;
        }
    }

    fn acknowledge(&mut self) {
        if let Some(ack) = self.receiver.ack() {
            if self.is_one_in(20) {
                self.old_acks.push(ack);
            }
            if self.step >= self.no_acks_until && !self.is_one_in(10) {
                self.sender.handle_ack(self.client, ack);
            }
        }
        if self.old_acks.len() > 40 {
            let place = self.rng.below(40);
            self.old_acks.swap_remove(place);
        }
        if self.is_one_in(4) && !self.old_acks.is_empty() {
            let ack = self.old_acks[self.rng.below(self.old_acks.len())];
            self.sender.handle_ack(self.client, ack);
        }
    }
}

#[test]
fn wrong_state_is_never_complete_after_a_restart_of_either_side() {
    let mut all = Tally::default();
    for seed in 0..volume(16, 560) {
        let mut run = Run::new(seed);
        (0..1000).for_each(|_| run.step());
        if seed % volume(16, 20) == 0 {
            // Longer than the numbers in packets and acks go.
            let length = 65_536 - 100 + run.rng.below(200) as u32;
            run.wait(length);
            all.outages += 1;
        }
        (0..1000).for_each(|_| run.step());
        let tally = run.tally;
        all.made += tally.made;
        all.handed += tally.handed;
        all.honest += tally.honest;
        all.complete += tally.complete;
        all.wrong += tally.wrong;
        all.by_check += tally.by_check;
        all.other_sender += tally.other_sender;
        all.unknown_baseline += tally.unknown_baseline;
        all.late += tally.late;
        all.malformed += tally.malformed;
    }
    assert!(all.outages > 0);
    let Tally { made, handed, honest, complete, wrong, by_check, .. } = all;
    // Packets about which the check alone decided: each is accepted with a probability of 2^-16.
    let expected = (by_check + wrong) as f64 / 65536.0;
    say(&format!(
        "{made} packets made, {handed} handed to receivers, {complete} accepted as complete; refused: \
         {by_check} by the check, {} of another sender, {} without their base, {} late, {} malformed; \
         accepted as complete and wrong: {wrong}, where 16 bits let expect {expected:.2}",
        all.other_sender, all.unknown_baseline, all.late, all.malformed
    ));
    let most = (expected + 4.0 * expected.sqrt() + 1.0) as u64;
    assert!(wrong <= most, "{wrong} wrong, at most {most} by chance");
    assert!(complete * 4 > honest, "{complete} of {honest} honest packets were complete");
    assert!(by_check > handed / 50 && all.other_sender > 0, "{by_check} of {handed}");
}

/// Runs a session of a static world, whose sender is then replaced by another one, or by another
/// view of the same, while the receiver goes on with its acks. Returns the numbers of wrong and of
/// right complete snapshots.
fn goes_on(level: Level, packets: u32, is_view: bool) -> (u32, u32) {
    let protocol = protocol(level);
    let mut sender = snapshot::Sender::new(&protocol);
    let mut client = sender.add_receiver(Leaving::Despawn);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let (mut wrong, mut right) = (0, 0);
    for step in 0..2 * packets + 250 {
        if step == packets {
            match is_view {
                true => sender.remove_receiver(client),
                false => sender = snapshot::Sender::new(&protocol),
            }
            client = sender.add_receiver(Leaving::Despawn);
        }
        let at = if step < packets { 1 } else { 2 };
        let began = if is_view || step < packets { 0 } else { packets };
        sender.begin_tick(1 + step - began);
        sender.set(3, &Item { at, lit: false }).unwrap();
        sender.set(4, &Item { at: 9, lit: true }).unwrap();
        let packet = sender.snapshot(client, 1000).unwrap();
        if receiver.handle_snapshot(packet).is_ok_and(|received| received.is_complete) {
            let is_right = receiver.get::<Item>(3).is_some_and(|item| item.at == at);
            wrong += u32::from(!is_right);
            right += u32::from(is_right && step >= packets);
        }
        sender.handle_ack(client, receiver.ack().unwrap());
    }
    (wrong, right)
}

#[test]
fn a_receiver_converges_with_another_sender_or_refuses_it() {
    for is_view in [false, true] {
        let mut resynced = 0;
        for packets in (1..401).step_by(volume(5, 1)) {
            let level = if packets % 2 == 0 { Level::Packed } else { Level::Modeled };
            let (wrong, right) = goes_on(level, packets, is_view);
            assert_eq!(wrong, 0, "{packets} packets, view {is_view}");
            resynced += u32::from(right > 0);
        }
        assert_eq!(resynced, 400 / volume(5, 1), "view {is_view}");
    }
}

/// After an outage of 65,536 packets the lowest bits of sequence numbers are those of other
/// packets. The acks of the last packets before the outage come at its end.
#[test]
fn numbers_that_have_gone_round_mean_nothing_else() {
    for late in (10..97).step_by(volume(40, 1)) {
        let protocol = protocol(Level::Packed);
        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let outage = 100..65_636;
        for step in 0..outage.end + 250 {
            sender.begin_tick(1 + step);
            let at = if step < 150 { 1 } else { 2 };
            sender.set(3, &Item { at, lit: false }).unwrap();
            let packet = sender.snapshot(client, 1000).unwrap();
            if !outage.contains(&step) && receiver.handle_snapshot(packet).is_ok() {
                let received = receiver.newest().unwrap();
                assert_eq!((received.tick, received.is_complete), (1 + step, true), "{late}");
                assert_eq!(receiver.get::<Item>(3).unwrap().at, at, "{late}: step {step}");
            }
            if step + late < outage.start || step + 1 >= outage.end {
                sender.handle_ack(client, receiver.ack().unwrap());
            }
        }
        assert_eq!(receiver.newest().unwrap().tick, outage.end + 250);
    }
}
