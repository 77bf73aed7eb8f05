//! The values of spans as text.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::record::SpanStart;
use super::{Trace, TracePart};
use crate::protocol::ClassLayout;
use crate::update::{ObjectUpdate, UpdateKind};
use tightwire_core::schema::Dynamic;

/// An object as a tree of values.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// Index of the object among the updates; `None` if no object is decoded.
    place: Option<usize>,
    value: Option<Dynamic>,
    packet: Vec<u8>,
}

impl Decoded {
    pub(super) fn clear(&mut self) {
        (self.place, self.value) = (None, None);
    }

    fn object(&mut self, place: usize, class: &ClassLayout, cells: &[u32]) -> Option<&Dynamic> {
        if self.place != Some(place) {
            self.place = Some(place);
            self.packet.resize(class.max_bytes, 0);
            let packet = class.layout.packet_of(cells, &mut self.packet).ok();
            self.value = packet.and_then(|packet| class.declared.schema.decode(packet).ok());
        }
        self.value.as_ref()
    }
}

impl Trace {
    pub(super) fn value(&self, span: &SpanStart) -> String {
        let header = &self.header;
        match span.part {
            TracePart::Number if header.is_complete => format!("{}, complete", header.number),
            TracePart::Number => header.number.to_string(),
            TracePart::Baseline => {
                header.baseline.map_or("none".into(), |baseline| baseline.to_string())
            }
            TracePart::Tick => header.tick.to_string(),
            TracePart::Acked => {
                let acked = header.acked.first..=header.baseline.unwrap_or_default();
                let arrived = acked.clone().filter(|&packet| header.acked.contains(packet)).count();
                format!("{arrived} of {}", acked.count())
            }
            TracePart::Check => self.check.map_or(String::new(), |check| format!("{check:#06x}")),
            TracePart::Objects => self.list.len().to_string(),
            TracePart::Modes | TracePart::Padding => String::new(),
            TracePart::Object => match self.update(span).map(|update| update.kind) {
                Some(UpdateKind::Full) => "new".into(),
                _ => String::new(),
            },
            TracePart::Field => self.field_value(span).unwrap_or_default(),
        }
    }

    fn field_value(&self, span: &SpanStart) -> Option<String> {
        let update = self.update(span)?;
        let class = self.class(update)?;
        let cells = self.cells.get(update.start..)?.get(..update.columns)?;
        let mut decoded = self.decoded.borrow_mut();
        let object = decoded.object(span.object, class, cells);
        let value = object.and_then(|object| at(object, class.layout.fields.path(span.field)));
        Some(value.unwrap_or_else(|| codes(class, span.field, cells)))
    }
}

impl ObjectUpdate {
    /// Whether the update has as many cells as the class has columns.
    pub(super) fn has_cells_of(&self, class: &ClassLayout) -> bool {
        self.columns == class.layout.columns.len()
    }
}

/// Returns the text of the value at a path. Its inner fields have spans of their own.
fn at(object: &Dynamic, path: &str) -> Option<String> {
    if let Some(list) = path.strip_suffix("len()")
        && let Dynamic::List(items) = object.at(list)?
    {
        return Some(items.len().to_string());
    }
    Some(match object.at(path)? {
        Dynamic::Enum { variant, .. } => variant.to_string(),
        Dynamic::Option(Some(inner)) if inner.value().is_none() => "Some".into(),
        value => value.to_string(),
    })
}

/// Returns the cells of a field as text, for an object that was refused before its end.
fn codes(class: &ClassLayout, field: usize, cells: &[u32]) -> String {
    let layout = &class.layout;
    let of_field = |(group, _): &(usize, _)| layout.fields.of_group(*group) == field;
    let groups = layout.groups.iter().enumerate().filter(of_field);
    let cells = groups.flat_map(|(_, group)| cells.get(group.columns()).unwrap_or_default());
    let cells: Vec<_> = cells.map(|cell| cell.to_string()).collect();
    format!("code {}", cells.join(", "))
}
