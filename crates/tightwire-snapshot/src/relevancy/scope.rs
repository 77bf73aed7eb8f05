//! Scopes of objects, and the configuration of relevancy.

/// The receivers to which an object is relevant. An object is always relevant to its
/// [owner](crate::Sender::set_owner) besides.
///
/// ```
/// use tightwire::{snapshot, Wire};
/// use tightwire::snapshot::{Leaving, RelevancyConfig, Scope};
///
/// #[derive(Wire, Default)]
/// struct Tank {
///     #[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)]
///     position: [f32; 2],
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Tank>().build()?;
/// let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
/// sender.set_relevancy(RelevancyConfig { radius: 50.0, ..RelevancyConfig::default() });
/// sender.set_class_scope(protocol.class_index::<Tank>().unwrap(), Scope::Near);
///
/// let client = sender.add_receiver(Leaving::Despawn);
/// sender.begin_tick(1);
/// for place in 0..10u8 {
///     sender.spawn(&Tank { position: [20.0 * f32::from(place), 0.0] })?;
/// }
/// sender.set_owner(0, Some(client));
/// receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
/// assert!(receiver.objects().map(|(id, _)| id.0).eq([0, 1, 2]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Scope {
    /// Relevant to every receiver: the default.
    #[default]
    Always,
    /// Relevant to receivers with a [viewer](crate::Sender::set_viewers) within the
    /// [radius](RelevancyConfig::radius). An object without a position is relevant to nobody.
    Near,
    /// Relevant to receivers in this room.
    Room(RoomId),
    /// Relevant to receivers in this room with a viewer within the radius.
    NearInRoom(RoomId),
    /// Relevant to receivers of this team.
    Team(TeamId),
    /// Relevant to the owner only.
    Owner,
    /// Decided by the function that is given to
    /// [`snapshot_with`](crate::Sender::snapshot_with); relevant to every receiver that gets a
    /// snapshot without such a function.
    Custom,
}

/// Number of a room: a set of objects that receivers can be in, such as a floor, a match, or an
/// instance of a dungeon.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RoomId(pub u32);

/// Number of a team: a set of receivers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TeamId(pub u32);

/// Configuration of relevancy by distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RelevancyConfig {
    /// Distance from a viewer up to which objects are relevant, in the unit of positions; at
    /// least 0.001. Default: 100.0.
    pub radius: f32,
    /// An object that is relevant stays so up to this times the radius, so that one at the border
    /// does not come and go; at least 1. Default: 1.15.
    pub leave_factor: f32,
    /// Number of ticks within which a change of distance is noticed. Receivers have their turn in
    /// different ticks. At least 1. Default: 2.
    pub refresh_interval: u32,
}

impl Default for RelevancyConfig {
    fn default() -> Self {
        Self { radius: 100.0, leave_factor: 1.15, refresh_interval: 2 }
    }
}

impl RelevancyConfig {
    /// Returns the configuration with every number at least at its least.
    pub(super) fn clamped(self) -> Self {
        // `max` returns the other one of NaN.
        Self {
            radius: self.radius.max(0.001),
            leave_factor: self.leave_factor.max(1.0),
            refresh_interval: self.refresh_interval.max(1),
        }
    }
}
