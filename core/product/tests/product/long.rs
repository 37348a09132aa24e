//! More chains than a sum has lanes.

use devarray_function::{Alone, ElementType, Workers};

use crate::{cases::Cases, random::case, workers::Threads};

#[test]
fn results_of_many_chains_are_summed_in_lanes() {
    let mut cases = Cases::new(5);
    let workers: [&dyn Workers; 2] = [&Alone, &Threads(2)];
    for (of, k) in [(ElementType::F32, 4096 * 1030 + 5), (ElementType::F16, 4096 * 37)] {
        assert_eq!(case(&mut cases, of, (&[1, k], &[k, 2]), &workers), None);
    }
}
