//! Threads share the work, well or badly, and results are the same.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use devarray_function::ElementType;
use devarray_order::{Alone, Call, Workers};

use crate::{array, cases::Cases};

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

#[test]
fn bits_do_not_depend_on_who_does_the_work() {
    let mut cases = Cases::new(31);
    for number in 0..22 {
        let (call, inputs) = cases.large(number);
        let alone = array::call(&call, &inputs, None, &Alone).expect("a call that fits");
        for workers in [&Threads(2) as &dyn Workers, &Threads(7), &Idle, &Eager] {
            let shared = array::call(&call, &inputs, None, workers).expect("a call that fits");
            assert_eq!(alone.outcome, shared.outcome, "{number} {call:?}");
            for (alone, shared) in alone.outputs.iter().zip(&shared.outputs) {
                assert!(
                    alone.elements() == shared.elements(),
                    "{number} {call:?} of {:?}",
                    inputs[0].element_type
                );
            }
        }
    }
}

#[test]
fn a_panic_of_a_worker_is_the_callers() {
    struct Broken;
    impl Workers for Broken {
        fn count(&self) -> usize {
            2
        }

        fn run(&self, _pieces: usize, _work: &(dyn Fn(usize) + Sync)) {
            panic!("no threads")
        }
    }
    let inputs = [array::Array::untouched(ElementType::U32, &[1 << 18])];
    let call = Call::Sort { axis: 0, descending: false };
    let sorted = std::panic::catch_unwind(|| array::call(&call, &inputs, None, &Broken).map(drop));
    assert!(sorted.is_err());
}
