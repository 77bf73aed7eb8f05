//! A network of one server and many clients in a process, with latency and loss, which allocates
//! nothing once its buffers have grown.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};

use crate::arena::Rng;

/// One direction of a connection.
struct Lane {
    /// Unreliable batches, and reliable ones.
    queues: [VecDeque<Item>; 2],
    spare: Vec<Vec<u8>>,
}

/// Bytes of the largest batch here, and number of batches of a direction: all buffers exist from the
/// start, so that only the game's own allocations are counted.
const BATCH: usize = 4096;
const BATCHES: usize = 128;

impl Lane {
    fn new() -> Self {
        let spare = (0..BATCHES).map(|_| Vec::with_capacity(BATCH)).collect();
        Self { queues: [0; 2].map(|_| VecDeque::with_capacity(BATCHES)), spare }
    }
}

struct Item {
    at: Duration,
    delivery: Delivery,
    batch: Vec<u8>,
}

struct Hub {
    /// Lanes to the server and to the client, of each connection.
    lanes: Vec<[Lane; 2]>,
    rng: Rng,
    loss_percent: u64,
}

/// An end of the network: the server, or a client.
pub(crate) struct HubEnd {
    hub: Rc<RefCell<Hub>>,
    client: Option<usize>,
    /// Number of connections that were announced.
    announced: usize,
    now: Duration,
    current: Vec<u8>,
}

const LATENCY: Duration = Duration::from_millis(50);

/// Makes the ends of a server, and of its clients.
pub(crate) fn hub(clients: usize, loss_percent: u64) -> (HubEnd, Vec<HubEnd>) {
    let lanes = (0..clients).map(|_| [0; 2].map(|_| Lane::new())).collect();
    let hub = Rc::new(RefCell::new(Hub { lanes, rng: Rng::new(3), loss_percent }));
    let end = |client| HubEnd {
        hub: hub.clone(),
        client,
        announced: client.unwrap_or(0),
        now: Duration::ZERO,
        current: Vec::with_capacity(BATCH),
    };
    (end(None), (0..clients).map(|client| end(Some(client))).collect())
}

impl Transport for HubEnd {
    fn handle_input(&mut self, now: Duration) {
        self.now = now;
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let mut hub = self.hub.borrow_mut();
        let own = self.client.map_or(0..hub.lanes.len(), |client| client..client + 1);
        if self.announced < own.end {
            let connection = Connection(self.announced as u64);
            self.announced += 1;
            return Some(Event::Connected { connection, address: None });
        }
        let side = usize::from(self.client.is_some());
        for connection in own {
            let Lane { queues, spare } = &mut hub.lanes[connection][side];
            for queue in queues {
                if queue.front().is_none_or(|item| item.at > self.now) {
                    continue;
                }
                let Some(item) = queue.pop_front() else { continue };
                spare.push(std::mem::replace(&mut self.current, item.batch));
                let from = Connection(connection as u64);
                return Some(Event::Batch { from, delivery: item.delivery, batch: &self.current });
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
        let mut hub = self.hub.borrow_mut();
        let Hub { lanes, rng, loss_percent } = &mut *hub;
        let is_lost = rng.below(100) < *loss_percent;
        let jitter = Duration::from_millis(rng.below(15));
        let is_reliable = !matches!(delivery, Delivery::Unreliable | Delivery::UnreliableSequenced);
        if is_lost && !is_reliable {
            return Ok(());
        }
        // A lost reliable batch arrives a round trip later, and those behind it wait.
        let again = if is_lost { 3 * LATENCY } else { Duration::ZERO };
        let Lane { queues, spare } = &mut lanes[to.0 as usize][usize::from(self.client.is_none())];
        let queue = &mut queues[usize::from(is_reliable)];
        let before = queue.back().map_or(Duration::ZERO, |item| item.at);
        let mut copy = spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(batch);
        let at = (self.now + LATENCY + jitter + again).max(before);
        queue.push_back(Item { at, delivery, batch: copy });
        Ok(())
    }

    fn pause(&mut self, _: Connection) {}

    fn close(&mut self, connection: Connection, reason: &Reason) {
        panic!("{connection:?} is closed: {reason}");
    }

    fn handle_output(&mut self, _: Duration) {}

    fn path(&self, _: Connection) -> Option<Path> {
        Some(Path {
            max_datagram: 1200,
            max_fragmented: 1 << 20,
            round_trip: 2 * LATENCY,
            datagram_room: 1 << 16,
            ..Path::default()
        })
    }

    fn next_time(&self) -> Option<Duration> {
        None
    }
}
