//! Exchanges of ranks by NCCL, a device of the fake each: the bits of the CPU, and what a call that fails leaves.

use devarray::{
    Array, Context, Error,
    collective::{CollectiveError, Combination},
};
use devarray_conformance::rank_programs::{Functions, RankProgram};
use devarray_cuda::CudaDevice;

use super::{nccl, ranks_of, state::Fake};

fn contexts(fake: &Fake, ranks: usize) -> Vec<Context<CudaDevice>> {
    fake.state(|state| state.devices = 4);
    let driver = nccl::driver();
    let open = |ordinal| Context::new(CudaDevice::open_with(&driver, ordinal).unwrap()).unwrap();
    (0..ranks).map(open).collect()
}

#[test]
fn exchanges_equal_the_cpu() {
    for ranks in 1..=3 {
        let fake = Fake::new();
        let contexts = contexts(&fake, ranks);
        // The last is longer than what each rank combines whole.
        ranks_of::equal_the_cpu(&contexts, || fake.install(), &[1, 7], &[16_500]);
        drop(contexts);
        fake.assert_proper();
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    }
}

/// Random programs of one to three ranks, `DEVARRAY_RANK_PROGRAMS` of them.
#[test]
fn random_programs_have_the_bits_of_vectors() {
    let count = std::env::var("DEVARRAY_RANK_PROGRAMS").map_or(100, |count| count.parse().unwrap());
    for seed in 0..count {
        let program = RankProgram::drawn(seed, 1 + usize::try_from(seed % 3).unwrap());
        let fake = Fake::new();
        let contexts = contexts(&fake, program.ranks());
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
        let contexts = contexts(&fake, 2);
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

/// Without a library the error says where it was looked for.
#[test]
fn without_a_library_joining_fails() {
    let fake = Fake::new();
    let driver = fake.driver();
    let context = Context::new(CudaDevice::open_with(&driver, 0).unwrap()).unwrap();
    let told = ranks_of::on_each(&[context], || fake.install(), |_, _| Ok(())).remove(0);
    let Err(Error::Library { library: "NCCL", reason, .. }) = &told else { panic!("{told:?}") };
    assert!(reason.contains("no library goes with it"), "{reason}");
}
