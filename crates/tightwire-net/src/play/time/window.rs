//! A ring of the newest measurements.

/// The newest values, as many as the ring has room for.
#[derive(Debug)]
pub(super) struct SampleWindow<T> {
    entries: Box<[T]>,
    next: usize,
    len: usize,
}

impl<T: Copy + Default> SampleWindow<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: vec![T::default(); capacity.max(1)].into(), next: 0, len: 0 }
    }

    pub(super) fn clear(&mut self) {
        (self.next, self.len) = (0, 0);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a value in place of the oldest.
    pub(super) fn push(&mut self, value: T) {
        let capacity = self.entries.len();
        if let Some(entry) = self.entries.get_mut(self.next) {
            *entry = value;
        }
        self.next = (self.next + 1) % capacity;
        self.len = (self.len + 1).min(capacity);
    }

    /// Iterates over the values, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = T> {
        let (after, before) = self.entries.split_at(self.next.min(self.entries.len()));
        after.iter().rev().chain(before.iter().rev()).take(self.len).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_values_come_first() {
        let mut window = SampleWindow::new(3);
        assert_eq!(window.newest_first().next(), None);
        for value in 1..=5 {
            window.push(value);
            let expected: Vec<i32> = (1..=value).rev().take(3).collect();
            assert_eq!(window.newest_first().collect::<Vec<_>>(), expected);
        }
        window.clear();
        assert_eq!((window.len(), window.newest_first().count()), (0, 0));
    }
}
