//! The system allocator with counters of allocations and of live bytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of allocations and reallocations since the program started.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Relaxed)
}

/// Returns the bytes that are allocated now.
pub fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

pub struct Counting;

/// Counts an allocation, and the bytes that are allocated and freed by it. A load and a store instead of an atomic addition: the program has one
/// thread, and a locked instruction in each allocation would add to the times of libraries that
/// allocate.
fn count(allocated: usize, freed: usize) {
    ALLOCATIONS.store(ALLOCATIONS.load(Relaxed) + 1, Relaxed);
    free(freed.wrapping_sub(allocated));
}

/// Counts freed bytes.
fn free(freed: usize) {
    LIVE.store(LIVE.load(Relaxed).wrapping_sub(freed), Relaxed);
}

// SAFETY: every call goes to `System` unchanged, so its contract is kept; counting touches one
// static and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        free(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}
