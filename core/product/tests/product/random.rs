//! Compares random products with the oracle.

use devarray_function::{Alone, ElementType, Workers};
use devarray_product::{Machine, product_shape};

use crate::{
    array::{Array, product_on},
    cases::{Cases, TYPES},
    oracle,
    workers::Threads,
};

/// A difference between a product and the expected one.
pub(crate) fn differs(
    a: &Array,
    b: &Array,
    result: Array,
    onto: bool,
    workers: &[&dyn Workers],
) -> Option<String> {
    let (of, before) = (a.element_type, result.bits());
    let before = onto.then_some(&before[..]);
    let expected = oracle::product(of, (a.layout.shape(), &a.bits()), (b.layout.shape(), &b.bits()), before);
    // The best instructions run with all workers, the others with the first worker.
    let (best, others) = Machine::all().split_first().expect("one at least");
    let runs = workers.iter().map(|workers| (best, workers));
    for (&machine, &workers) in runs.chain(others.iter().map(|machine| (machine, &workers[0]))) {
        let mut found = result.clone();
        product_on(machine, a, b, &mut found, onto, workers);
        let bits = found.bits();
        if let Some(at) = (0..bits.len()).find(|&at| bits[at] != expected[at]) {
            let wrong = (0..bits.len()).filter(|&at| bits[at] != expected[at]).count();
            return Some(format!(
                "{of} {:?} @ {:?} -> {:?}, onto: {onto}, {machine:?} {workers:?}: number {at} is {:x}, not {:x}; {wrong} of {} differ",
                a.layout,
                b.layout,
                result.layout,
                bits[at],
                expected[at],
                bits.len(),
            ));
        }
        if !found.rest_is_untouched() {
            return Some(format!("{of} {:?}: written beside its elements", result.layout));
        }
    }
    None
}

/// A random case with matrices of these extents.
pub(crate) fn case(
    cases: &mut Cases,
    of: ElementType,
    (a, b): (&[usize], &[usize]),
    workers: &[&dyn Workers],
) -> Option<String> {
    let special = of.is_float() && cases.one_in(3);
    let mut strided = || (!cases.one_in(3), cases.one_in(2));
    let (of_a, of_b, of_result) = (strided(), strided(), strided().0);
    let shape = product_shape(a, b).expect("shapes that fit");
    let a = cases.array(of, a, of_a, special);
    let b = cases.array(of, b, of_b, special);
    let result = cases.array(of, &shape, (of_result, false), special);
    let onto = cases.one_in(3);
    differs(&a, &b, result, onto, workers)
}

fn extent(cases: &mut Cases) -> usize {
    match cases.below(12) {
        0 => cases.below(3),
        1..=5 => 1 + cases.below(9),
        6..=9 => 1 + cases.below(40),
        _ => 1 + cases.below(120),
    }
}

#[test]
fn products_are_what_their_definition_gives() {
    let mut cases = Cases::new(1);
    for _ in 0..1500 {
        let of = cases.element_type();
        let [m, k, n] = [(); 3].map(|()| extent(&mut cases));
        assert_eq!(case(&mut cases, of, (&[m, k], &[k, n]), &[&Alone, &Threads(3)]), None);
    }
}

#[test]
fn batches_broadcast_and_vectors_are_matrices() {
    let mut cases = Cases::new(2);
    for number in 0..800 {
        let of = cases.element_type();
        let [m, k, n] = [(); 3].map(|()| if cases.one_in(4) { 1 } else { cases.below(12) });
        let rank = cases.below(4);
        let batch: Vec<usize> = (0..rank).map(|_| cases.below(5)).collect();
        let mut own = |matrix: &[usize]| {
            let from = cases.below(rank + 1);
            let batch = batch[from..].iter().map(|&extent| if cases.one_in(4) { 1 } else { extent });
            batch.chain(matrix.iter().copied()).collect::<Vec<_>>()
        };
        let (a, b) = match number % 4 {
            0 => (vec![k], own(&[k, n])),
            1 => (own(&[m, k]), vec![k]),
            _ => (own(&[m, k]), own(&[k, n])),
        };
        assert_eq!(case(&mut cases, of, (&a, &b), &[&Alone, &Threads(2)]), None);
    }
}

#[test]
fn chains_end_at_multiples_of_4096() {
    let mut cases = Cases::new(3);
    for of in TYPES {
        for k in [0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 12_300] {
            for (m, n) in [(1, 1), (1, 37), (5, 1), (3, 19)] {
                let workers: [&dyn Workers; 4] = [&Alone, &Threads(2), &Threads(3), &Threads(7)];
                assert_eq!(case(&mut cases, of, (&[m, k], &[k, n]), &workers), None);
            }
        }
    }
}

/// The twin: an oracle that ends its chains elsewhere, or a changed bit, is noticed.
#[test]
fn a_changed_element_is_noticed() {
    let mut cases = Cases::new(4);
    let of = ElementType::F32;
    let pairs: Vec<[u64; 2]> = (0..5000).map(|_| [(); 2].map(|()| cases.element(of, false))).collect();
    let one = oracle::element(of, None, &pairs);
    let from_one = oracle::element(of, Some(1.0_f32.to_bits().into()), &pairs);
    let in_two_chains = {
        let [low, high] = [&pairs[..4000], &pairs[4000..]]
            .map(|part| f32::from_bits(oracle::element(of, None, part) as u32));
        u64::from((low + high).to_bits())
    };
    assert_ne!(one, from_one);
    assert_ne!(one, in_two_chains);
}
