//! Exchanges of ranks, a device of the fake each: the bits of the CPU, and what a call that fails leaves. Devices that
//! do not reach each other's memory exchange by NCCL.

use std::{num::NonZeroI32, sync::Arc};

use devarray::{
    Array, Context, Error, MappedArray, Order,
    collective::{CollectiveError, Combination},
};
use devarray_conformance::rank_programs::{Functions, RankProgram};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::{nccl, ranks_of, ranks_recorded, state::Fake};

fn contexts(fake: &Fake, ranks: usize, apart: bool) -> Vec<Context<CudaDevice>> {
    fake.state(|state| (state.devices, state.apart) = (4, apart));
    let driver = nccl::driver();
    let open = |ordinal| Context::new(CudaDevice::open_with(&driver, ordinal).unwrap()).unwrap();
    (0..ranks).map(open).collect()
}

#[test]
fn exchanges_equal_the_cpu() {
    for (ranks, apart) in [1, 2, 3].into_iter().flat_map(|ranks| [(ranks, false), (ranks, true)]) {
        let fake = Fake::new();
        let contexts = contexts(&fake, ranks, apart);
        // The last is longer than what each rank combines whole.
        ranks_of::equal_the_cpu(&contexts, || fake.install(), &[1, 7], &[16_500]);
        drop(contexts);
        let by_library = fake.state(|state| state.nccl.log.contains(&"init"));
        assert_eq!(by_library, apart && ranks > 1);
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    }
}

/// Between exchanges a launch is one of the driver; memory of a recording is given back.
#[test]
fn launches_have_the_bits_of_calls_and_are_captured_between_exchanges() {
    for (ranks, apart) in [(1, false), (2, false), (3, false), (2, true)] {
        let fake = Fake::new();
        let contexts = contexts(&fake, ranks, apart);
        ranks_recorded::launches_equal_calls(&contexts, || fake.install(), &[5, 300]);
        // Three segments of each launch, six launches of two recordings of each rank.
        let driver = contexts[0].device().driver();
        assert_eq!(driver.calls(Function::GraphLaunch), 3 * 6 * 2 * u64::try_from(ranks).unwrap());
        contexts.iter().for_each(|context| assert_eq!(context.take_errors(), []));
        drop(contexts);
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    }
}

/// Random programs of one to three ranks, `DEVARRAY_RANK_PROGRAMS` of them, half of them by NCCL.
#[test]
fn random_programs_have_the_bits_of_vectors() {
    let count = std::env::var("DEVARRAY_RANK_PROGRAMS").map_or(100, |count| count.parse().unwrap());
    for seed in 0..count {
        let program = RankProgram::drawn(seed, 1 + usize::try_from(seed % 3).unwrap());
        let fake = Fake::new();
        let contexts = contexts(&fake, program.ranks(), seed % 2 == 0);
        let outcome = program.check(&contexts, Functions::of_device(), || fake.install());
        outcome.unwrap_or_else(|violation| panic!("{violation}"));
        drop(contexts);
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new(), "{program:?}");
    }
}

/// A call that the library refuses on one rank, after all have come, fails on each: nobody waits for ever.
#[test]
fn a_call_that_fails_on_one_rank_fails_on_all() {
    for (name, status) in [("group_start", 2), ("send", 3), ("receive", 6), ("group_end", 1)] {
        let fake = Fake::new();
        let contexts = contexts(&fake, 2, true);
        let begin = || fake.install();
        let told = ranks_of::on_each(&contexts, begin, |context, ranks| {
            let stream = context.stream()?;
            let own = Array::<f32, _>::zeros(&stream, &[100])?;
            ranks.all_reduce(&stream, Combination::Sum, &own)?.to_vec(&stream)?;
            ranks.barrier()?;
            if ranks.rank() == 0 {
                fake.state(|state| state.nccl.fails = Some((name, status)));
            }
            ranks.barrier()?;
            let failed = ranks.all_reduce(&stream, Combination::Sum, &own).map(drop);
            let after = ranks.barrier();
            assert!(matches!(after, Err(Error::Collective { .. })), "{name}: {after:?}");
            failed
        });
        let library = |error: &Error| matches!(error, Error::Library { library: "NCCL", .. });
        let aborted =
            |error: &Error| matches!(error, Error::Collective { error: CollectiveError::Aborted, .. });
        let errors: Vec<Error> = told.into_iter().map(|told| told.expect_err(name)).collect();
        assert!(errors.iter().any(library), "{name}: {errors:?}");
        assert!(errors.iter().all(|error| library(error) || aborted(error)), "{name}: {errors:?}");
        drop(contexts);
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new(), "{name}");
    }
}

