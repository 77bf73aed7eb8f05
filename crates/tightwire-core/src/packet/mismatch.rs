//! Differences between the protocols of two sides.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use super::Identity;
use crate::bytes::Packing;
use crate::schema::{Difference, DifferenceKind};

/// Reasons why two sides refuse each other's packets: every difference between their
/// [identities](Identity). `Display` prints the ids, and a line for each difference.
///
/// ```
/// use tightwire::packet::{Identity, Protection};
/// use tightwire::schema::Schema;
///
/// let here = Identity::new("arena", "1.0", Protection::Crc32, Schema::of::<u8>());
/// let there = Identity::new("duel", "1.0", Protection::Crc32, Schema::of::<u8>());
/// let mismatch = here.mismatch(&there).unwrap();
/// assert!(mismatch.to_string().ends_with("  game: \"arena\" here, \"duel\" there\n"));
/// assert!(here.mismatch(&here).is_none());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MismatchError {
    here: u64,
    there: u64,
    differences: Vec<Difference>,
}

impl Identity {
    /// Compares the identities of both sides; `None` if their ids are equal.
    #[must_use]
    pub fn mismatch(&self, there: &Self) -> Option<MismatchError> {
        let (here, other) = (self.id(), there.id());
        if here == other {
            return None;
        }
        let mut mismatch = MismatchError { here, there: other, differences: Vec::new() };
        // Quoted and escaped, since the text may come from an attacker.
        let quoted = |text: &str| format!("{text:?}");
        let on = |checks| if checks { "on" } else { "off" };
        let in_words = |packing| match packing {
            Packing::Bits => "bits",
            Packing::Bytes => "whole bytes",
        };
        mismatch.add("game", quoted(self.game()), quoted(there.game()));
        mismatch.add("version", quoted(self.version()), quoted(there.version()));
        mismatch.add("protection", self.protection(), there.protection());
        mismatch.add("checks", on(self.has_checks()), on(there.has_checks()));
        mismatch.add("packing", in_words(self.packing()), in_words(there.packing()));
        let layout = self.schema().diff(there.schema());
        let changes = layout.iter().filter(|difference| difference.changes_bytes());
        mismatch.differences.extend(changes.cloned());
        Some(mismatch)
    }
}

impl MismatchError {
    /// Iterates over the differences: first those of the identity, then those of the packets in the
    /// order of their bits.
    ///
    /// ```
    /// use tightwire::packet::{Identity, Protection};
    /// use tightwire::schema::Schema;
    ///
    /// let here = Identity::new("arena", "1.0", Protection::Crc32, Schema::of::<u8>());
    /// let there = Identity::new("arena", "1.0", Protection::Sealed(()), Schema::of::<u8>());
    /// let mismatch = here.mismatch(&there).unwrap();
    /// let difference = mismatch.iter().next().unwrap();
    /// assert_eq!(difference.path, "protection");
    /// assert_eq!(difference.there.as_deref(), Some("Sealed"));
    /// ```
    pub fn iter(&self) -> core::slice::Iter<'_, Difference> {
        self.differences.iter()
    }

    fn add<T: fmt::Display + PartialEq>(&mut self, path: &str, here: T, there: T) {
        if here != there {
            let (here, there) = (here.to_string(), there.to_string());
            self.differences.push(Difference::new(path, DifferenceKind::Setting, here, there));
        }
    }
}

impl fmt::Display for MismatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "protocol {:016x} here, {:016x} there:", self.here, self.there)?;
        self.differences.iter().try_for_each(|difference| writeln!(f, "  {difference}"))
    }
}

impl core::error::Error for MismatchError {}
