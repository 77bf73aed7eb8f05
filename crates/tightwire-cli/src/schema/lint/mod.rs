//! Advice on a schema: fields that cost more bits than they need.

mod flags;
mod lengths;
mod numbers;
mod observed;
mod report;
pub(super) mod statistics;

use tightwire::bytes::Packing;
use tightwire::message::RawMessage;
use tightwire::snapshot::SnapshotPacket;
use tightwire::stream::{Field, Shape};
use tightwire::{Wire, snapshot};

use crate::source::Source;
use crate::terminal::safe;
use statistics::FieldStatistics;

pub(super) use report::{json, text};

/// A piece of advice on a field.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Advice {
    /// Path of the field, as in `Player.inventory[].count`.
    path: String,
    /// Name of the rule, for programs.
    rule: &'static str,
    /// Finding and advice, in a sentence.
    what: String,
    saves: Saving,
    /// Number of occurrences of the field: the product of the arrays around it.
    times: u64,
    /// Whether the field is within a list, and occurs for each element.
    is_in_list: bool,
    /// Nothing decides whether it is sent: no condition, option or variant.
    is_always_sent: bool,
}

/// Bits that the advice saves in a packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Saving {
    /// Saved whenever the field is sent.
    Always(u64),
    /// Saved at most, depending on the values.
    UpTo(u64),
    /// Saved on average in the packets of the capture.
    OnAverage(f64),
}

/// A walk through a schema that collects advice.
struct Linter<'a> {
    packing: Packing,
    seen: Option<&'a FieldStatistics>,
    path: String,
    times: u64,
    is_in_list: bool,
    is_always_sent: bool,
    /// Types of the library: a program cannot change their bits.
    own: Vec<Shape>,
    advice: Vec<Advice>,
}

/// Collects advice on a schema in the order of its bits; also on the values in packets if `seen` is
/// given.
pub(super) fn lint(source: &Source, seen: Option<&FieldStatistics>) -> Vec<Advice> {
    let mut lint = Linter {
        packing: source.packing(),
        seen,
        path: String::new(),
        times: 1,
        is_in_list: false,
        is_always_sent: true,
        own: vec![SnapshotPacket::describe(), snapshot::Ack::describe()],
        advice: Vec::new(),
    };
    for shape in source.shapes() {
        lint.path = root_name(&shape);
        lint.shape(&shape);
    }
    lint.advice
}

/// Returns the first step of a schema's paths.
pub(super) fn root_name(shape: &Shape) -> String {
    match shape {
        Shape::Struct { name, .. } | Shape::Enum { name, .. } | Shape::Opaque { name, .. } => {
            safe(name)
        }
        _ => "packet".to_owned(),
    }
}

impl Linter<'_> {
    fn advise(&mut self, rule: &'static str, what: String, saves: Saving) {
        // What saves nothing is no advice.
        if matches!(saves, Saving::Always(0) | Saving::UpTo(0)) {
            return;
        }
        let &mut Self { times, is_in_list, is_always_sent, .. } = self;
        let path = self.path.clone();
        self.advice.push(Advice { path, rule, what, saves, times, is_in_list, is_always_sent });
    }

    /// Walks a part that is not in every packet, unless `is_certain`.
    fn walk_conditional(&mut self, is_certain: bool, inside: impl FnOnce(&mut Self)) {
        let outside = self.is_always_sent;
        self.is_always_sent &= is_certain;
        inside(self);
        self.is_always_sent = outside;
    }

    /// Runs `inside` with a longer path.
    fn step(&mut self, step: &str, inside: impl FnOnce(&mut Self)) {
        let outside = self.path.len();
        self.path.push_str(step);
        inside(self);
        self.path.truncate(outside);
    }

    fn shape(&mut self, shape: &Shape) {
        if self.own.contains(shape) {
            return;
        }
        // What never varies needs no other advice.
        if self.cannot_vary(shape) || self.never_varied(shape) {
            return;
        }
        match shape {
            Shape::Op(op) => {
                self.number(op);
                self.length_of(op);
            }
            Shape::Struct { fields, .. } => self.fields(fields),
            Shape::Enum { variants, .. } => {
                self.variants(variants.len());
                for variant in variants {
                    let name = format!(".{}", safe(&variant.name));
                    let is_only = variants.len() == 1;
                    self.step(&name, |lint| {
                        lint.walk_conditional(is_only, |lint| lint.fields(&variant.fields));
                    });
                }
            }
            Shape::Option(inner) => self.walk_conditional(false, |lint| lint.shape(inner)),
            Shape::Array { len, element } => {
                let outside = self.times;
                self.times = outside.saturating_mul(*len);
                self.step("[]", |lint| lint.shape(element));
                self.times = outside;
            }
            Shape::List { max_len, element } => {
                self.length_of_list(*max_len, element);
                let outside = (self.times, self.is_in_list);
                (self.times, self.is_in_list) = (1, true);
                self.step("[]", |lint| lint.shape(element));
                (self.times, self.is_in_list) = outside;
            }
            _ => {}
        }
    }

    fn fields(&mut self, fields: &[Field]) {
        let mut runs = flags::runs(fields).peekable();
        let mut advised = 0;
        for field in fields {
            let begins =
                |run: &&[Field]| run.first().is_some_and(|first| std::ptr::eq(first, field));
            if let Some(run) = runs.next_if(begins)
                && self.flags(run)
            {
                advised = run.len();
            }
            // Flags with advice as a run get none one by one.
            let is_advised = advised > 0;
            advised = advised.saturating_sub(1);
            if !is_advised && !is_of_a_session(&self.path, &field.name) {
                let name = format!(".{}", safe(&field.name));
                self.step(&name, |lint| {
                    lint.walk_conditional(field.when.is_none(), |lint| lint.shape(&field.shape));
                });
            }
        }
    }

    /// Advises on a value that can only be one and takes bits, and returns whether it is one.
    fn cannot_vary(&mut self, shape: &Shape) -> bool {
        let is_one = match shape {
            Shape::Op(op) => numbers::is_one_value(op) || lengths::is_empty(op),
            Shape::Array { len: 0, .. } | Shape::List { max_len: 0, .. } => true,
            Shape::Enum { variants, .. } => {
                variants.len() == 1 && variants.iter().all(|variant| variant.fields.is_empty())
            }
            _ => false,
        };
        if is_one {
            let what = format!(
                "`{}` has one value only: leave the field out, or give it the range that it needs",
                super::words::shape(shape)
            );
            self.advise("cannot-vary", what, Saving::Always(shape.max_bits()));
        }
        is_one
    }

    fn variants(&mut self, count: usize) {
        if let Some(fewer) = numbers::one_bit_fewer((count as u128).saturating_sub(1)) {
            let (fewer, bits) = (fewer + 1, numbers::width((count as u128).saturating_sub(1)));
            let what = format!(
                "{count} variants take {bits} bits where {fewer} take {}: make one of them a part of \
                 another",
                bits - 1
            );
            self.advise("wasted-bit", what, Saving::Always(1));
        }
    }
}

/// Fields of a captured message that are not of the message.
const HEADER: [&str; 7] =
    ["number", "stage", "size", "channel", "at_tick", "with_object", RawMessage::CUT];

/// Prefix of the names of the library's own messages and frames.
const OWN_MESSAGES: &str = "tightwire.";

/// Returns whether a field of a recorded message is of its header, or one of the library's own
/// messages: users cannot change them.
fn is_of_a_session(path: &str, name: &str) -> bool {
    path == "Message" && (HEADER.contains(&name) || name.starts_with(OWN_MESSAGES))
}
