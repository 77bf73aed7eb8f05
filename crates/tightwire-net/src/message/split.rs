//! Splitting of a batch into its messages.

use core::ops::Range;

use tightwire_core::Wire;

use super::bound::STAGE;
use super::header::{Header, Sizes};
use super::registry::FIRST;
use super::{Bound, Delivery, MessageError};
use tightwire_core::stream::encode;

/// Returns the messages of a batch, in the form that a transport carries, without decoding them:
/// for tools that record or count.
///
/// Nothing follows the first fault, since the start of the next message is then unknown.
///
/// ```
/// use tightwire::Delivery;
/// use tightwire::message::{messages_in, MessageError};
///
/// let batch = [11, 0, 16, 4, 1, 0, 2, 7, 17, 0, 0, 0, 0];
/// let messages: Result<Vec<_>, _> = messages_in(&batch, Delivery::Reliable).collect();
/// let messages = messages.unwrap();
/// assert_eq!((messages[0].number, messages[0].channel, messages[0].body), (16, 2, &[7][..]));
/// assert_eq!((messages[1].number, messages[1].body), (17, &[][..]));
///
/// let mut cut = messages_in(&batch[..12], Delivery::Reliable);
/// assert_eq!(cut.next(), Some(Err(MessageError::BatchSize { declared: 11, actual: 10 })));
/// assert_eq!(cut.next(), None);
/// ```
#[must_use]
pub fn messages_in(batch: &[u8], delivery: Delivery) -> MessagesIn<'_> {
    MessagesIn { batch, delivery, split: Some(Split::new(batch, Sizes::of(delivery))) }
}

/// Iterator over the messages of a batch: see [`messages_in`].
///
/// ```
/// use tightwire::Delivery;
/// use tightwire::message::messages_in;
///
/// let batch = [5, 0, 0, 0, 0, 0, 0];
/// assert_eq!(messages_in(&batch, Delivery::Unreliable).count(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct MessagesIn<'b> {
    batch: &'b [u8],
    delivery: Delivery,
    /// `None` after a fault.
    split: Option<Result<Split<'b>, MessageError>>,
}

/// A message in a batch: its header, and its encoded body.
///
/// ```
/// use tightwire::{Delivery, Stage};
/// use tightwire::message::messages_in;
///
/// let batch = [6, 0, 16, 4, 1, 0, 0, 7];
/// let message = messages_in(&batch, Delivery::Unreliable).next().unwrap()?;
/// assert_eq!(message.stage, Stage::Update as u8);
/// assert!(!message.is_internal());
/// # Ok::<(), tightwire::message::MessageError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RawMessage<'b> {
    /// Number of its type.
    pub number: u8,
    /// Index of its stage in [`Stage::ALL`](crate::message::Stage::ALL), if there is such a stage.
    pub stage: u8,
    /// Channel of the message.
    pub channel: u8,
    /// Tick or object that it is bound to; `None` if it is not.
    pub bound: Option<Bound>,
    /// Delivery of its batch.
    pub delivery: Delivery,
    /// The encoded body.
    pub body: &'b [u8],
}

