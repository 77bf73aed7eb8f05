//! The limits of the two ends, and the network between them.

use core::time::Duration;

use crate::link::LinkConfig;
use crate::message::Delivery;

/// How the two ends of an [`InProcess`](crate::transport::InProcess) are connected, and how much they keep.
///
/// ```
/// use std::time::Duration;
/// use tightwire::link::LinkConfig;
/// use tightwire::transport::InProcessConfig;
///
/// let link = LinkConfig { latency: Duration::from_millis(40), loss: 0.05, ..LinkConfig::default() };
/// let config = InProcessConfig { link, ..InProcessConfig::default() };
/// assert_eq!(config.max_datagram, 1200);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InProcessConfig {
    /// The network, the same in both directions. The default is perfect.
    pub link: LinkConfig,
    /// The largest batch of a delivery that does not fragment, in bytes: at most 65,537, since its size
    /// has 16 bits. The others are sent in pieces of this size.
    pub max_datagram: usize,
    /// The largest batch of a delivery that fragments, in bytes.
    pub max_fragmented: usize,
    /// How many bytes of reliable batches can wait to be sent and acknowledged, 64 bytes more for each
    /// counted, and as many of unreliable ones to be sent. No batch can be larger.
    pub backlog: usize,
    /// How many bytes of reliable batches can wait to be polled, 64 bytes more for each counted, and as
    /// many of unreliable ones. Of the former then no more are accepted, of the latter the oldest are
    /// dropped.
    pub receive_limit: usize,
    /// How long nothing has to come until the connection is over. An idle one sends a frame in each
    /// tenth of that.
    pub timeout: Duration,
}

impl Default for InProcessConfig {
    fn default() -> Self {
        Self {
            link: LinkConfig::default(),
            max_datagram: 1200,
            max_fragmented: 1 << 20,
            backlog: 4 << 20,
            receive_limit: 4 << 20,
            timeout: Duration::from_secs(10),
        }
    }
}

impl InProcessConfig {
    /// A size of 16 bits, and what it can say.
    const MAX_DATAGRAM: usize = 2 + u16::MAX as usize;

    /// With limits that can be kept.
    pub(super) fn checked(mut self) -> Self {
        self.max_datagram = self.max_datagram.min(Self::MAX_DATAGRAM).clamp(1, self.backlog.max(1));
        self.max_fragmented = self.max_fragmented.clamp(self.max_datagram, self.backlog.max(1));
        // Something must have room, or nothing would ever come.
        self.receive_limit = self.receive_limit.max(self.max_datagram + 64);
        self
    }

    /// The largest batch of a delivery.
    pub(super) fn limit(&self, delivery: Delivery) -> usize {
        if delivery.fragments() { self.max_fragmented } else { self.max_datagram }
    }

    /// How often an idle connection sends something.
    pub(super) fn keep_alive(&self) -> Duration {
        self.timeout / 10
    }
}
