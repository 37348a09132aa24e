//! Random layouts, the same on every run.
#![allow(clippy::unwrap_used, dead_code)] // helpers of tests; each test file uses some of them

use devarray::{Layout, layout::Slice};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};

pub(crate) fn config(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}

/// Layouts of rank 0 to 7 with few elements: dense ones with their axes permuted, padded, reversed
/// or repeated, and with arbitrary strides where they are not used.
pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
    let extent = prop_oneof![1 => Just(0_usize), 6 => Just(1), 8 => Just(2), 6 => Just(3), 2 => Just(4)];
    let axis = (extent, any::<u8>(), prop_oneof![5 => Just(1_usize), 1 => Just(2)], stretch(), -9..9_isize);
    let axes =
        prop_oneof![9 => prop::collection::vec(axis.clone(), 0..5), 1 => prop::collection::vec(axis, 5..8)];
    (axes, 0..4_usize).prop_map(|(mut axes, offset)| {
        // A third of the layouts keep their dense order, so that views are likely.
        if axes.first().is_some_and(|axis| axis.1 % 3 == 0) {
            axes.iter_mut().zip(0..).for_each(|(axis, place)| axis.1 = place);
        }
        let mut fastest_first: Vec<usize> = (0..axes.len()).collect();
        fastest_first.sort_by_key(|&axis| std::cmp::Reverse(axes[axis].1));
        let mut strides = vec![0_isize; axes.len()];
        let (mut step, mut below) = (1_isize, 0);
        for axis in fastest_first {
            let (extent, _, padding, stretch, unused) = axes[axis];
            strides[axis] = if extent == 1 { unused } else { step * stretch };
            below += step * isize::try_from(extent.saturating_sub(1)).unwrap() * (-stretch).max(0);
            step *= isize::try_from(extent.max(1) * padding).unwrap();
        }
        let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
        Layout::new(&shape, &strides, offset + usize::try_from(below).unwrap()).unwrap()
    })
}

fn stretch() -> impl Strategy<Value = isize> + Clone {
    prop_oneof![12 => Just(1_isize), 3 => Just(-1), 1 => Just(0), 1 => Just(2)]
}

/// Slices around an axis of a few positions, including step 0 and far too large numbers.
pub(crate) fn slices() -> impl Strategy<Value = Slice> {
    let far = prop_oneof![Just(isize::MIN), Just(isize::MAX)];
    let bound = || prop::option::of(prop_oneof![19 => -6..7_isize, 1 => far.clone()]);
    let step = prop_oneof![19 => -3..4_isize, 1 => far.clone()];
    (bound(), bound(), step).prop_map(|(start, stop, step)| Slice { start, stop, step })
}
