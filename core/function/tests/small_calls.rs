//! A small call allocates nothing: its steps are made once, and its slots belong to the thread.
#![allow(unsafe_code, clippy::unwrap_used)] // counts allocations, and lends memory of its own

use std::{
    alloc::{GlobalAlloc, Layout as HeapLayout, System},
    cell::Cell,
};

use devarray_function::{
    ElementType::{self, F16, F32, F64, U8},
    Function,
    executor::Prepared,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Layout, Order};

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

/// Counts the allocations of a call of a function on 1,000 elements, after a first call. The inputs
/// have any shape with as many elements, and the first one may be transposed.
fn allocations(text: &str, of: ElementType, shape: &[usize], turned: bool) -> usize {
    let layout = Layout::contiguous(shape, Order::C).unwrap();
    let other = Layout::contiguous(&shape.iter().rev().copied().collect::<Vec<_>>(), Order::C).unwrap();
    let other = if turned { other.transpose() } else { layout.clone() };
    let program = Function::parse(text, &[of; 3], &[]).unwrap().expand();
    let memory = vec![[1_u64; 1000]; 3];
    let mut out = vec![0_u64; 1000];
    let inputs = [&other, &layout, &layout];
    let inputs: [InputElements<'_>; 3] =
        std::array::from_fn(|at| InputElements { start: memory[at].as_ptr().cast(), layout: inputs[at] });
    let result = ResultElements { start: out.as_mut_ptr().cast(), layout: &layout };
    let call = || {
        // SAFETY: every operand has 1,000 elements of at most 8 bytes
        unsafe { Prepared::of(&program).run(&inputs, &[], result, 0..1000) }
    };
    call();
    let before = ALLOCATIONS.get();
    call();
    ALLOCATIONS.get() - before
}

#[test]
fn a_small_call_allocates_nothing() {
    let texts = [
        ("x0 + x1", F32),
        ("x0 * 2.5 + x1", F32),
        ("exp(x0)", F32),
        ("x0 ** x1", F32),
        ("where(x0 < x1, x1, x2)", F32),
        ("((((x0 * .1 + .2) * x0 + .3) * x1 + .4) * x0 + .5) * x2 + tanh(x0)", F32),
        ("exp(x0) + x1 * x2", F64),
        ("x0 + x1 * x2", F16),
        ("x0 + x1", U8),
    ];
    for (text, of) in texts {
        assert_eq!(allocations(text, of, &[1000], false), 0, "{text} of {of:?}");
        assert_eq!(allocations(text, of, &[20, 50], true), 0, "{text} of {of:?}, transposed");
        assert_eq!(allocations(text, of, &[5, 10, 20], true), 0, "{text} of {of:?}, transposed");
    }
}

/// The twin: allocations are counted. A call with more inputs and slots is no longer small.
#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1_u8]));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}
