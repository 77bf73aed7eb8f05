//! Values of a field over time.

use std::collections::VecDeque;

use tightwire::packet::Tally;
use tightwire::stream::{Number, Value};

use super::reading::CurrentDatagram;
use super::snapshots::without_numbers;
use crate::terminal::cut;

/// A value of the field.
#[derive(serde::Serialize, Clone, PartialEq, Debug)]
pub(crate) struct Sample {
    pub(crate) packet: u64,
    pub(crate) time: f64,
    pub(crate) path: String,
    pub(crate) value: String,
}

/// First and last values of a field, with their statistics.
#[derive(Debug, Default)]
pub(crate) struct FieldValues {
    shown: usize,
    first: Vec<KeptValue>,
    last: VecDeque<KeptValue>,
    pub(crate) count: u64,
    /// Statistics of the values that are numbers; `None` without any.
    numbers: Option<Numbers>,
    /// Field of the values so far; `are_several` if there was more than one. `None` before the
    /// first value.
    field: Option<FieldKey>,
    are_several: bool,
}

#[derive(PartialEq, Eq, Debug)]
enum FieldKey {
    Place(usize),
    /// Path without the numbers of objects and elements.
    Snapshot(String),
}

#[derive(Clone, Debug)]
struct KeptValue {
    packet: u64,
    time: f64,
    what: ValueSource,
}

#[derive(Clone, Debug)]
enum ValueSource {
    /// A field of the packet: its place in the tally and its value.
    Field(usize, Value),
    /// A field of a snapshot: its path and its value.
    Snapshot(String, String),
}

/// Statistics of the values that are numbers.
#[derive(serde::Serialize, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Numbers {
    pub(crate) count: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
}

impl FieldValues {
    /// Keeps the first and the last `shown` values.
    pub(crate) fn new(shown: usize) -> Self {
        Self { shown, ..Self::default() }
    }

    pub(crate) fn add(&mut self, seen: &CurrentDatagram<'_>) {
        if seen.refused.is_some() {
            return;
        }
        for (place, value) in seen.tally.watched() {
            self.meet(FieldKey::Place(*place));
            self.take(seen, number_of(value), || ValueSource::Field(*place, value.clone()));
        }
        for (path, value) in seen.snapshots.watched() {
            self.meet(FieldKey::Snapshot(without_numbers(&path)));
            self.take(seen, number_in(&value), || ValueSource::Snapshot(path, value));
        }
    }

    fn meet(&mut self, field: FieldKey) {
        match &self.field {
            None => self.field = Some(field),
            Some(first) => self.are_several |= *first != field,
        }
    }

    /// Returns the statistics of the numbers; `None` without numbers, and for several fields, whose
    /// values are not comparable.
    pub(crate) fn numbers(&self) -> Option<Numbers> {
        self.numbers.filter(|_| !self.are_several)
    }

    fn take(
        &mut self,
        seen: &CurrentDatagram<'_>,
        number: Option<f64>,
        what: impl FnOnce() -> ValueSource,
    ) {
        self.count += 1;
        if let Some(number) = number {
            Numbers::add(&mut self.numbers, number);
        }
        let kept = || KeptValue { packet: seen.number, time: seen.time, what: what() };
        if self.first.len() < self.shown {
            self.first.push(kept());
        } else if self.shown > 0 {
            if self.last.len() == self.shown {
                self.last.pop_front();
            }
            self.last.push_back(kept());
        }
    }

    /// Returns the first and the last values.
    pub(crate) fn samples(&self, tally: &Tally) -> [Vec<Sample>; 2] {
        let sample = |kept: &KeptValue| {
            let (path, value) = match &kept.what {
                ValueSource::Field(place, value) => (path_of(tally, *place), value.to_string()),
                ValueSource::Snapshot(path, value) => (path.clone(), value.clone()),
            };
            Sample { packet: kept.packet, time: kept.time, path, value: cut(&value, MAX_VALUE) }
        };
        [self.first.iter().map(sample).collect(), self.last.iter().map(sample).collect()]
    }
}

impl Sample {
    /// Returns the values of a packet.
    pub(crate) fn all_of(seen: &CurrentDatagram<'_>) -> Vec<Self> {
        if seen.refused.is_some() {
            return Vec::new();
        }
        let sample = |path: String, value: String| Self {
            packet: seen.number,
            time: seen.time,
            path,
            value: cut(&value, MAX_VALUE),
        };
        let fields = seen.tally.watched().iter();
        let fields = fields.map(|(place, value)| (path_of(seen.tally, *place), value.to_string()));
        let all = fields.chain(seen.snapshots.watched());
        all.map(|(path, value)| sample(path, value)).collect()
    }
}

impl Numbers {
    fn add(numbers: &mut Option<Self>, number: f64) {
        let Self { count, min, max, mean } =
            numbers.get_or_insert(Self { count: 0, min: number, max: number, mean: 0.0 });
        *count += 1;
        (*min, *max) = (min.min(number), max.max(number));
        // A running mean: a sum could exceed the range of a float.
        *mean += (number - *mean) / *count as f64;
    }
}

fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Number(Number::Unsigned(number)) => *number as f64,
        Value::Number(Number::Signed(number)) => *number as f64,
        Value::Number(Number::Float(number)) => f64::from(*number),
        Value::Number(Number::Double(number)) => *number,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Parses a value that is text as a number.
fn number_in(value: &str) -> Option<f64> {
    match value {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => value.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

fn path_of(tally: &Tally, place: usize) -> String {
    tally.place(place).map_or(String::new(), |place| place.path())
}

/// Maximum length of a value, in characters.
const MAX_VALUE: usize = 80;
