//! No layout operation touches the heap to rank 6, counted by the global allocator.
#![allow(unsafe_code)] // a global allocator is an unsafe trait

use std::{
    alloc::{GlobalAlloc, System},
    cell::Cell,
    hint::black_box,
};

use devarray::{Layout, NdLayout, Order, ix};

/// The system's allocator, counting the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends may allocate after its counter is gone.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: the pointer came from `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations made by `call`.
fn allocations<T>(call: impl FnOnce() -> T) -> usize {
    let before = CALLS.get();
    drop(black_box(call()));
    CALLS.get() - before
}

#[test]
fn nothing_is_allocated_to_rank_6() {
    let extents = [4_usize, 3, 2, 6, 1, 5];
    for rank in 0..=6 {
        let shape = &extents[..rank];
        let layout = Layout::contiguous(shape, Order::C).unwrap();
        let backwards: Vec<isize> = (0..isize::try_from(rank).unwrap()).rev().collect();
        let turned = layout.transpose().unwrap();
        let half = rank / 2;
        let merged: Vec<isize> = extents[half..rank].iter().map(|_| 1).chain([-1]).collect();
        let checks: &[(&str, &dyn Fn() -> usize)] = &[
            ("new", &|| allocations(|| Layout::new(shape, layout.strides(), 0))),
            ("contiguous", &|| allocations(|| Layout::contiguous(shape, Order::F))),
            ("of", &|| allocations(|| Layout::of(&layout))),
            ("clone", &|| allocations(|| layout.clone())),
            ("permute", &|| allocations(|| layout.permute(&backwards).unwrap())),
            ("transpose", &|| allocations(|| layout.transpose().unwrap())),
            ("flip", &|| allocations(|| layout.flip(&backwards).unwrap())),
            ("squeeze", &|| allocations(|| layout.squeeze().unwrap())),
            ("index", &|| allocations(|| layout.index(&ix![Ellipsis]).unwrap())),
            ("broadcast_to", &|| allocations(|| layout.broadcast_to(shape).unwrap())),
            ("reshape", &|| allocations(|| layout.reshape(&merged[..rank.min(1)], Order::C))),
            ("reshape that needs a copy", &|| allocations(|| turned.reshape(&[-1], Order::C))),
            ("ravel", &|| allocations(|| layout.ravel(Order::K).unwrap())),
            ("dense_like", &|| allocations(|| turned.dense_like(Order::K).unwrap())),
            ("injectivity", &|| allocations(|| turned.injectivity())),
            ("overlap", &|| allocations(|| turned.overlap(&layout))),
            ("an error", &|| allocations(|| layout.permute(&[9; 6]).unwrap_err())),
        ];
        for (name, count) in checks {
            assert_eq!(count(), 0, "{name}, rank {rank}");
        }
        if rank > 0 {
            assert_eq!(allocations(|| layout.index(&ix![1, Ellipsis, NewAxis]).unwrap()), 0);
            assert_eq!(allocations(|| layout.slice_axis(-1, 1..).unwrap()), 0);
            assert_eq!(allocations(|| layout.swap_axes(0, -1).unwrap()), 0);
            assert_eq!(allocations(|| layout.array_split(0, 3).unwrap().for_each(drop)), 0);
            assert_eq!(allocations(|| layout.split_at(0, &[1, 2]).unwrap().for_each(drop)), 0);
        }
        if rank < 6 {
            assert_eq!(allocations(|| layout.expand_dims(0).unwrap()), 0);
            assert_eq!(allocations(|| layout.with_item_bytes(12).unwrap()), 0);
        }
    }
    let line = Layout::contiguous(&[100], Order::C).unwrap();
    assert_eq!(allocations(|| line.split(7).unwrap().for_each(drop)), 0);
}

/// The counter counts: one axis more needs the heap, once for the shape and once for the strides.
#[test]
fn rank_7_is_counted() {
    let layout = Layout::contiguous(&[2; 7], Order::C).unwrap();
    assert_eq!(allocations(|| layout.clone()), 2);
}