impl RawMessage<'_> {
    /// Bytes of the longest body that [`write_record`](Self::write_record) records whole.
    pub const MAX_RECORDED: usize = 65_000;

    /// Name of the field of a capture's schema for the start of a longer message: the `number` of
    /// its type, the `bytes` of its body, and the `beginning` of these.
    ///
    /// ```
    /// use tightwire::{Message, Wire};
    /// use tightwire::message::{Messenger, MessengerConfig, RawMessage};
    /// use tightwire::stream::Shape;
    ///
    /// #[derive(Wire, Message, Default)]
    /// struct Jump;
    ///
    /// let builder = Messenger::<()>::builder(MessengerConfig::default()).send_only::<Jump>();
    /// let schema = builder.capture_schema()?;
    /// let Shape::Struct { fields, .. } = schema.root() else { unreachable!() };
    /// assert_eq!(&*fields.last().unwrap().name, RawMessage::CUT);
    /// # Ok::<(), tightwire::schema::SchemaError>(())
    /// ```
    pub const CUT: &'static str = "cut message";

    /// Whether the message is one of the session itself, and not of the application: see
    /// [`InternalBatch`](crate::message::InternalBatch).
    ///
    /// ```
    /// use tightwire::message::{messages_in, InternalBatch};
    ///
    /// let mut batch = Vec::new();
    /// InternalBatch::write(3, &300_u16, &mut batch)?;
    /// let message = messages_in(&batch, InternalBatch::DELIVERY).next().unwrap()?;
    /// assert!(message.is_internal());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.number < FIRST
    }

    /// Replaces `out` by the message as a capture holds it, which
    /// [`Messenger::capture_schema`](crate::message::Messenger::capture_schema) describes: a header
    /// of 5 bytes, whatever the delivery, and the body. Returns false if the body has more than
    /// [`MAX_RECORDED`](Self::MAX_RECORDED) bytes: `out` is then a record of the
    /// [beginning](Self::CUT).
    ///
    /// ```
    /// use tightwire::Delivery;
    /// use tightwire::message::messages_in;
    ///
    /// // Its size has 32 bits here.
    /// let batch = [8, 0, 0, 0, 16, 4, 1, 0, 0, 0, 2, 7];
    /// let message = messages_in(&batch, Delivery::ReliableOrderedFragmented).next().unwrap()?;
    /// let mut record = Vec::new();
    /// assert!(message.write_record(&mut record));
    /// assert_eq!(record, [16, 4, 1, 0, 2, 7]);
    /// # Ok::<(), tightwire::message::MessageError>(())
    /// ```
    pub fn write_record(&self, out: &mut Vec<u8>) -> bool {
        let &Self { number, stage, channel, bound, body, .. } = self;
        out.clear();
        out.resize(Sizes::SMALL.header(), 0);
        let is_whole = body.len() <= Self::MAX_RECORDED;
        // A binding is whole numbers here, since fields of a schema are.
        match bound {
            Some(Bound::Tick(tick)) => out.extend_from_slice(&tick.to_le_bytes()),
            Some(Bound::Object(object)) => out.extend_from_slice(&object.0.to_le_bytes()),
            None => {}
        }
        match is_whole {
            true => out.extend_from_slice(body),
            false => CutMessage::new(number, body).append_to(out),
        }
        let stage = stage | Bound::kind_bits(bound);
        let number = if is_whole { number } else { CUT_NUMBER };
        let size = (out.len() - Sizes::SMALL.header()) as u32;
        Sizes::SMALL.put_header(out, Header { number, stage, size, channel });
        is_whole
    }
}

/// Message number of records that are not whole: one of the session's own numbers, which are not
/// recorded.
pub(super) const CUT_NUMBER: u8 = FIRST - 1;

/// The recorded start of a long message. Every field is whole bytes, and so has the same form in
/// either packing.
#[derive(Wire)]
pub(super) struct CutMessage {
    number: u8,
    bytes: u32,
    #[wire(max_len = 0xffff)]
    beginning: Vec<u8>,
}

impl CutMessage {
    /// Bytes before the start of the message.
    const HEAD: usize = 7;

    fn new(number: u8, body: &[u8]) -> Self {
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let kept = body.len().min(RawMessage::MAX_RECORDED - Self::HEAD);
        let beginning = body.get(..kept).unwrap_or_default().to_vec();
        Self { number, bytes, beginning }
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        // Writers need whole words.
        out.resize(start + Self::HEAD + self.beginning.len() + 8, 0);
        let space = out.get_mut(start..).unwrap_or_default();
        let length = encode(self, space).map_or(0, <[u8]>::len);
        out.truncate(start + length);
    }
}

