//! Random programs of ranks on threads: the bits of vectors.

use std::env;

use devarray::Context;
use devarray_conformance::rank_programs::{Functions, RankProgram};
use devarray_host::HostDevice;

/// Programs, unless `DEVARRAY_RANK_PROGRAMS` says another number.
const PROGRAMS: u64 = 300;

#[test]
fn programs_of_ranks_have_the_bits_of_vectors() {
    let count = env::var("DEVARRAY_RANK_PROGRAMS").map_or(PROGRAMS, |count| count.parse().unwrap());
    for seed in 0..count {
        let ranks = 1 + usize::try_from(seed % 4).unwrap();
        let program = RankProgram::drawn(seed, ranks);
        let threads = 1 + usize::try_from(seed / 4 % 2).unwrap();
        let device = || HostDevice::builder().capacity_bytes(16 << 20).threads(threads).build();
        let contexts: Vec<_> = (0..ranks).map(|_| Context::new(device()).unwrap()).collect();
        let outcome = program.check(&contexts, Functions::of_device(), || ());
        outcome.unwrap_or_else(|violation| panic!("{violation}"));
    }
}
