//! Messages that were too long for a record, of which a capture has only the beginning.

use std::collections::BTreeMap;

use tightwire::message::RawMessage;
use tightwire::schema::{Dynamic, Schema};
use tightwire::stream::{Binary, Condition, Number, Shape, Value};

use super::reading::CurrentDatagram;

/// Number of cut messages, and of their bytes that are not in the capture.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct CutTotal {
    pub(crate) messages: u64,
    pub(crate) missing_bytes: u64,
    /// Number of cut messages, by the number of their type.
    numbers: BTreeMap<u8, u64>,
}

impl CutTotal {
    /// Counts a packet that was read, if it is a cut message.
    pub(crate) fn add(&mut self, seen: &CurrentDatagram<'_>) {
        let is_cut = seen.kind_name() == RawMessage::CUT;
        let Some(cut) = seen.tally.last().filter(|_| is_cut) else { return };
        let cut = field(cut, RawMessage::CUT).and_then(|cut| {
            let bytes = whole(field(cut, "bytes")?)?;
            let Dynamic::Value(Value::Bytes(beginning)) = field(cut, "beginning")? else {
                return None;
            };
            let missing = bytes.saturating_sub(beginning.len() as u128);
            Some((u8::try_from(whole(field(cut, "number")?)?).ok()?, missing))
        });
        if let Some((number, missing)) = cut {
            self.messages += 1;
            self.missing_bytes += u64::try_from(missing).unwrap_or(u64::MAX);
            *self.numbers.entry(number).or_default() += 1;
        }
    }

    /// The types of the messages with how many there are of each.
    pub(crate) fn kinds(&self, schema: &Schema) -> Vec<(String, u64)> {
        let name = |number: u8| message_name(schema, number).unwrap_or_else(|| number.to_string());
        self.numbers.iter().map(|(number, count)| (name(*number), *count)).collect()
    }
}

fn field<'d>(tree: &'d Dynamic, name: &str) -> Option<&'d Dynamic> {
    let Dynamic::Struct { fields, .. } = tree else { return None };
    fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value)
}

fn whole(value: &Dynamic) -> Option<u128> {
    match value {
        Dynamic::Value(Value::Number(Number::Unsigned(number))) => Some(*number),
        _ => None,
    }
}

/// The message that is sent when the number is this one.
fn message_name(schema: &Schema, number: u8) -> Option<String> {
    let Shape::Struct { fields, .. } = schema.root() else { return None };
    let is_meant = |condition: &Condition| {
        let Condition::Binary(Binary::Equal, operands) = condition else { return false };
        let [_, constant] = &**operands;
        *constant == Condition::Number(Number::Unsigned(number.into()))
    };
    let found = fields.iter().find(|field| field.when.as_ref().is_some_and(is_meant))?;
    Some(found.name.to_string())
}
