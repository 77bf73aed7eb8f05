//! The values of a field over time.

use std::collections::VecDeque;

use tightwire::{Number, Value};

use super::reading::Seen;

/// A value of the field.
#[derive(serde::Serialize, Clone, PartialEq, Debug)]
pub(crate) struct Sample {
    pub(crate) packet: u64,
    pub(crate) time: f64,
    pub(crate) path: String,
    pub(crate) value: String,
}

/// What is remembered of a field's values.
#[derive(Debug, Default)]
pub(crate) struct Values {
    shown: usize,
    first: Vec<Kept>,
    last: VecDeque<Kept>,
    pub(crate) count: u64,
    /// Of those that are numbers.
    pub(crate) numbers: Option<Numbers>,
}

#[derive(Clone, Debug)]
struct Kept {
    packet: u64,
    time: f64,
    place: usize,
    value: Value,
}

/// The numbers among the values.
#[derive(serde::Serialize, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Numbers {
    pub(crate) count: u64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
}

impl Values {
    /// That remembers so many at the beginning, and as many at the end.
    pub(crate) fn new(shown: usize) -> Self {
        Self { shown, ..Self::default() }
    }

    pub(crate) fn add(&mut self, seen: &Seen<'_>) {
        if seen.refused.is_some() {
            return;
        }
        for (place, value) in seen.tally.watched() {
            self.count += 1;
            if let Some(number) = number_of(value) {
                Numbers::add(&mut self.numbers, number);
            }
            let kept = || Kept {
                packet: seen.number,
                time: seen.time,
                place: *place,
                value: value.clone(),
            };
            if self.first.len() < self.shown {
                self.first.push(kept());
            } else if self.shown > 0 {
                if self.last.len() == self.shown {
                    self.last.pop_front();
                }
                self.last.push_back(kept());
            }
        }
    }

    /// The first ones, and the last ones.
    pub(crate) fn samples(&self, tally: &tightwire::Tally) -> [Vec<Sample>; 2] {
        let sample = |kept: &Kept| Sample {
            packet: kept.packet,
            time: kept.time,
            path: tally.place(kept.place).map_or(String::new(), |place| place.path()),
            value: shortened(&kept.value),
        };
        [self.first.iter().map(sample).collect(), self.last.iter().map(sample).collect()]
    }
}

impl Sample {
    /// The values of a packet.
    pub(crate) fn all_of(seen: &Seen<'_>) -> Vec<Self> {
        if seen.refused.is_some() {
            return Vec::new();
        }
        let sample = |(place, value): &(usize, Value)| Self {
            packet: seen.number,
            time: seen.time,
            path: seen.tally.place(*place).map_or(String::new(), |place| place.path()),
            value: shortened(value),
        };
        seen.tally.watched().iter().map(sample).collect()
    }
}

impl Numbers {
    fn add(numbers: &mut Option<Self>, number: f64) {
        let Self { count, min, max, mean } =
            numbers.get_or_insert(Self { count: 0, min: number, max: number, mean: 0.0 });
        *count += 1;
        (*min, *max) = (min.min(number), max.max(number));
        // No sum that grows beyond what a float holds.
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

fn shortened(value: &Value) -> String {
    super::text::shortened(&value.to_string(), 80)
}
