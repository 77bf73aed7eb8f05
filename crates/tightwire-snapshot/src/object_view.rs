//! An object, as the relevancy function of the application sees it.

use core::fmt;

use super::Protocol;
use super::scratch::with_scratch;
use tightwire_core::schema::{Dynamic, ObjectId};
use tightwire_core::stream::{ReadError, Wire};

/// An object whose relevancy and priority for a receiver are asked for: see
/// [`Sender::snapshot_with`](crate::Sender::snapshot_with).
///
/// Its value is the state of the current tick, quantised, as receivers get it. Reading the value
/// allocates only if it has more than 256 bytes.
///
/// ```
/// use tightwire::{snapshot, Wire};
/// use tightwire::snapshot::{Leaving, ObjectView};
///
/// #[derive(Wire, Default)]
/// struct Tank {
///     #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
///     position: [f32; 3],
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Tank>().build()?;
/// let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
/// let client = sender.add_receiver(Leaving::Despawn);
/// sender.begin_tick(1);
/// for id in 0..9u32 {
///     sender.set(id, &Tank { position: [10.0 * id as f32, 0.0, 0.0] })?;
/// }
///
/// // Those within 35 metres, the nearest first.
/// let near = |object: ObjectView<'_>| {
///     let [x, ..] = object.get::<Tank>()?.position;
///     (x < 35.0).then_some(100 - x as u32)
/// };
/// receiver.handle_snapshot(sender.snapshot_with(client, 1000, near).unwrap())?;
/// assert_eq!(receiver.objects().count(), 4);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct ObjectView<'s> {
    /// The id of the object.
    pub id: ObjectId,
    /// Index of the object's class in the protocol, as [`Protocol::class_index`] returns it.
    pub class: u16,
    protocol: &'s Protocol,
    cells: &'s [u32],
}

impl<'s> ObjectView<'s> {
    pub(super) fn new(protocol: &'s Protocol, id: ObjectId, class: u16, cells: &'s [u32]) -> Self {
        Self { id, class, protocol, cells }
    }

    /// Reads the object into `value`; returns false if the object is no `T`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the value that was set is refused by `T` when it is read.
    pub fn read<T: Wire + 'static>(&self, value: &mut T) -> Result<bool, ReadError> {
        self.protocol.read_cells(self.class, self.cells, value)
    }

    /// Returns the object, if it is a `T`.
    #[must_use]
    pub fn get<T: Wire + Default + 'static>(&self) -> Option<T> {
        let mut value = T::default();
        self.read(&mut value).ok()?.then_some(value)
    }

    /// Returns the object as a tree of values, for classes without a Rust type. A tree allocates.
    ///
    /// ```
    /// # use tightwire::snapshot::{self, Leaving};
    /// # let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// # let mut sender = snapshot::Sender::new(&protocol);
    /// # let client = sender.add_receiver(Leaving::Despawn);
    /// sender.begin_tick(1);
    /// sender.set(7, &300u16)?;
    /// sender.snapshot_with(client, 1000, |object| {
    ///     assert_eq!(object.get_dynamic().unwrap().to_string(), "300");
    ///     Some(1)
    /// });
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get_dynamic(&self) -> Option<Dynamic> {
        let class = self.protocol.classes().get(usize::from(self.class))?;
        with_scratch(class.max_bytes, |room| {
            let packet = class.layout.packet_of(self.cells, room).ok()?;
            class.declared.schema.decode(packet).ok()
        })
    }
}

impl fmt::Debug for ObjectView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectView")
            .field("id", &self.id)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}
