//! Threads share the work, well or badly, and results are the same.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use devarray_function::{Alone, ElementType, Workers};

use crate::{array::product, cases::Cases};

/// Threads of a call.
pub(crate) struct Threads(pub(crate) usize);

impl Workers for Threads {
    fn count(&self) -> usize {
        self.0
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let all = || {
            while let Some(piece) = Some(next.fetch_add(1, Relaxed)).filter(|&piece| piece < pieces) {
                work(piece);
            }
        };
        thread::scope(|scope| (0..self.0).for_each(|_| drop(scope.spawn(all))));
    }
}

/// Ignores all work.
struct Idle;

impl Workers for Idle {
    fn count(&self) -> usize {
        4
    }

    fn run(&self, _pieces: usize, _work: &(dyn Fn(usize) + Sync)) {}
}

/// Does each piece twice, the second time from two threads at once, and also pieces that do not
/// exist.
struct Eager;

impl Workers for Eager {
    fn count(&self) -> usize {
        4
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        Threads(2).run(pieces + 3, work);
        Threads(2).run(2 * pieces, &|piece| work(piece / 2));
    }
}

/// The product is large enough to be shared, so the oracle does not compute it.
#[test]
fn bits_do_not_depend_on_who_does_the_work() {
    let mut cases = Cases::new(31);
    for of in [ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::I16] {
        for (a, b) in [
            (&[70, 300][..], &[300, 190][..]),
            (&[900, 70], &[70, 7]),
            (&[3, 900], &[900, 400]),
            (&[5000, 33], &[33]),
            (&[33], &[33, 3000]),
            (&[200, 9, 9], &[200, 9, 9]),
            (&[50_000], &[50_000]),
        ] {
            let [a, b] = [a, b].map(|shape| cases.array(of, shape, (false, false), false));
            let alone = product(&a, &b, &Alone).expect("shapes that fit");
            for workers in [&Threads(2) as &dyn Workers, &Threads(7), &Idle, &Eager] {
                let shared = product(&a, &b, workers).expect("shapes that fit");
                assert!(alone.bits() == shared.bits(), "{of} {:?} @ {:?}", a.layout, b.layout);
            }
        }
    }
}
