//! A device chosen at run time makes no more heap allocations than its backend's own device.
#![allow(unsafe_code)] // counting allocations needs an allocator, whose trait is unsafe

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use devarray::{Array, Compute, Context, Result, gather::OutOfRange};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::{MockDevice, Schedule};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting the allocations of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged; a growing allocation goes through `alloc` by default.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise, unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, unchanged; `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations of each of several calls, when they are made for the second time.
fn allocations<D: Compute>(device: D) -> Result<Vec<usize>> {
    let stream = Context::new(device)?.stream()?;
    let x = Array::full(&stream, &[4, 4], 1.5_f32)?;
    let mut y = Array::zeros(&stream, &[4, 4])?;
    let mut counts = Vec::with_capacity(64);
    for _ in 0..2 {
        counts.clear();
        let mut last = ALLOCATIONS.get();
        let mut count = || {
            let now = ALLOCATIONS.get();
            counts.push(now - std::mem::replace(&mut last, now));
        };
        y.copy_from(&stream, &x)?;
        count();
        y.view_mut().copy_from(&stream, &x.view().transpose())?;
        count();
        y.fill(&stream, 2.5)?;
        count();
        x.map_into(&stream, &mut y, |x| x + x)?;
        count();
        let sum = x.view().sum(&stream, 1)?;
        count();
        let variance = x.view().var(&stream, 1)?;
        count();
        let joined = Array::concatenate(&stream, &[x.view(), y.view(), x.view()], 0)?;
        count();
        let taken =
            x.view().take(&stream, &Array::from_slice(&stream, &[2], &[1_i32, 3])?, 0, OutOfRange::Error)?;
        count();
        let item = sum.view().sum(&stream, ..)?.item(&stream)?;
        count();
        drop((variance, joined, taken));
        stream.synchronize()?;
        count();
        assert_eq!(item, 24.0);
    }
    Ok(counts)
}

#[test]
fn a_call_takes_nothing_more_from_the_heap() -> Result<()> {
    let mock = || MockDevice::builder().schedule(Schedule::Eager).seed(1).build();
    assert_eq!(allocations(AnyDevice::from(mock()))?, allocations(mock())?);
    let host = || HostDevice::builder().threads(1).build();
    assert_eq!(allocations(AnyDevice::from(host()))?, allocations(host())?);
    Ok(())
}

/// The twin that must fail: calls that are made differently have different counts.
#[test]
fn what_is_counted_differs_between_calls() -> Result<()> {
    let counts = allocations(MockDevice::builder().schedule(Schedule::Eager).seed(1).build())?;
    assert!(counts.iter().any(|&count| count > 0) && counts.iter().any(|&count| count != counts[0]));
    Ok(())
}
