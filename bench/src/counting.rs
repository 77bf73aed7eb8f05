//! The system allocator with a count of the allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Allocations (and growths) since the program started.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Relaxed)
}

pub struct Counting;

/// A load and a store instead of an atomic addition: the program has one thread,
/// and a locked instruction in each allocation would be timed with the libraries
/// which allocate.
fn count() {
    ALLOCATIONS.store(ALLOCATIONS.load(Relaxed) + 1, Relaxed);
}

// SAFETY: every call goes to `System` unchanged, so its contract is kept as it is;
// counting touches one static and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
