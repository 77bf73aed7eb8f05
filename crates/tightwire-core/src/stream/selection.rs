//! Selections of elements of an array: a set of indices.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A set of indices into an array: the elements that are sent.
///
/// Memory is allocated once, in [`new`](Self::new); reading into a selection allocates none.
///
/// ```
/// use tightwire::stream::Selection;
///
/// let mut dirty = Selection::new(4096);
/// assert!(dirty.insert(7));
/// assert!(dirty.insert(300));
/// assert!(!dirty.insert(4096), "beyond the array");
/// assert_eq!(dirty.iter().collect::<Vec<_>>(), [7, 300]);
/// ```
#[derive(Clone)]
pub struct Selection {
    /// Bit `i % 64` of word `i / 64` is set if the selection contains `i`; bits from `len` on are
    /// zero.
    pub(super) words: Vec<u64>,
    pub(super) len: usize,
    count: usize,
    /// All indices in ascending order, as long as they are few and are inserted in that order: then
    /// it has `count` entries, else none. The bits of a large array are mostly zero then, and each
    /// search for the next one would be mispredicted.
    few: Vec<u32>,
}

impl PartialEq for Selection {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.words == other.words
    }
}

impl Eq for Selection {}

impl Selection {
    /// Creates an empty selection of an array of `len` elements.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let few = Vec::with_capacity(len.div_ceil(ELEMENTS_PER_FEW));
        Self { words: vec![0; len.div_ceil(64)], len, count: 0, few }
    }

    /// Length of the array.
    #[must_use]
    pub fn array_len(&self) -> usize {
        self.len
    }

    /// Number of indices in the selection.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the selection contains `index`.
    #[must_use]
    #[inline]
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Adds `index`; returns `false` if the array has no such element.
    #[inline]
    pub fn insert(&mut self, index: usize) -> bool {
        let exists = index < self.len;
        if exists {
            let word = &mut self.words[index / 64];
            let is_new = !*word >> (index % 64) & 1 != 0;
            *word |= 1 << (index % 64);
            if self.few.len() == self.count {
                self.list(index as u32, is_new);
            }
            self.count += usize::from(is_new);
        }
        exists
    }

    /// Appends an index to the list of the few, or gives the list up.
    #[inline]
    fn list(&mut self, index: u32, is_new: bool) {
        if !is_new {
            return;
        }
        let is_ascending = self.few.last().is_none_or(|&last| last < index);
        if is_ascending && self.few.len() < self.few.capacity() && self.len <= u32::MAX as usize {
            self.few.push(index);
        } else {
            self.few.clear();
        }
    }

    /// Removes `index`; returns `false` if the selection did not contain it.
    #[inline]
    pub fn remove(&mut self, index: usize) -> bool {
        let was_in = self.contains(index);
        if was_in {
            self.words[index / 64] &= !(1 << (index % 64));
            self.count -= 1;
            self.few.clear();
        }
        was_in
    }

    /// Removes every index.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
        self.few.clear();
    }

    /// Iterates over the indices in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let is_listed = self.few.len() == self.count;
        let words = if is_listed { &[] } else { &*self.words };
        Indices {
            few: self.few.iter(),
            words: words.iter(),
            word: 0,
            base: 0_usize.wrapping_sub(64),
        }
    }
}

/// A selection of at most one in so many elements has a list of its indices.
const ELEMENTS_PER_FEW: usize = 16;

/// The indices in ascending order are inserted a word at a time; others one by one. An index beyond
/// the array is left out.
///
/// ```
/// use tightwire::stream::Selection;
///
/// let mut dirty = Selection::new(4096);
/// dirty.extend([7, 300, 301, 5000]);
/// assert_eq!(dirty.iter().collect::<Vec<_>>(), [7, 300, 301]);
/// ```
impl Extend<usize> for Selection {
    #[inline]
    fn extend<I: IntoIterator<Item = usize>>(&mut self, indices: I) {
        let mut indices = indices.into_iter();
        // While they are few, they are also listed.
        while self.few.len() == self.count && self.few.len() < self.few.capacity() {
            let Some(index) = indices.next() else { return };
            let is_next = self.few.last().is_none_or(|&last| index > last as usize);
            if !is_next || self.len > u32::MAX as usize {
                self.insert(index);
            } else if index < self.len {
                self.append(index as u32, true);
            }
        }
        let len = self.len;
        let (mut place, mut word) = (0, 0);
        for index in indices.filter(|&index| index < len) {
            if index / 64 != place {
                self.add_word(place, word);
                (place, word) = (index / 64, 0);
            }
            word |= 1 << (index % 64);
        }
        self.add_word(place, word);
    }
}

impl Selection {
    /// The largest index; `None` of an empty selection.
    pub(super) fn last(&self) -> Option<usize> {
        let word = self.words.iter().rposition(|&word| word != 0)?;
        Some(word * 64 + self.words[word].ilog2() as usize)
    }

    /// The indices in ascending order, if they are listed.
    #[inline]
    pub(super) fn listed(&self) -> Option<&[u32]> {
        (self.few.len() == self.count).then_some(&self.few)
    }

    /// Whether the list has room for `count` indices; they are appended to an empty selection.
    #[inline]
    pub(super) fn begin_list(&self, count: u64) -> bool {
        self.count == 0 && count <= self.few.capacity() as u64 && self.len <= u32::MAX as usize
    }

    /// Appends an index above all others, into the list as well if [`begin_list`](Self::begin_list) says so.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn append(&mut self, index: u32, is_listed: bool) {
        let Some(word) = self.words.get_mut(index as usize / 64) else { return };
        *word |= 1 << (index % 64);
        self.count += 1;
        if is_listed && self.few.len() < self.few.capacity() {
            self.few.push(index);
        }
    }

    /// Adds the indices whose bits are set in word `place`. They are not listed.
    #[inline]
    pub(super) fn add_word(&mut self, place: usize, bits: u64) {
        self.few.clear();
        if let Some(word) = self.words.get_mut(place) {
            self.count += (bits & !*word).count_ones() as usize;
            *word |= bits;
        }
    }
}

/// Iterator over the set bits.
struct Indices<'a> {
    /// The indices of a selection that is listed; `words` is empty then.
    few: core::slice::Iter<'a, u32>,
    words: core::slice::Iter<'a, u64>,
    /// Bits left of the last word.
    word: u64,
    /// Index of the first bit of that word.
    base: usize,
}

impl Iterator for Indices<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            // Words come first: if there are many indices, the list is empty and costs nothing.
            let Some(&word) = self.words.next() else {
                return self.few.next().map(|&index| index as usize);
            };
            self.word = word;
            self.base = self.base.wrapping_add(64);
        }
        let index = self.base + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(index)
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