/// An exchange of the library that an abort cuts off is told by the next wait that covers it, also on a stream that
/// came after; one that was over is not.
#[test]
fn an_exchange_that_is_cut_off_is_told_by_a_wait() {
    for is_over in [false, true] {
        let fake = Fake::new();
        let contexts = contexts(&fake, 2, true);
        let told = ranks_of::on_each(
            &contexts,
            || fake.install(),
            |context, ranks| {
                let (stream, other) = (context.stream()?, context.stream()?);
                let own = Array::<f32, _>::zeros(&stream, &[5])?;
                let sum = ranks.all_reduce(&stream, Combination::Sum, &own)?;
                // Comes after the exchange on another stream.
                let copy = sum.view().to_contiguous(&other, Order::C)?;
                ranks.barrier()?;
                if ranks.rank() == 0 {
                    fake.state(|state| state.query = if is_over { 0 } else { 600 });
                    ranks.aborter().abort();
                    fake.state(|state| state.query = 0);
                }
                drop(ranks.barrier());
                let waits = [other.synchronize(), other.synchronize(), copy.to_vec(&other).map(drop)];
                Ok((ranks.rank(), waits))
            },
        );
        for (rank, [first, second, read]) in told.into_iter().map(Result::unwrap) {
            // The fake knows both ranks' exchanges to be over, but for the one that aborts.
            let cut = matches!(&first, Err(Error::Collective { error: CollectiveError::Aborted, .. }));
            assert_eq!(cut, !is_over, "rank {rank}: {first:?}");
            assert!(is_over == first.is_ok() && second.is_ok() && read.is_ok(), "{second:?} {read:?}");
        }
    }
}

/// Between devices that reach each other: whichever call of the driver fails, on whichever rank, each rank gets the
/// right values or an error, and nothing is left behind.
#[test]
fn a_driver_call_that_fails_leaves_each_rank_with_values_or_an_error() {
    let functions = [
        Function::EventCreate,
        Function::EventRecord,
        Function::StreamWaitEvent,
        Function::MemcpyDtoDAsync,
        Function::LaunchKernelEx,
        Function::MemAllocFromPoolAsync,
    ];
    let mut failures = 0;
    // Few bytes go by copies; more are combined in shares, and broadcast in two stages.
    let cases = [(20, 1 << 10), (20_000, 1 << 20)]
        .into_iter()
        .flat_map(|lengths| functions.into_iter().map(move |of| (lengths, of)))
        .flat_map(|(lengths, of)| (0..8).map(move |nth| (lengths, of, nth)));
    for ((summed, broadcast), function, nth) in cases {
        let fake = Fake::new();
        let contexts = contexts(&fake, 3, false);
        let driver = Arc::clone(contexts[0].device().driver());
        let told = ranks_of::on_each(
            &contexts,
            || fake.install(),
            |context, ranks| {
                let stream = context.stream()?;
                let mut sum = Array::from_slice(&stream, &[summed], &vec![1.0_f32; summed])?;
                let mut elements =
                    Array::from_slice(&stream, &[broadcast], &vec![u8::from(ranks.rank() == 2); broadcast])?;
                ranks.barrier()?;
                if ranks.rank() == 0 {
                    driver.fail(Fault::new(nth, NonZeroI32::new(400).unwrap()).of(function));
                }
                ranks.barrier()?;
                let exchanged = ranks
                    .all_reduce_in_place(&stream, Combination::Sum, &mut sum)
                    .and_then(|()| ranks.broadcast(&stream, 2, &mut elements));
                // The end of it: all have come, or it is broken.
                drop(ranks.barrier());
                driver.heal();
                exchanged?;
                Ok((sum.to_vec(&stream)?, elements.to_vec(&stream)?))
            },
        );
        let what = format!("{summed} elements, {function:?}, call {nth}");
        for told in told {
            match told {
                Ok((sum, elements)) => {
                    assert!(sum.iter().all(|&sum| sum == 3.0), "{what}");
                    assert!(elements.iter().all(|&element| element == 1), "{what}");
                }
                Err(Error::Driver { code: 400, .. } | Error::Collective { .. }) => failures += 1,
                Err(other) => panic!("{what}: {other:?}"),
            }
        }
        drop(contexts);
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new(), "{what}");
    }
    assert!(failures > 60, "{failures} failures");
}

