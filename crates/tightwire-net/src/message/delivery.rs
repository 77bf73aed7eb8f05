//! Deliveries, stages and routes of messages.

use super::Bound;
use tightwire_core::Wire;
use tightwire_core::schema::ObjectId;

/// The promise of the transport for a batch. The transport carries the delivery beside the batch,
/// or knows it otherwise: the batch does not have it. It is
/// [`Wire`](trait@tightwire_core::stream::Wire), in 3 bits.
///
/// ```
/// use tightwire::Delivery;
///
/// let mut buffer = [0; 8];
/// let sent = tightwire::encode(&Delivery::Reliable, &mut buffer)?;
/// assert_eq!(tightwire::decode::<Delivery>(sent)?, Delivery::Reliable);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Wire, Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Delivery {
    /// May be lost, duplicated, or come in any order.
    Unreliable,
    /// May be lost; a late batch is dropped, so the newest is the last to come.
    UnreliableSequenced,
    /// Comes once, in any order.
    Reliable,
    /// Comes once, in the order of sending.
    #[default]
    ReliableOrdered,
    /// Comes once, in the order of sending, and may be larger than a datagram.
    ReliableOrderedFragmented,
}

/// Part of a frame at which messages are handled. Stages are ordered as in a frame.
#[derive(Wire, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[expect(missing_docs, reason = "named after the moment")]
pub enum Stage {
    Initialization,
    EarlyUpdate,
    FixedUpdate,
    PreUpdate,
    #[default]
    Update,
    PreLateUpdate,
    PostLateUpdate,
}

/// Delivery, channel, stage and binding of a message. A [`Delivery`] alone is a route on channel 0
/// to [`Stage::Update`].
///
/// ```
/// use tightwire::{Delivery, Stage};
/// use tightwire::message::Route;
///
/// let route = Route::from(Delivery::Unreliable).on_channel(3).at(Stage::FixedUpdate);
/// assert_eq!((route.delivery, route.channel, route.stage), (Delivery::Unreliable, 3, Stage::FixedUpdate));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Route {
    /// Promise of the transport.
    pub delivery: Delivery,
    /// A number for the application's own use, independent of the delivery.
    pub channel: u8,
    /// Stage at which the receiver handles the message.
    pub stage: Stage,
    /// Tick or object that the message belongs to; `None` if it is handled as soon as its stage
    /// runs.
    pub bound: Option<Bound>,
}

impl Delivery {
    /// All deliveries, in the order of their numbers on the wire.
    ///
    /// ```
    /// use tightwire::Delivery;
    ///
    /// assert_eq!(Delivery::ALL[2], Delivery::Reliable);
    /// ```
    pub const ALL: [Self; 5] = [
        Self::Unreliable,
        Self::UnreliableSequenced,
        Self::Reliable,
        Self::ReliableOrdered,
        Self::ReliableOrderedFragmented,
    ];

    /// Whether each batch arrives, and arrives once.
    ///
    /// ```
    /// use tightwire::Delivery;
    ///
    /// assert!(Delivery::ReliableOrdered.is_reliable());
    /// assert!(!Delivery::UnreliableSequenced.is_reliable());
    /// ```
    #[must_use]
    pub const fn is_reliable(self) -> bool {
        !matches!(self, Self::Unreliable | Self::UnreliableSequenced)
    }

    /// Whether batches may be larger than a datagram: then sizes have 32 bits.
    #[must_use]
    pub const fn fragments(self) -> bool {
        matches!(self, Self::ReliableOrderedFragmented)
    }
}

impl Stage {
    /// All stages, in the order of a frame.
    ///
    /// ```
    /// use tightwire::Stage;
    ///
    /// assert!(Stage::ALL.is_sorted());
    /// ```
    pub const ALL: [Self; 7] = [
        Self::Initialization,
        Self::EarlyUpdate,
        Self::FixedUpdate,
        Self::PreUpdate,
        Self::Update,
        Self::PreLateUpdate,
        Self::PostLateUpdate,
    ];
}

impl Route {
    /// Returns the route on another channel.
    #[must_use]
    pub const fn on_channel(mut self, channel: u8) -> Self {
        self.channel = channel;
        self
    }

    /// Returns the route to another stage.
    #[must_use]
    pub const fn at(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }

    /// Returns the route of a message that belongs to a tick: a receiver that plays the ticks of
    /// this side back handles it when it shows that tick. Costs 2 bytes.
    ///
    /// A receiver that does not, such as one with a handler, handles it at once.
    ///
    /// ```
    /// use tightwire::Delivery;
    /// use tightwire::message::{Bound, Route};
    ///
    /// let route = Route::from(Delivery::Unreliable).at_tick(70_000);
    /// assert_eq!(route.bound, Some(Bound::Tick(70_000_u32 as u16)));
    /// ```
    #[must_use]
    pub const fn at_tick(mut self, tick: u32) -> Self {
        self.bound = Some(Bound::Tick(tick as u16));
        self
    }

    /// Returns the route of a message about an object: a receiver that plays this side's world back
    /// handles it once it shows the object. Costs 3 bytes.
    ///
    /// A receiver that does not, such as one with a handler, handles it at once.
    ///
    /// ```
    /// use tightwire::Delivery;
    /// use tightwire::message::{Bound, Route};
    ///
    /// let route = Route::from(Delivery::Reliable).with_object(7.into());
    /// assert_eq!(route.bound, Some(Bound::Object(7.into())));
    /// ```
    #[must_use]
    pub const fn with_object(mut self, object: ObjectId) -> Self {
        self.bound = Some(Bound::Object(object));
        self
    }
}

impl From<Delivery> for Route {
    fn from(delivery: Delivery) -> Self {
        Self { delivery, ..Self::default() }
    }
}