impl<'b> Iterator for MessagesIn<'b> {
    type Item = Result<RawMessage<'b>, MessageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.split {
            None => return None,
            Some(Err(fault)) => Err(*fault),
            Some(Ok(split)) => split.next()?.map_err(|broken| broken.fault),
        };
        if next.is_err() {
            self.split = None;
        }
        Some(next.map(|(Header { number, stage, channel, .. }, content)| {
            let content = self.batch.get(content).unwrap_or_default();
            // With a malformed binding, the stage is one that does not exist.
            let bound = Bound::read(stage, content).unwrap_or_default();
            let stage = if bound.is_some() { stage & STAGE } else { stage };
            let body = content.get(Bound::size_of(bound)..).unwrap_or_default();
            RawMessage { number, stage, channel, bound, delivery: self.delivery, body }
        }))
    }
}

/// Iterator over the headers of a batch's messages, with the positions of their bodies. It must not
/// be used after a fault.
#[derive(Clone, Debug)]
pub(super) struct Split<'b> {
    batch: &'b [u8],
    sizes: Sizes,
    /// Start of the next message, and of the one before it.
    at: usize,
    last: usize,
}

/// The fault that ends a batch, and the number of the message that has it.
pub(super) struct BatchFault {
    pub(super) fault: MessageError,
    pub(super) number: Option<u8>,
}

impl From<MessageError> for BatchFault {
    fn from(fault: MessageError) -> Self {
        Self { fault, number: None }
    }
}

impl<'b> Split<'b> {
    /// Checks the size of a batch, and that it is not empty.
    pub(super) fn new(batch: &'b [u8], sizes: Sizes) -> Result<Self, MessageError> {
        let nothing = MessageError::NoMessages;
        let (size, content) = batch.split_at_checked(sizes.batch()).ok_or(nothing)?;
        let (declared, actual) = (sizes.batch_of(size).map_err(|_| nothing)?, content.len());
        if declared != actual {
            return Err(MessageError::BatchSize { declared, actual });
        }
        if actual == 0 {
            return Err(nothing);
        }
        Ok(Self { batch, sizes, at: sizes.batch(), last: sizes.batch() })
    }

    /// Skips the messages that follow the last one and have its header, at most `most`, and returns
    /// their number. The last one must be whole.
    pub(super) fn skip_same(&mut self, most: usize) -> usize {
        let same = match self.sizes.header() {
            5 => self.count_same::<5>(most),
            7 => self.count_same::<7>(most),
            _ => 0,
        };
        let length = self.at - self.last;
        self.at += same * length;
        same
    }

    /// Counts the messages; the length of a header is a constant, or each comparison would be a
    /// call.
    fn count_same<const HEADER: usize>(&self, most: usize) -> usize {
        let header = self.batch.get(self.last..).and_then(<[u8]>::first_chunk::<HEADER>);
        let rest = self.batch.get(self.at..).unwrap_or_default();
        let messages = rest.chunks_exact((self.at - self.last).max(HEADER));
        messages.take(most).take_while(|message| message.first_chunk() == header).count()
    }
}

impl Iterator for Split<'_> {
    type Item = Result<(Header, Range<usize>), BatchFault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.batch.get(self.at..).filter(|rest| !rest.is_empty())?;
        Some(header_of(rest, self.sizes).map(|header| {
            let start = self.at + self.sizes.header();
            self.last = self.at;
            self.at = start + header.size as usize;
            (header, start..self.at)
        }))
    }
}

/// Reads the header of the message at the start of `rest`, if the message ends within.
fn header_of(rest: &[u8], sizes: Sizes) -> Result<Header, BatchFault> {
    let (size, left) = (sizes.header(), rest.len());
    let (header, body) =
        rest.split_at_checked(size).ok_or(MessageError::BeyondBatch { size, left })?;
    let header = sizes.header_of(header).map_err(MessageError::Malformed)?;
    let (size, left) = (header.size as usize, body.len());
    if size > left {
        let fault = MessageError::BeyondBatch { size, left };
        return Err(BatchFault { fault, number: Some(header.number) });
    }
    Ok(header)
}
