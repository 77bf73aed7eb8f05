//! The stream that counts the bits of another one.

use super::place::Places;
use crate::stream::{ErrorKind, Op, RawStream, TraceScope, Value};

/// Runs another stream, and adds the bits of each operation to its place.
#[derive(Debug)]
pub(super) struct TallyStream<'p, S> {
    inner: S,
    places: &'p mut Places,
    /// Place of the next operation or group, if it was named.
    next: Option<usize>,
    /// Place and first bit of the current operation.
    running: Option<(usize, u64)>,
}

impl<'p, S: RawStream> TallyStream<'p, S> {
    pub(super) fn new(inner: S, places: &'p mut Places) -> Self {
        Self { inner, places, next: None, running: None }
    }

    pub(super) fn into_inner(self) -> S {
        self.inner
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn current_place(&self) -> usize {
        self.places.open.last().copied().unwrap_or(Places::ROOT)
    }

    /// Takes the place of the operation or group that begins. Without a name, it shares the place
    /// of its group.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_place(&mut self) -> usize {
        let place = self.next.take().unwrap_or_else(|| self.current_place());
        self.places.pass(place);
        place
    }
}

impl<S: RawStream> RawStream for TallyStream<'_, S> {
    type Error = S::Error;
    type Access = S::Access;
    const PACKS: bool = S::PACKS;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_checks(&self) -> bool {
        self.inner.has_checks()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        self.inner.raw_bits(value, width)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        self.inner.raw_unary(zeros, limit)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.inner.raw_align()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], S::Error> {
        self.inner.raw_bytes(source, length)
    }

    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        // If no operation is running, a group is refused as a whole.
        let place = self.running.map_or_else(|| self.current_place(), |(place, _)| place);
        self.places.refuse(place);
        self.inner.refuse_at(kind, bit)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        self.inner.position()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remaining(&self) -> u64 {
        self.inner.remaining()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.inner.failure()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_next(&mut self, name: &str) {
        self.next = Some(self.places.child(self.current_place(), name));
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_place(&mut self, name: &'static str) {
        if self.next.is_none() {
            self.name_next(name);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn begin(&mut self, _: Op) {
        self.running = Some((self.take_place(), self.inner.position()));
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(&mut self, value: impl FnOnce() -> Value) {
        let Some((place, start)) = self.running.take() else { return };
        match self.inner.failure() {
            None => self.places.take(place, self.inner.position().saturating_sub(start), value),
            Some(_) => self.places.refuse(place),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn enter(&mut self, scope: TraceScope<'_>) {
        let place = match scope {
            TraceScope::Index(_) => {
                let array = self.take_place();
                self.places.element_of(array)
            }
            _ => self.take_place(),
        };
        // Children come in the same order as in the group before.
        self.places.begin_group(place);
        self.places.open.push(place);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave(&mut self) {
        self.places.open.pop();
    }
}
