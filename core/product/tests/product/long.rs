//! Products that exceed a block, and with more chains than a sum has lanes.

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

#[test]
fn blocks_and_parts_of_k_go_on_where_others_ended() {
    let mut cases = Cases::new(6);
    let workers: [&dyn Workers; 3] = [&Alone, &Threads(2), &Threads(7)];
    for of in [ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::U64] {
        for [m, k, n] in [[34, 300, 520], [300, 270, 50], [35, 4200, 50], [9, 700, 100], [3, 600, 900]] {
            assert_eq!(case(&mut cases, of, (&[m, k], &[k, n]), &workers), None);
        }
    }
}

#[test]
fn long_lines_and_single_elements_are_read_in_any_layout() {
    let mut cases = Cases::new(7);
    let workers: [&dyn Workers; 3] = [&Alone, &Threads(2), &Threads(3)];
    for of in [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::F16] {
        for k in [511, 600, 1037, 5000] {
            for _ in 0..3 {
                assert_eq!(case(&mut cases, of, (&[35, k], &[k]), &workers), None);
                assert_eq!(case(&mut cases, of, (&[35, k], &[k, 3]), &workers), None);
                assert_eq!(case(&mut cases, of, (&[37, 1, k], &[37, k, 1]), &workers), None);
            }
        }
    }
}
