//! Threads on one stream, and streams that wait for each other.
#![allow(unsafe_code)] // adopts memory that the test keeps

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    thread,
};

use devarray::{
    Array, Context, Error, Layout, Order, Result,
    kernel::{Grid, Image, InOut},
};
use devarray_host::HostDevice;

use crate::gates::{self, Wait};

fn context() -> Result<Context<HostDevice>> {
    Context::new(HostDevice::builder().capacity_bytes(256 << 20).threads(1).build())
}

static INSIDE: AtomicBool = AtomicBool::new(false);

devarray::kernel! {
    /// Adds 1, slowly, and notices if another one runs.
    struct Alone(to: InOut<u32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        assert!(!INSIDE.swap(true, SeqCst), "two operations of one stream run");
        for to in to.iter_mut() {
            let before = *to;
            thread::yield_now();
            *to = before + 1;
        }
        INSIDE.store(false, SeqCst);
    }
}

#[test]
fn two_arrays_over_the_same_memory_are_used_in_order() -> Result<()> {
    const TIMES: u32 = 300;
    let context = context()?;
    let stream = context.stream()?;
    let memory = vec![0_u32; 64 + 64].leak();
    let offset = memory.as_ptr().align_offset(256);
    let address = memory[offset..].as_mut_ptr().expose_provenance() as u64;
    let layout = Layout::contiguous(&[64], Order::C)?;
    thread::scope(|scope| {
        let users: Vec<_> = (0..2)
            .map(|_| {
                // SAFETY: 64 elements that are never freed; all work on them is given to one stream.
                let mut array = unsafe { Array::<u32, _>::adopt(&stream, address, &layout, ()) }?;
                let stream = &stream;
                Ok(scope.spawn(move || {
                    for _ in 0..TIMES {
                        Alone::launch(stream, &mut array)?;
                    }
                    array.to_vec(stream)
                }))
            })
            .collect::<Result<_>>()?;
        let seen: Vec<Vec<u32>> =
            users.into_iter().map(|user| user.join().unwrap()).collect::<Result<_>>()?;
        assert!(seen.iter().any(|seen| seen[..] == [2 * TIMES; 64]), "the last one sees all: {seen:?}");
        Ok(())
    })
}

#[test]
fn a_wait_for_an_event_holds_back_later_operations_alone() -> Result<()> {
    let (context, gate) = (context()?, gates::new());
    let (first, second, third) = (context.stream()?, context.stream()?, context.stream()?);
    let mut slow = Array::<u32, _>::zeros(&first, &[3])?;
    let mut next = Array::<u32, _>::zeros(&second, &[3])?;
    let mut last = Array::<u32, _>::zeros(&third, &[3])?;
    let begun = AtomicU32::new(0);
    thread::scope(|scope| {
        let long = scope.spawn(|| Wait::launch(&first, &mut slow, gate));
        gates::await_arrival(gate);
        let begin = first.record_timed()?;
        next.view_mut().fill(&second, 7)?;
        // The third stream waits for the second, which only waits: the order is transitive.
        second.wait(&first.record()?)?;
        let through = second.record()?;
        third.wait(&through)?;
        assert!(!through.query()?);
        assert_eq!(begin.elapsed_since(&begin)?, None, "it is not over");
        let later = scope.spawn(|| {
            begun.store(1, SeqCst);
            last.view_mut().fill(&third, 9)?;
            // By now the long operation must be over.
            first.record()?.query()
        });
        while begun.load(SeqCst) == 0 {
            thread::yield_now();
        }
        assert!(!third.record()?.query()?);
        gates::open(gate);
        assert!(later.join().unwrap()?, "an operation ran before what its stream waits for");
        long.join().unwrap()?;
        assert_eq!(begin.elapsed_since(&begin)?, Some(std::time::Duration::ZERO));
        Ok::<(), Error>(())
    })?;
    assert_eq!((next.to_vec(&second)?, last.to_vec(&third)?), (vec![7; 3], vec![9; 3]));
    Ok(())
}

devarray::kernel! {
    /// Panics when it runs.
    struct Panics(to: InOut<u32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host { assert!(to.is_empty(), "told to") }
}

#[test]
fn a_panic_ends_the_turn() -> Result<()> {
    let context = context()?;
    let stream = context.stream()?;
    let mut array = Array::<u32, _>::zeros(&stream, &[3])?;
    for round in 1..4 {
        thread::scope(|scope| {
            let panics = scope.spawn(|| Panics::launch(&stream, &mut array));
            assert!(panics.join().is_err());
        });
        stream.synchronize()?;
        array.view_mut().fill(&stream, round)?;
        assert_eq!(array.to_vec(&stream)?, [round; 3]);
    }
    Ok(())
}

/// Many threads, few streams and waits between them: nothing hangs, and every operation takes
/// effect.
#[test]
fn streams_that_wait_for_each_other_do_not_hang() -> Result<()> {
    const ROUNDS: u32 = 200;
    let context = context()?;
    let streams = [context.stream()?, context.stream()?, context.stream()?];
    let call = |number: usize| {
        let mut array = Array::<u32, _>::zeros(&streams[number % 3], &[16])?;
        for round in 0..ROUNDS as usize {
            let (one, two) = (&streams[(number + round) % 3], &streams[(number + 2 * round + 1) % 3]);
            one.wait(&two.record()?)?;
            array.view_mut().map_in_place(one, |x| x + 1)?;
            drop(array.view().to_contiguous(two, Order::C)?);
        }
        array.to_vec(&streams[0])
    };
    thread::scope(|scope| {
        let calls: Vec<_> = (0..6).map(|number| scope.spawn(move || call(number))).collect();
        for call in calls {
            assert_eq!(call.join().unwrap()?, [ROUNDS; 16]);
        }
        Ok(())
    })
}
