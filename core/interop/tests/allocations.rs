//! Counts the allocations of the doors: one for each object that needs a place of its own.
#![allow(unsafe_code, clippy::unwrap_used)] // counts allocations, and stands for other code

use std::{
    alloc::{GlobalAlloc, Layout as HeapLayout, System},
    cell::Cell,
    hint::black_box,
};

use devarray::{Array, Context, ErasedArray, StreamHandle, backend::ForeignMemory};
use devarray_interop::{Consumer, Door, Tensor};
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

/// The number of allocations of a call, and its result.
fn counted<R>(call: impl FnOnce() -> R) -> (usize, R) {
    let before = ALLOCATIONS.get();
    let answer = black_box(call());
    (ALLOCATIONS.get() - before, answer)
}

fn open() -> (Context<MockDevice>, StreamHandle<MockDevice>) {
    let context = Context::new(MockDevice::new()).unwrap();
    let stream = context.stream().unwrap();
    (context, stream)
}

/// The number of allocations of the simulator itself when it adopts memory that it has.
fn of_the_simulator(context: &Context<MockDevice>, array: &ErasedArray<MockDevice>) -> usize {
    let start = array.address();
    // SAFETY: memory of the array, which outlives this.
    let adopt = || unsafe { context.device().adopt(start, 0..64) }.unwrap();
    // The first call may grow the simulator's own lists.
    drop(adopt());
    counted(adopt).0
}

/// Three places: the owner, the allocation and the tensor. A layout with gaps is the fourth.
#[test]
fn an_import_allocates_three_times() {
    let (context, stream) = open();
    let array = Array::<f32, _>::zeros(&stream, &[8, 8]).unwrap().into_erased();
    let own = of_the_simulator(&context, &array);
    let tensor = Tensor::new(array, devarray_interop::DataType::of_name("float32").unwrap()).unwrap();
    stream.synchronize().unwrap();
    let columns = tensor.layout().slice_axis(1, 2..5).unwrap();
    for (layout, due) in [(tensor.layout().clone(), 3), (tensor.layout().transpose(), 3), (columns, 4)] {
        let shown = tensor.with_layout(layout).unwrap();
        for _ in 0..3 {
            let exported = shown.to_dlpack(&stream, Consumer::Unordered).unwrap();
            // SAFETY: the structure is as the export made it, and nobody writes the memory.
            let (found, imported) = counted(|| unsafe { Tensor::from_dlpack(&stream, exported) }.unwrap());
            assert_eq!(found - own, due, "{:?}", shown.layout());
            drop(imported);
        }
    }
}

/// The structure and its extents and strides share one place with the object that keeps the memory.
#[test]
fn an_export_allocates_once() {
    let (_, stream) = open();
    let tensor = Tensor::from(Array::<f32, _>::zeros(&stream, &[8, 8]).unwrap());
    stream.synchronize().unwrap();
    let lend = || Door::lend_to_host(stream.device(), &tensor.erased().unwrap(), true);
    lend();
    let own = counted(lend).0;
    for _ in 0..3 {
        let (found, exported) = counted(|| tensor.to_dlpack(&stream, Consumer::Unordered).unwrap());
        assert_eq!(found - own, 1);
        drop(exported);
    }
}

/// The twin: nine axes do not fit beside the structure, and the counter shows it.
#[test]
fn nine_axes_are_counted() {
    let (context, stream) = open();
    let array = Array::<f32, _>::zeros(&stream, &[1, 2, 1, 2, 1, 2, 1, 2, 1]).unwrap().into_erased();
    let own = of_the_simulator(&context, &array);
    let tensor = Tensor::new(array, devarray_interop::DataType::of_name("float32").unwrap()).unwrap();
    stream.synchronize().unwrap();
    let (exporting, exported) = counted(|| tensor.to_dlpack(&stream, Consumer::Unordered).unwrap());
    // SAFETY: the structure is as the export made it, and nobody writes the memory.
    let (importing, _imported) = counted(|| unsafe { Tensor::from_dlpack(&stream, exported) }.unwrap());
    assert!(exporting > 1 && importing - own > 3, "{exporting} {importing}");
}
