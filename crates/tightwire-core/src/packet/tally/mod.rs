//! Where the bytes of many packets go.
//!
//! A tally is the walk of a schema on a stream that counts; summing up traces would make a text for
//! every field.

mod kind;
mod place;
mod stream;

pub use place::Place;

use alloc::string::String;

use super::Identity;
use super::form::check_end;
use crate::bytes::Packing;
use crate::schema::{Dynamic, Skimmed};
use crate::stream::{ByteStream, ReadError, Reading, Value};
use place::Places;
use stream::TallyStream;

/// How many bits each field takes, over many packets: where the bytes go.
///
/// A [`Trace`](crate::stream::Trace) answers that for one packet, with a text for every field. This has one
/// place for each field of the layout, all elements of an array together, so that it is faster, and its
/// memory does not grow with the packets.
///
/// ```
/// use tightwire::Wire;
/// use tightwire::packet::{Identity, Protection, Tally};
/// use tightwire::schema::Schema;
///
/// #[derive(Wire)]
/// struct Player {
///     #[wire(range = 0..=100)]
///     health: u8,
///     #[wire(max_len = 3)]
///     items: Vec<u16>,
/// }
///
/// let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<Player>());
/// let mut tally = Tally::new(&identity);
/// tally.count(&[0x64, 0x01, 0x02, 0x00, 0x00, 0x00])?;
/// tally.count(&[0x65, 0x01]).unwrap_err();
///
/// assert_eq!(tally.packets(), 1);
/// assert_eq!(tally.refused_at().path(), "Player.health");
/// let fields: Vec<_> = tally.places().map(|place| (place.path(), place.count(), place.bits())).collect();
/// assert_eq!(fields[1..], [
///     ("Player.health".into(), 1, 7),
///     ("Player.items".into(), 0, 0),
///     ("Player.items.len".into(), 1, 2),
///     ("Player.items[]".into(), 2, 32),
/// ]);
/// # Ok::<(), tightwire::stream::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tally {
    identity: Identity,
    places: Places,
    packets: u64,
    /// What the last packet was read into, for its memory, and for conditions on fields.
    scratch: Skimmed,
    was_accepted: bool,
    /// The most values that the packets can have had since the memory was given back.
    scratch_values: u64,
}

impl Tally {
    /// Of no packets yet.
    #[must_use]
    pub fn new(identity: &Identity) -> Self {
        let schema = identity.schema();
        Self {
            identity: identity.clone(),
            places: Places::new(schema.name(), schema.root()),
            packets: 0,
            scratch: Skimmed::default(),
            was_accepted: false,
            scratch_values: 0,
        }
    }

    /// Adds a packet, which is a datagram without its protection. One that is refused adds nothing.
    ///
    /// # Errors
    ///
    /// For anything but a whole valid packet: [`Identity::explain`] says more.
    pub fn count(&mut self, packet: &[u8]) -> Result<(), ReadError> {
        self.places.begin_packet();
        self.was_accepted = false;
        self.limit_scratch(packet);
        let stream = self.identity.form().read_stream(packet);
        match self.identity.packing() {
            Packing::Bits => self.read(stream),
            Packing::Bytes => self.read(ByteStream::new(stream)),
        }?;
        self.places.accept();
        self.packets += 1;
        self.was_accepted = true;
        Ok(())
    }

    fn read<S: Reading>(&mut self, stream: S) -> Result<(), ReadError> {
        let mut stream = TallyStream::new(stream, &mut self.places);
        self.identity.schema().skim(&mut self.scratch, &mut stream)?;
        check_end(&mut stream)?;
        stream.into_inner().end()
    }

    /// Lists keep their memory, each for itself: hostile packets could fill one after the other.
    fn limit_scratch(&mut self, packet: &[u8]) {
        self.scratch_values += packet.len() as u64 * 32 + (1 << 14);
        if self.scratch_values > 1 << 20 {
            self.scratch = Skimmed::default();
            self.scratch_values = 0;
        }
    }

    /// The last packet as a tree, if it was not refused. Of lists only the length is in it: their
    /// elements are nothing.
    ///
    /// ```
    /// # use tightwire::packet::{Identity, Protection, Tally};
    /// # use tightwire::schema::Schema;
    /// let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<[u8; 3]>());
    /// let mut tally = Tally::new(&identity);
    /// tally.count(&[7, 8, 9])?;
    /// assert_eq!(tally.last().unwrap().to_string(), "[(), (), ()]");
    /// # Ok::<(), tightwire::stream::ReadError>(())
    /// ```
    #[must_use]
    pub fn last(&self) -> Option<&Dynamic> {
        self.was_accepted.then_some(&self.scratch.tree)
    }

    /// The packets that were added.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The fields that packets had so far, and the groups that they are in, each group before what is in
    /// it. The first is the packet.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.places.iter()
    }

    /// The place with this [number](Place::index).
    #[must_use]
    pub fn place(&self, index: usize) -> Option<Place<'_>> {
        self.places.get(index)
    }

    /// What packets there were, by the names of messages or variants. The first is the name of the
    /// layout, for packets that are nothing else.
    ///
    /// ```
    /// use tightwire::Wire;
    /// use tightwire::packet::{Identity, Protection, Tally};
    /// use tightwire::schema::Schema;
    ///
    /// #[derive(Wire)]
    /// enum Packet {
    ///     Join,
    ///     Say(#[wire(max_len = 15)] String),
    /// }
    ///
    /// let identity = Identity::new("chat", "1.0", Protection::None, Schema::of::<Packet>());
    /// let mut tally = Tally::new(&identity);
    /// tally.count(&[0b00010_1, b'h', b'i'])?;
    /// assert_eq!(tally.kinds()[tally.kind()], "Say");
    /// # Ok::<(), tightwire::stream::ReadError>(())
    /// ```
    #[must_use]
    pub fn kinds(&self) -> &[String] {
        &self.places.kinds
    }

    /// Which of [those](Self::kinds) the last packet is, as far as it was read.
    #[must_use]
    pub fn kind(&self) -> usize {
        self.places.kind.unwrap_or(0)
    }

    /// The field at which the last packet was refused; if none was to blame, the packet.
    #[must_use]
    pub fn refused_at(&self) -> Place<'_> {
        self.places.refused_at()
    }

    /// From now on keeps the values of the last packet in the fields whose path has these steps:
    /// `Player.health` is in `Message.Player.health`, and `health` also in `players[].health`.
    ///
    /// ```
    /// # use tightwire::packet::{Identity, Protection, Tally};
    /// # use tightwire::schema::Schema;
    /// # use tightwire::stream::Value;
    /// let identity = Identity::new("arena", "1.0", Protection::None, Schema::of::<[bool; 2]>());
    /// let mut tally = Tally::new(&identity);
    /// tally.watch("packet");
    /// tally.count(&[0b10])?;
    /// let values: Vec<_> = tally.watched().iter().map(|(_, value)| value).collect();
    /// assert_eq!(values, [&Value::Bool(false), &Value::Bool(true)]);
    /// # Ok::<(), tightwire::stream::ReadError>(())
    /// ```
    pub fn watch(&mut self, steps: &str) {
        self.places.watch(steps);
    }

    /// The values of the last packet that are [watched](Self::watch), each with the
    /// [number](Place::index) of its field.
    #[must_use]
    pub fn watched(&self) -> &[(usize, Value)] {
        &self.places.watched
    }
}
