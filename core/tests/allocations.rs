//! Layouts, views and plans of up to six axes never allocate on the heap; a seventh axis does, and
//! is counted.
#![allow(unsafe_code)] // counting allocations needs an allocator, whose trait is unsafe

use std::{
    alloc::{GlobalAlloc, Layout as HeapLayout, System},
    cell::Cell,
    hint::black_box,
};

use devarray::{Array, Context, Layout, NdLayout, Order, backend::Capabilities, copy::Plan, ix};
use devarray_mock::MockDevice;

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

/// The allocations of every transform and query of views of `rank` axes, on the device and off it.
fn view_allocations(rank: usize) -> usize {
    let context = Context::new(MockDevice::new()).expect("a simulator");
    let stream = context.stream().expect("a stream");
    let mut array = Array::<u16, _>::zeros(&stream, &vec![4; rank]).expect("few elements");
    let reversed: Vec<isize> = (0..rank.cast_signed()).rev().collect();
    let paired: Vec<usize> = std::iter::once(2).chain(std::iter::repeat_n(4, rank - 2)).chain([8]).collect();
    let shape = vec![4; rank];
    let before = ALLOCATIONS.get();
    let view = array.view();
    black_box(view.permute(&reversed).expect("a permutation"));
    black_box(view.transpose());
    black_box(view.swap_axes(0, -1).expect("two axes"));
    black_box(view.flip(&[0, -1]).expect("two axes"));
    black_box(view.index(&ix![1..3, ..; -2]).expect("two axes"));
    black_box(view.slice_axis(-1, 1..).expect("an axis"));
    black_box(view.squeeze());
    black_box(view.reshape(&paired[..], Order::C).expect("as many elements"));
    black_box(view.ravel(Order::C).expect("contiguous"));
    black_box(view.broadcast_to(&shape).expect("the same shape"));
    black_box(view.array_split(0, 3).expect("an axis").fold(0, |sum, part| sum + part.len()));
    black_box(view.split_at(-1, &[1, 3]).expect("an axis").fold(0, |sum, part| sum + part.len()));
    black_box((
        view.is_c_contiguous(),
        view.layout().injectivity(),
        view.layout().dense_like(Order::K).is_ok(),
    ));
    for part in array.view_mut().array_split(1, 2).expect("an axis") {
        black_box(part.permute(&reversed).expect("a permutation"));
    }
    ALLOCATIONS.get() - before
}

/// The allocations of every query of a plan, for a reversal of `rank` axes of extent 2.
fn allocations(rank: usize) -> usize {
    let shape = vec![2; rank];
    let [dst, src] =
        [Order::C, Order::F].map(|order| Layout::contiguous(&shape, order).expect("few elements"));
    let capabilities = Capabilities::default();
    let before = ALLOCATIONS.get();
    let plan = Plan::new(&dst, &src, 4, &capabilities).expect("a dense destination");
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
        assert_eq!(allocations(rank), 0, "plans of rank {rank}");
        assert_eq!(view_allocations(rank), 0, "views of rank {rank}");
    }
}

/// The twin: the counter sees plans and views that do need the heap.
#[test]
fn seven_axes_are_counted() {
    assert!(allocations(7) > 0);
    assert!(view_allocations(7) > 0);
}
