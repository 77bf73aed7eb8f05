//! Frames of this layer in captures.
//!
//! A captured frame has the format of a captured message, so that a tool that decodes messages by
//! their schema decodes frames too.

use tightwire_core::packet::{Identity, Protection};
use tightwire_core::schema::{Schema, SchemaError};
use tightwire_core::stream::{
    Binary, Condition, Field, Name, Number, ReadStream, Shape, Stream as _, Wire as _, encode,
};
use tightwire_derive::Wire;
use tightwire_snapshot::{self as snapshot, Ack, Protocol, SnapshotPacket};

use super::header::PlayHeader;
use super::input::FrameHeader;
use super::{Game, PlayError, PlayerInput};
use crate::message::{Delivery, RawMessage, Stage};
use crate::session::{INPUT_FRAME, SNAPSHOT_FRAME, Server, SessionConfig, SessionError};
use crate::transport::InProcess;

/// Description of a game for a capture of its server's packets: see [`Game::describe`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GameDescription {
    /// Identity of the game, with the schema of captured messages and frames.
    pub identity: Identity,
    /// Snapshot protocol of the game's objects.
    pub objects: Protocol,
}

impl<I: PlayerInput> Game<I> {
    /// Describes the game for a capture: `inspect::CaptureWriter` and `inspect::Captured` need the
    /// description before the server is created. `config` is the server's snapshot configuration.
    ///
    /// # Errors
    ///
    /// [`PlayError`] if the declaration is not valid.
    pub fn describe(self, config: &snapshot::Config) -> Result<GameDescription, PlayError> {
        let mut declared = self.declare(config)?;
        let builder = Server::<(), InProcess>::builder(declared.session.clone());
        let builder = builder.register(|messages| declared.register(messages));
        let messages = builder.capture_identity()?;
        let schema = with_frames(messages.schema()).map_err(SessionError::Schema)?;
        let SessionConfig { game, version, messenger, .. } = &declared.session;
        let identity = Identity::new(game, version, Protection::None, schema);
        let identity = identity.with_packing(messenger.packing);
        Ok(GameDescription { identity, objects: declared.objects })
    }
}

/// A snapshot frame in a capture. The fields before `packet` are those of the play header.
#[derive(Wire, Default)]
struct SnapshotRecord {
    has_input: bool,
    /// Tick of the newest input that has arrived, less the tick of the snapshot.
    #[wire(range = -64..=63)]
    newest_input: i8,
    /// Margin of the latest input, in eighths of a tick; -64 if there was none.
    #[wire(range = -64..=63)]
    margin: i8,
    owned_exact: bool,
    packet: SnapshotPacket,
}

/// An input frame in a capture. Its rows stay as they are: most are relative to earlier ones.
#[derive(Wire, Default)]
struct InputRecord {
    /// `None` if the frame is malformed; then all of its bytes are in `rows`.
    header: Option<FrameHeader<Ack>>,
    #[wire(max_len = 65_000)]
    rows: Vec<u8>,
}

impl InputRecord {
    fn new(body: &[u8]) -> Self {
        let (mut reader, mut header) = (ReadStream::new(body), FrameHeader::default());
        if FrameHeader::serialize((&mut header).into(), &mut reader).is_err() {
            return Self { header: None, rows: body.to_vec() };
        }
        let bits = (body.len() as u64 * 8).saturating_sub(reader.position());
        let mut rows = vec![0; bits.div_ceil(8) as usize];
        for place in 0..bits {
            let mut bit = false;
            let is_set = reader.bool(&mut bit).is_ok() && bit;
            rows[place as usize / 8] |= u8::from(is_set) << (place % 8);
        }
        Self { header: Some(header), rows }
    }
}

/// Names of the frames in captures.
const NAMES: [(u8, &str); 2] =
    [(SNAPSHOT_FRAME, "tightwire.Snapshot"), (INPUT_FRAME, "tightwire.Input")];

