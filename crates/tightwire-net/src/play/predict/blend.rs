//! Offsets of shown objects, which fade.

use core::time::Duration;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{OffsetSize, Protocol, Row, RowBuffer, RowOffset};

use super::PredictConfig;
use crate::play::frame::ROOM;

/// The offsets of all objects that have one, by id.
#[derive(Debug)]
pub(super) struct Blends {
    list: Vec<Blend>,
    /// Offsets that have faded: their memory is used again.
    spare: Vec<RowOffset>,
}

#[derive(Debug)]
struct Blend {
    id: ObjectId,
    class: u16,
    offset: RowOffset,
    /// The object has changed between interpolation and prediction, which takes longer to fade.
    is_switch: bool,
}

/// A new offset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blended {
    pub(super) size: OffsetSize,
    /// The offset was so large that the object jumps instead.
    pub(super) is_snap: bool,
}

impl Blends {
    /// Creates a list with memory for as many offsets as most clients have at once.
    pub(super) fn new(protocol: &Protocol) -> Self {
        let classes = (0..).take_while(|&class| protocol.class_name(class).is_some());
        let columns = classes.map(|class| protocol.columns(class)).max().unwrap_or(0);
        let spare = (0..ROOM).map(|_| RowOffset::with_room(columns)).collect();
        Self { list: Vec::with_capacity(ROOM), spare }
    }

    pub(super) fn clear(&mut self) {
        self.spare.extend(self.list.drain(..).map(|blend| blend.offset));
    }

    /// Shows an object as before, although its state is now `row`.
    pub(super) fn set(
        &mut self,
        protocol: &Protocol,
        id: ObjectId,
        shown: Row<'_>,
        row: Row<'_>,
        config: &PredictConfig,
    ) -> Blended {
        self.put(protocol, id, shown, row, config, false)
    }

    /// As [`set`](Self::set), for an object whose prediction begins or ends.
    pub(super) fn set_switch(
        &mut self,
        protocol: &Protocol,
        id: ObjectId,
        shown: Row<'_>,
        row: Row<'_>,
        config: &PredictConfig,
    ) -> Blended {
        self.put(protocol, id, shown, row, config, true)
    }

    fn put(
        &mut self,
        protocol: &Protocol,
        id: ObjectId,
        shown: Row<'_>,
        row: Row<'_>,
        config: &PredictConfig,
        is_switch: bool,
    ) -> Blended {
        let mut blend = match self.place(id) {
            Ok(place) => self.list.remove(place),
            Err(_) => {
                let offset = self.spare.pop().unwrap_or_default();
                Blend { id, class: row.class, offset, is_switch }
            }
        };
        protocol.set_offset(shown, row, &mut blend.offset);
        blend.class = row.class;
        blend.is_switch |= is_switch;
        let size = protocol.offset_size(row.class, &blend.offset);
        // An object whose prediction begins or ends is shown at another time, and moves by the
        // distance that it covers in between: that is no misprediction.
        let is_far = size.distance > config.snap || size.angle.to_degrees() > config.snap_angle;
        let is_snap = is_far && !is_switch;
        if is_snap || blend.offset.is_empty() {
            blend.offset.clear();
            self.spare.push(blend.offset);
        } else {
            let place = self.place(id).unwrap_or_else(|place| place);
            self.list.insert(place, blend);
        }
        Blended { size, is_snap }
    }

    pub(super) fn rename(&mut self, id: ObjectId, to: ObjectId) {
        if let Ok(place) = self.place(id) {
            let blend = self.list.remove(place);
            let place = self.place(to).unwrap_or_else(|place| place);
            self.list.insert(place, Blend { id: to, ..blend });
        }
    }

    /// Lets all offsets fade exponentially: a correction during the blend of another one adds to
    /// its offset, and does not restart the blend.
    pub(super) fn advance(
        &mut self,
        protocol: &Protocol,
        elapsed: Duration,
        config: &PredictConfig,
    ) {
        let keep = |blend: Duration| {
            // 95% are gone after three times the time constant.
            let constant = (blend.as_secs_f32() / 3.0).max(1e-3);
            (-elapsed.as_secs_f32() / constant).exp()
        };
        let switch = keep(config.switch_blend);
        let (position, rotation) = (keep(config.blend_position), keep(config.blend_rotation));
        let spare = &mut self.spare;
        self.list.retain_mut(|blend| {
            let (position, rotation) =
                if blend.is_switch { (switch, switch) } else { (position, rotation) };
            protocol.fade(blend.class, position, rotation, &mut blend.offset);
            if blend.offset.is_empty() {
                spare.push(core::mem::take(&mut blend.offset));
                return false;
            }
            true
        });
    }

    /// Adds the offset of an object to its row.
    pub(super) fn apply(&self, protocol: &Protocol, id: ObjectId, shown: &mut RowBuffer) {
        if let Some(blend) = self.get(id).filter(|blend| blend.class == shown.row().class) {
            protocol.add_offset(&blend.offset, shown);
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.list.iter().map(|blend| blend.id)
    }

    pub(super) fn size(&self, protocol: &Protocol, id: ObjectId) -> OffsetSize {
        let blend = self.get(id);
        blend.map_or_else(OffsetSize::default, |blend| {
            protocol.offset_size(blend.class, &blend.offset)
        })
    }

    fn get(&self, id: ObjectId) -> Option<&Blend> {
        self.place(id).ok().and_then(|place| self.list.get(place))
    }

    fn place(&self, id: ObjectId) -> Result<usize, usize> {
        self.list.binary_search_by_key(&id, |blend| blend.id)
    }
}
