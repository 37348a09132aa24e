//! Memory that both host and device reach: slices of it while the device works, and views of it
//! that are forgotten.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use devarray::{Array, ManagedArray, MappedArray, Order, PinnedLimits, backend::Location};

use super::{devices, open};

#[test]
fn forgotten_views_and_slices_leave_no_way_in() {
    for device in devices() {
        let (context, stream) = open(&device);
        let mut mapped = MappedArray::<u32, _>::zeros(&context, &[40]).unwrap();
        let mut view = mapped.view_mut();
        view.fill(&stream, 1).unwrap();
        mem::forget(view);
        assert_eq!(mapped.host().unwrap(), [1; 40]);
        let slice = mapped.host_mut().unwrap();
        slice.fill(2);
        mem::forget(Box::new(slice));
        mapped.view_mut().slice_axis(0, ..20).unwrap().fill(&stream, 3).unwrap();
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            mapped.host_mut().unwrap()[39] = 4;
            resume_unwind(Box::new("with a slice in hand"));
        }));
        assert!(unwound.is_err());
        let mut due = [2; 40];
        due[..20].fill(3);
        due[39] = 4;
        assert_eq!(mapped.host().unwrap(), due);
        assert_eq!(mapped.view().to_vec(&stream).unwrap(), due);
    }
}

/// Device and host read together, on several threads, while nobody can write.
#[test]
fn host_and_device_read_at_once() {
    for device in devices() {
        let (context, stream) = open(&device);
        let mut managed = ManagedArray::<u16, _>::zeros(&context, &[200]).unwrap();
        managed.host_mut().unwrap().fill(6);
        managed.prefetch(&stream, Location::Device).unwrap();
        let slice = managed.host().unwrap();
        let copies: Vec<Array<u16, _>> = thread::scope(|threads| {
            let read = |_| {
                threads.spawn(|| {
                    let own = context.stream().unwrap();
                    let copy = managed.view().to_contiguous(&own, Order::C).unwrap();
                    managed.prefetch(&own, Location::Host).unwrap();
                    assert_eq!(slice, [6; 200]);
                    copy
                })
            };
            let threads: Vec<_> = (0..4).map(read).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(slice, managed.host().unwrap());
        managed.host_mut().unwrap().fill(7);
        assert!(copies.iter().all(|copy| copy.to_vec(&stream).unwrap() == [6; 200]));
    }
}

/// Arrays are dropped with work in flight, and the pool would hand out their memory again at once.
#[test]
fn memory_dropped_in_flight_is_not_handed_out_again() {
    for device in devices() {
        let (context, stream) = open(&device);
        context.set_pinned_limits(PinnedLimits::new(1 << 20, 1 << 20));
        let mut held = Vec::new();
        for value in 1..8 {
            let mut mapped = MappedArray::<u8, _>::zeros(&context, &[3000]).unwrap();
            mapped.view_mut().fill(&stream, value).unwrap();
            drop(mapped);
            let next = MappedArray::<u8, _>::zeros(&context, &[3000]).unwrap();
            assert_eq!(next.host().unwrap(), [0; 3000]);
            held.push(next);
        }
        stream.synchronize().unwrap();
        assert!(held.iter().all(|mapped| mapped.host().unwrap() == [0; 3000]));
    }
}

/// The context and its streams are dropped first; the array still waits before it shows its memory.
#[test]
fn a_slice_is_right_when_context_and_stream_are_gone() {
    for device in devices() {
        let (context, stream) = open(&device);
        let mut mapped = MappedArray::<u64, _>::zeros(&context, &[10, 10]).unwrap();
        mapped.view_mut().transpose().fill(&stream, 8).unwrap();
        drop((context, stream));
        assert_eq!(mapped.host_mut().unwrap(), [8; 100]);
        mem::forget(mapped);
    }
}

/// The last clone of a shared array is dropped on any thread, while others still read.
#[test]
fn the_last_of_many_owners_frees() {
    for device in devices() {
        let (context, stream) = open(&device);
        let shared = Array::full(&stream, &[500], 3_u32).unwrap().into_shared();
        let seen: Vec<Vec<u32>> = thread::scope(|threads| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    let (mine, context) = (shared.clone(), context.clone());
                    threads.spawn(move || {
                        let own = context.stream().unwrap();
                        let copy = mine.view().to_contiguous(&own, Order::C).unwrap();
                        drop(mine);
                        copy.to_vec(&own).unwrap()
                    })
                })
                .collect();
            drop(shared);
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        assert_eq!(seen.concat(), [3; 2000]);
        assert_eq!(context.take_errors(), []);
    }
}
