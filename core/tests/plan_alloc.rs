//! Planning, walking, cutting and staging up to six axes never touch the heap; a seventh axis does, and is counted.
#![allow(unsafe_code)] // counting allocations needs an allocator, whose trait is unsafe

use std::{
    alloc::{GlobalAlloc, Layout as HeapLayout, System},
    cell::Cell,
    hint::black_box,
};

use devarray::{Layout, Order, backend::Capabilities, copy::Plan};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting the allocations of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged; a growing allocation goes through `alloc` by default.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: HeapLayout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise, unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: HeapLayout) {
        // SAFETY: the caller's promise, unchanged; `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of everything a plan can be asked, for a reversal of `rank` axes of extent 2.
fn allocations(rank: usize) -> usize {
    let shape = vec![2; rank];
    let dst = Layout::contiguous(&shape, Order::C).unwrap();
    let src = Layout::contiguous(&shape, Order::F).unwrap();
    let capabilities = Capabilities::default();
    let before = ALLOCATIONS.get();
    let plan = Plan::new(&dst, &src, 4, &capabilities).unwrap();
    assert_eq!(plan.axes().len(), rank);
    black_box(plan.runs().fold(0, |sum, (src, dst, len)| sum ^ src ^ dst ^ len));
    for block in plan.blocks(24) {
        black_box((block.pack(), block.unpack(), block.dense_src_range(), block.dst_span()));
    }
    ALLOCATIONS.get() - before
}

#[test]
fn six_axes_stay_off_the_heap() {
    for rank in 2..=6 {
        assert_eq!(allocations(rank), 0, "rank {rank}");
    }
}

/// The twin: the counter sees a plan that does need the heap.
#[test]
fn seven_axes_are_counted() {
    assert!(allocations(7) > 0);
}