/// An exchange of few bytes waits for one event of each other rank, and for the one before if that was on another
/// stream: its copy overwrites the copy before the last.
#[test]
fn few_bytes_wait_once_for_each_rank_and_for_the_exchange_before() {
    const CALLS: usize = 6;
    for streams in 1..=2 {
        let fake = Fake::new();
        let contexts = contexts(&fake, 2, false);
        let told = ranks_of::on_each(
            &contexts,
            || fake.install(),
            |context, ranks| {
                let streams = (0..streams).map(|_| context.stream()).collect::<Result<Vec<_>, _>>()?;
                let waits = || context.device().driver().calls(Function::StreamWaitEvent);
                let own = streams.iter().map(|on| Array::from_slice(on, &[3], &[1.0_f32; 3]));
                let mut own = own.collect::<Result<Vec<_>, _>>()?;
                ranks.barrier()?;
                let before = waits();
                for call in 0..CALLS {
                    let at = call % streams.len();
                    ranks.all_reduce_in_place(&streams[at], Combination::Sum, &mut own[at])?;
                }
                ranks.barrier()?;
                assert_eq!(waits() - before, 2 * (CALLS + (streams.len() - 1) * (CALLS - 1)) as u64);
                Ok(())
            },
        );
        told.into_iter().for_each(Result::unwrap);
        drop(contexts);
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    }
}

/// Memory outside of the pool may be open to its own device alone, so others are given a copy of it.
#[test]
fn memory_outside_of_the_pool_is_not_touched_by_other_devices() {
    const LEN: usize = 20_000;
    let fake = Fake::new();
    let contexts = contexts(&fake, 2, false);
    let told = ranks_of::on_each(
        &contexts,
        || fake.install(),
        |context, ranks| {
            let (stream, rank) = (context.stream()?, ranks.rank() as f32);
            // More than goes by copies.
            let mut sum = MappedArray::from_slice(context, &[LEN], &[rank; LEN])?;
            let mut gathered = MappedArray::<f32, _>::zeros(context, &[2, LEN])?;
            let own = Array::from_slice(&stream, &[LEN], &[7.0 + rank; LEN])?;
            ranks.barrier()?;
            let allocations = || context.device().driver().calls(Function::MemAllocFromPoolAsync);
            let before = allocations();
            ranks.all_reduce_in_place(&stream, Combination::Sum, &mut sum.view_mut())?;
            ranks.all_gather_into(&stream, &own, &mut gathered.view_mut())?;
            ranks.barrier()?;
            assert_eq!(allocations() - before, 4, "a vector for each rank and call");
            stream.synchronize()?;
            assert_eq!(sum.host()?, [1.0; LEN]);
            assert_eq!(gathered.host()?, [[7.0_f32; LEN], [8.0; LEN]].concat());
            Ok(())
        },
    );
    told.into_iter().for_each(Result::unwrap);
    drop(contexts);
    fake.assert_proper();
}

/// Without a library the error says where it was looked for.
#[test]
fn without_a_library_devices_apart_cannot_join() {
    let fake = Fake::new();
    fake.state(|state| (state.devices, state.apart) = (2, true));
    let driver = fake.driver();
    let contexts = [0, 1].map(|at| Context::new(CudaDevice::open_with(&driver, at).unwrap()).unwrap());
    for told in ranks_of::on_each(&contexts, || fake.install(), |_, _| Ok(())) {
        let Err(Error::Library { library: "NCCL", reason, .. }) = &told else { panic!("{told:?}") };
        assert!(reason.contains("no library goes with it"), "{reason}");
    }
}