/// Adds the frames to the schema of captured messages.
fn with_frames(messages: &Schema) -> Result<Schema, SchemaError> {
    let Shape::Struct { name, mut fields } = messages.root().clone() else {
        return Ok(messages.clone());
    };
    let shapes = [SnapshotRecord::describe(), InputRecord::describe()];
    for ((number, name), shape) in NAMES.into_iter().zip(shapes) {
        let operands = [
            Condition::Field(vec![Name::from("number")]),
            Condition::Number(Number::Unsigned(number.into())),
        ];
        let when = Some(Condition::Binary(Binary::Equal, Box::new(operands)));
        fields.push(Field { when, ..Field::new(name, shape) });
    }
    Schema::new(Shape::Struct { name, fields })
}

/// Replaces the contents of `record` by a frame in the format of a capture: the header of a
/// captured message, then the body, with a length before its packet. [`Game::describe`] returns the
/// schema. Returns false if the frame is not of the play layer, or is too short or too long.
///
/// ```
/// let mut record = Vec::new();
/// assert!(tightwire::play::write_frame_record(8, &[0x87, 0xcc, 1, 2], &mut record));
/// assert_eq!(record[..7], [8, 4, 6, 0, 0, 0x87, 0xcc]);
/// assert!(!tightwire::play::write_frame_record(8, &[0x87], &mut record));
/// ```
pub fn write_frame_record(number: u8, body: &[u8], record: &mut Vec<u8>) -> bool {
    let mut encoded = vec![0; body.len() + LENGTH];
    let (header, size) = match number {
        SNAPSHOT_FRAME => {
            let Ok((_, packet)) = PlayHeader::read(body) else { return false };
            let packet = SnapshotPacket { bytes: packet.to_vec() };
            (&body[..PlayHeader::BYTES], encode(&packet, &mut encoded).map(<[u8]>::len))
        }
        INPUT_FRAME => {
            let input = InputRecord::new(body);
            (&[][..], encode(&input, &mut encoded).map(<[u8]>::len))
        }
        _ => return false,
    };
    let Ok(size) = size else { return false };
    encoded.truncate(size);
    encoded.splice(..0, header.iter().copied());
    let (stage, delivery) = (Stage::Update as u8, Delivery::Unreliable);
    RawMessage { number, stage, channel: 0, bound: None, delivery, body: &encoded }
        .write_record(record)
}

/// Room for the length of a packet, in bytes.
const LENGTH: usize = 8;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::play::Input;

    #[derive(Wire, Default, Clone)]
    struct Point {
        #[wire(range = 0..=100)]
        x: u8,
    }

    impl Input for Point {}

    #[test]
    fn captured_frames_are_read_by_the_described_schema() {
        let game = Game::new("arena", "1.0").object::<Point>().input::<Point>();
        let description = game.describe(&snapshot::Config::default()).unwrap();
        let mut record = Vec::new();
        assert!(write_frame_record(SNAPSHOT_FRAME, &[0x87, 0xcc, 1, 2, 3], &mut record));
        let text = description.identity.decode(&record).unwrap().to_string();
        for part in ["number: 8,", "newest_input: 3,", "margin: 12,", "owned_exact: true,"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(write_frame_record(INPUT_FRAME, &[7, 8], &mut record));
        let text = description.identity.decode(&record).unwrap().to_string();
        assert!(text.contains("number: 9,") && text.contains("tightwire.Input"), "{text}");
        // No snapshot is acked; the inputs of ticks 3 to 5, the oldest whole.
        let frame = [0b0001_0110, 0b1000_0000, 0b0000_1000, 0xff];
        assert!(write_frame_record(INPUT_FRAME, &frame, &mut record));
        let text = description.identity.decode(&record).unwrap().to_string();
        for part in ["newest: 5,", "count: 3,", "is_whole: true"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn frames_of_others_are_not_recorded() {
        let mut record = Vec::new();
        assert!(!write_frame_record(3, &[1, 2, 3], &mut record));
        assert!(!write_frame_record(SNAPSHOT_FRAME, &[1], &mut record));
    }
}
