//! Sizes of fields over many packets.
//!
//! A tally walks a schema on a stream that counts; summing up traces would allocate text for every
//! field.

mod kind;
mod place;
mod stream;

pub use place::Place;

use alloc::string::String;

use super::Identity;
use super::form::check_end;
use crate::bytes::Packing;
use crate::schema::{Dynamic, ReadScratch};
use crate::stream::{ByteStream, ReadError, Reading, Value};
use place::Places;
use stream::TallyStream;

/// Number of bits that each field takes, over many packets: where the bandwidth goes.
///
/// A [`Trace`](crate::stream::Trace) shows that for one packet, with text for every field. A tally
/// has one place for each field of the layout, with all elements of an array together, so that it
/// is faster, and its memory does not grow with the number of packets.
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
    /// Values of the last packet: kept for its memory, and for conditions on fields.
    scratch: ReadScratch,
    was_accepted: bool,
    /// Upper bound for the values that packets had since the memory was last freed.
    scratch_values: u64,
}

impl Tally {
    /// Creates a tally of no packets.
    #[must_use]
    pub fn new(identity: &Identity) -> Self {
        let schema = identity.schema();
        Self {
            identity: identity.clone(),
            places: Places::new(schema.name(), schema.root()),
            packets: 0,
            scratch: ReadScratch::default(),
            was_accepted: false,
            scratch_values: 0,
        }
    }

    /// Adds a packet, without the protection of its datagram. A refused packet adds nothing.
    ///
    /// # Errors
    ///
    /// [`ReadError`] for anything but a complete valid packet: [`Identity::explain`] says more.
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

    /// Frees the memory from time to time. Every list keeps its own memory, and malicious packets
    /// could fill one list after the other.
    fn limit_scratch(&mut self, packet: &[u8]) {
        self.scratch_values += packet.len() as u64 * 32 + (1 << 14);
        if self.scratch_values > 1 << 20 {
            self.scratch = ReadScratch::default();
            self.scratch_values = 0;
        }
    }

    /// The last packet as a tree; `None` if it was refused. Of lists the tree has only the length:
    /// their elements are `()`, unless a condition of the schema compares lists.
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

    /// Number of packets that were added.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Iterates over the fields that packets had so far, and their groups, each group before its
    /// contents. The first place is the packet.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.places.iter()
    }

    /// The place with this [index](Place::index); `None` if there is none.
    #[must_use]
    pub fn place(&self, index: usize) -> Option<Place<'_>> {
        self.places.get(index)
    }

    /// Kinds of packets so far, by the names of messages or variants. The first is the name of the
    /// layout, for packets of no other kind.
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

    /// Index in [`kinds`](Self::kinds) of the last packet's kind, as far as the packet was read.
    #[must_use]
    pub fn kind(&self) -> usize {
        self.places.kind.unwrap_or(0)
    }

    /// The field at which the last packet was refused; the packet itself if no field was refused.
    #[must_use]
    pub fn refused_at(&self) -> Place<'_> {
        self.places.refused_at()
    }

    /// Keeps the values of the last packet for the fields whose path contains these steps:
    /// `Player.health` matches `Message.Player.health`, and `health` also matches
    /// `players[].health`.
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

    /// The [watched](Self::watch) values of the last packet, each with the [index](Place::index) of
    /// its field.
    #[must_use]
    pub fn watched(&self) -> &[(usize, Value)] {
        &self.places.watched
    }
}
