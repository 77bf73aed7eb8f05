//! Iterators over the objects of a class.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::ids::Entries;
use super::{Playback, Receiver};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::Wire;

/// The objects of a [`Receiver`] that are a `T`, in the order of their ids:
/// [`Receiver::iter`] makes it.
///
/// ```
/// use tightwire::snapshot::{self, ReceiverIter};
///
/// struct Doors<'r> {
///     open: ReceiverIter<'r, bool>,
/// }
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
/// let receiver = snapshot::Receiver::new(&protocol);
/// assert_eq!(Doors { open: receiver.iter() }.open.count(), 0);
/// # Ok::<(), tightwire::snapshot::ProtocolError>(())
/// ```
pub struct ReceiverIter<'r, T> {
    receiver: &'r Receiver,
    objects: Objects<'r, T>,
}

/// The objects that a [`Playback`] shows and that are a `T`, in the order of their ids:
/// [`Playback::iter`] makes it.
///
/// ```
/// use tightwire::snapshot::{self, Playback, PlaybackConfig, PlaybackIter};
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
/// let playback = Playback::new(&protocol, PlaybackConfig::default());
/// let mut doors: PlaybackIter<'_, bool> = playback.iter();
/// assert!(doors.next().is_none());
/// # Ok::<(), tightwire::snapshot::ProtocolError>(())
/// ```
pub struct PlaybackIter<'p, T> {
    playback: &'p Playback,
    objects: Objects<'p, T>,
}

/// Objects of one class, for both iterators.
struct Objects<'o, T> {
    entries: Entries<'o>,
    /// The class of a `T`; `None` if there is none.
    class: Option<u16>,
    value: PhantomData<fn() -> T>,
}

impl<'r, T: 'static> ReceiverIter<'r, T> {
    pub(super) fn new(receiver: &'r Receiver) -> Self {
        let class = receiver.protocol().class_index::<T>();
        let entries = receiver.entries();
        Self { receiver, objects: Objects { entries, class, value: PhantomData } }
    }
}

impl<'p, T: 'static> PlaybackIter<'p, T> {
    pub(super) fn new(playback: &'p Playback) -> Self {
        let class = playback.protocol().class_index::<T>();
        let entries = playback.entries();
        Self { playback, objects: Objects { entries, class, value: PhantomData } }
    }
}

impl<T> Objects<'_, T> {
    /// The next object of the class that can be read.
    fn next(
        &mut self,
        class_at: impl Fn(u32) -> Option<u16>,
        get: impl Fn(ObjectId) -> Option<T>,
    ) -> Option<(ObjectId, T)> {
        let class = self.class?;
        self.entries.find_map(|(id, place)| {
            class_at(place).filter(|at| *at == class)?;
            Some((id, get(id)?))
        })
    }
}

impl<T: Wire + Default + 'static> Iterator for ReceiverIter<'_, T> {
    type Item = (ObjectId, T);

    fn next(&mut self) -> Option<Self::Item> {
        let receiver = self.receiver;
        self.objects.next(|place| receiver.class_at(place), |id| receiver.get(id))
    }
}

impl<T: Wire + Default + 'static> FusedIterator for ReceiverIter<'_, T> {}

impl<T: Wire + Default + 'static> Iterator for PlaybackIter<'_, T> {
    type Item = (ObjectId, T);

    fn next(&mut self) -> Option<Self::Item> {
        let playback = self.playback;
        self.objects.next(|place| playback.class_at(place), |id| playback.get(id))
    }
}

impl<T: Wire + Default + 'static> FusedIterator for PlaybackIter<'_, T> {}

impl<T> fmt::Debug for ReceiverIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiverIter").field("class", &self.objects.class).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for PlaybackIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaybackIter").field("class", &self.objects.class).finish_non_exhaustive()
    }
}
