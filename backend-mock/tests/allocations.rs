//! Counts the heap memory that the simulator takes for one play of a program. The numbers are equal on every
//! machine, so the test notices a change that allocates more.
#![allow(unsafe_code)] // counting allocations needs an allocator, whose trait is unsafe
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../examples/edge_deletion/generator.rs"]
#[allow(dead_code)] // shared with an example that uses all of it
mod generator;
#[path = "../examples/edge_deletion/oracle.rs"]
mod oracle;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use devarray::{Array, Context};
use devarray_mock::{Builder, MockDevice, Schedule, program::Program};

/// The most allocations for a play of twelve operations; it was 50 when this was written.
const MOST_A_PLAY: usize = 52;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, which also counts the allocations and the bytes of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged; a growing allocation goes through `alloc` by default.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size().cast_signed());
        // SAFETY: the caller's promise, unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size().cast_signed());
        // SAFETY: the caller's promise, unchanged; `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Generates random correct programs of twelve operations.
fn programs() -> Vec<Program> {
    let drawn = (0..).map(|seed| generator::right(seed, 14)).filter_map(|mut program| {
        let ops = program["ops"].as_array_mut().unwrap();
        ops.truncate(12);
        (ops.len() == 12).then(|| Program::parse(program.to_string().as_bytes()).unwrap())
    });
    drawn.take(100).collect()
}

/// The average number of allocations for one play, on devices with these options. Checks that all of them
/// are freed again.
fn allocations_a_play(options: &Builder) -> usize {
    const ROUNDS: u64 = 10;
    let programs = programs();
    let before = (ALLOCATIONS.get(), LIVE_BYTES.get());
    for seed in 0..ROUNDS {
        for program in &programs {
            let device = options.clone().schedule(Schedule::Random).seed(seed).build();
            assert!(program.play_on_mock(&device).unwrap().is_ok());
        }
    }
    assert_eq!(LIVE_BYTES.get(), before.1);
    (ALLOCATIONS.get() - before.0).div_ceil(programs.len() * 10)
}

#[test]
fn a_play_of_twelve_operations_takes_few_allocations() {
    let options = MockDevice::builder();
    let allocations = allocations_a_play(&options);
    assert!(allocations <= MOST_A_PLAY, "{allocations} allocations a play");
    assert!(allocations_a_play(&options.record_timeline(true)) > MOST_A_PLAY, "what is recorded is counted");
}

/// The most live bytes at any time during `operations` operations for which the host never waits.
fn most_live_bytes(options: &Builder, operations: isize) -> isize {
    let before = LIVE_BYTES.get();
    let context = Context::new(options.clone().schedule(Schedule::Eager).build()).unwrap();
    let streams = [context.stream().unwrap(), context.stream().unwrap()];
    let mut array = Array::<u8, _>::zeros(&streams[0], &[256]).unwrap();
    let mut most = 0;
    for k in 0..operations {
        let mut part = array.view_mut().slice_axis(0, k % 61..k % 61 + 7).unwrap();
        part.fill(&streams[usize::from(k % 3 == 0)], 1).unwrap();
        most = most.max(LIVE_BYTES.get() - before);
    }
    most
}

#[test]
fn what_is_kept_does_not_grow_with_the_number_of_operations() {
    let options = MockDevice::builder();
    assert_eq!(most_live_bytes(&options, 30_000), most_live_bytes(&options, 3_000));
    let options = options.record_order(true);
    assert!(
        most_live_bytes(&options, 30_000) > most_live_bytes(&options, 3_000),
        "an order grows, and that is seen"
    );
}
