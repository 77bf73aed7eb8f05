//! A network without latency and loss: sent batches arrive at the next poll of the other side.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};

/// A network of one server and many clients.
#[derive(Clone, Default)]
pub(crate) struct Net(Rc<RefCell<Inner>>);

struct Inner {
    /// Lanes by connection, and whether they lead to the server.
    lanes: BTreeMap<(u64, bool), Lane>,
    next: u64,
    mtu: usize,
    capacity: usize,
    /// Whether fragmented batches are slower than all others.
    is_overtaking: bool,
    /// Ends that get no events.
    stuck: BTreeSet<(u64, bool)>,
}

#[derive(Default)]
struct Lane {
    items: VecDeque<(Delivery, Vec<u8>)>,
    closed: Option<Reason>,
    is_announced: bool,
    is_paused: bool,
    /// Whether the connection has ended here: this end gets no more events.
    is_over: bool,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            lanes: BTreeMap::new(),
            next: 0,
            mtu: 1200,
            capacity: 4 << 20,
            is_overtaking: false,
            stuck: BTreeSet::new(),
        }
    }
}

impl Net {
    pub(crate) fn server(&self) -> End {
        End { net: self.clone(), connection: None, current: Vec::new() }
    }

    pub(crate) fn client(&self) -> End {
        let mut inner = self.0.borrow_mut();
        inner.next += 1;
        let connection = inner.next;
        for to_server in [false, true] {
            inner.lanes.insert((connection, to_server), Lane::default());
        }
        End { net: self.clone(), connection: Some(connection), current: Vec::new() }
    }

    pub(crate) fn set_mtu(&self, mtu: usize) {
        self.0.borrow_mut().mtu = mtu;
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        self.0.borrow_mut().capacity = capacity;
    }

    pub(crate) fn overtake(&self) {
        self.0.borrow_mut().is_overtaking = true;
    }

    /// Frees the lanes of connections that have ended at both ends.
    pub(crate) fn forget_the_closed(&self) {
        let mut inner = self.0.borrow_mut();
        let is_over = |lane: Option<&Lane>| lane.is_none_or(|lane| lane.is_over);
        let gone: Vec<_> = (inner.lanes.keys().map(|(connection, _)| *connection))
            .filter(|connection| {
                [false, true].into_iter().all(|end| is_over(inner.lanes.get(&(*connection, end))))
            })
            .collect();
        for connection in gone {
            inner.lanes.remove(&(connection, false));
            inner.lanes.remove(&(connection, true));
        }
    }

    /// Sets whether a client gets no events.
    pub(crate) fn stick(&self, connection: u64, is_stuck: bool) {
        let mut inner = self.0.borrow_mut();
        if is_stuck {
            inner.stuck.insert((connection, false));
        } else {
            inner.stuck.remove(&(connection, false));
        }
    }
}

/// One end of the network.
pub(crate) struct End {
    net: Net,
    /// Connection of a client; `None` for the server.
    pub(crate) connection: Option<u64>,
    current: Vec<u8>,
}

impl End {
    fn is_server(&self) -> bool {
        self.connection.is_none()
    }

    fn mine(&self, inner: &Inner) -> Vec<u64> {
        let all = inner.lanes.keys().filter(|(_, to_server)| *to_server == self.is_server());
        all.map(|(connection, _)| *connection)
            .filter(|connection| self.connection.is_none_or(|own| own == *connection))
            .collect()
    }
}

fn is_reliable(delivery: Delivery) -> bool {
    !matches!(delivery, Delivery::Unreliable | Delivery::UnreliableSequenced)
}

fn address(connection: u64) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], connection as u16))
}

impl Transport for End {
    fn handle_input(&mut self, _: Duration) {
        let mut inner = self.net.0.borrow_mut();
        for connection in self.mine(&inner) {
            if let Some(lane) = inner.lanes.get_mut(&(connection, self.is_server())) {
                lane.is_paused = false;
            }
        }
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let is_server = self.is_server();
        let net = self.net.clone();
        let mut inner = net.0.borrow_mut();
        let is_overtaking = inner.is_overtaking;
        for number in self.mine(&inner) {
            let is_stuck = inner.stuck.contains(&(number, is_server));
            let Some(lane) = inner.lanes.get_mut(&(number, is_server)) else { continue };
            let connection = Connection(number);
            if lane.is_over || is_stuck {
                continue;
            }
            if !lane.is_announced {
                lane.is_announced = true;
                return Some(Event::Connected { connection, address: Some(address(number)) });
            }
            let can_come =
                |(delivery, _): &&(Delivery, Vec<u8>)| !(lane.is_paused && is_reliable(*delivery));
            let slow = Delivery::ReliableOrderedFragmented;
            let mut candidates: Vec<usize> = (0..lane.items.len())
                .filter(|place| lane.items.get(*place).as_ref().is_some_and(can_come))
                .collect();
            if is_overtaking {
                candidates.sort_by_key(|place| lane.items[*place].0 == slow);
            }
            if let Some((delivery, batch)) =
                candidates.first().and_then(|place| lane.items.remove(*place))
            {
                self.current = batch;
                return Some(Event::Batch { from: connection, delivery, batch: &self.current });
            }
            if lane.items.is_empty()
                && let Some(reason) = lane.closed.take()
            {
                lane.is_over = true;
                return Some(Event::Disconnected { connection, reason });
            }
        }
        None
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let path = self.path(to).ok_or(NotSentError::NotConnected(to))?;
        let mut inner = self.net.0.borrow_mut();
        let limit = if delivery.fragments() { path.max_fragmented } else { path.max_datagram };
        if batch.len() > limit {
            return Err(NotSentError::TooLarge { size: batch.len(), limit });
        }
        if is_reliable(delivery) && path.backlog + batch.len() > inner.capacity {
            return Err(NotSentError::Full { backlog: path.backlog });
        }
        if let Some(lane) = inner.lanes.get_mut(&(to.0, !self.is_server())) {
            lane.items.push_back((delivery, batch.to_vec()));
        }
        Ok(())
    }

    fn pause(&mut self, connection: Connection) {
        let mut inner = self.net.0.borrow_mut();
        if let Some(lane) = inner.lanes.get_mut(&(connection.0, self.is_server())) {
            lane.is_paused = true;
        }
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        let mut inner = self.net.0.borrow_mut();
        if let Some(lane) = inner.lanes.get_mut(&(connection.0, self.is_server())) {
            lane.is_over = true;
            lane.items.clear();
        }
        if let Some(lane) = inner.lanes.get_mut(&(connection.0, !self.is_server())) {
            lane.closed.get_or_insert(reason.clone());
        }
    }

    fn handle_output(&mut self, _: Duration) {}

    fn path(&self, connection: Connection) -> Option<Path> {
        let inner = self.net.0.borrow();
        let own = inner.lanes.get(&(connection.0, self.is_server()))?;
        if own.is_over || own.closed.is_some() {
            return None;
        }
        let waiting = &inner.lanes.get(&(connection.0, !self.is_server()))?.items;
        let reliable = waiting.iter().filter(|(delivery, _)| is_reliable(*delivery));
        Some(Path {
            max_datagram: inner.mtu,
            max_fragmented: 1 << 20,
            backlog: reliable.map(|(_, batch)| batch.len()).sum(),
            ..Path::default()
        })
    }

    fn next_time(&self) -> Option<Duration> {
        None
    }
}
