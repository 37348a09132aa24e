//! Loop nests against a walk over each of their steps.

use std::cmp::Reverse;

use devarray::layout::nest::{Loop, Nest, Strided};

fn nest(loops: &[(usize, &[isize])]) -> Nest<Strided> {
    let of = |&(extent, strides): &(usize, &[isize])| Strided { extent, strides: strides.into() };
    loops.iter().map(of).collect()
}

/// The positions of the operands at each step, from 0 on.
fn places(nest: &Nest<Strided>, operands: usize) -> Vec<Vec<isize>> {
    nest.iter().fold(vec![vec![0; operands]], |outer, each| {
        let moved = |from: &Vec<isize>, step: usize| {
            let by = each.every(step).strides;
            from.iter().zip(by).map(|(from, by)| from + by).collect()
        };
        outer.iter().flat_map(|from| (0..each.extent).map(move |step| moved(from, step))).collect()
    })
}

#[test]
fn loops_are_one_where_every_operand_goes_on() {
    for (loops, merged) in [
        (nest(&[]), nest(&[])),
        (nest(&[(2, &[12, 24]), (3, &[4, 8])]), nest(&[(6, &[4, 8])])),
        (nest(&[(2, &[12, 0]), (3, &[4, 0])]), nest(&[(6, &[4, 0])])),
        (nest(&[(5, &[24, -24]), (2, &[12, -12]), (3, &[4, -4])]), nest(&[(30, &[4, -4])])),
        // The steps of one operand alone do not merge.
        (nest(&[(2, &[12, 25]), (3, &[4, 8])]), nest(&[(2, &[12, 25]), (3, &[4, 8])])),
        (nest(&[(2, &[11, 24]), (3, &[4, 8])]), nest(&[(2, &[11, 24]), (3, &[4, 8])])),
        // Some loops merge, not all.
        (nest(&[(5, &[1, 1]), (2, &[12, 12]), (3, &[4, 4])]), nest(&[(5, &[1, 1]), (6, &[4, 4])])),
        (nest(&[(5, &[24, 24]), (2, &[12, 12]), (3, &[1, 1])]), nest(&[(10, &[12, 12]), (3, &[1, 1])])),
        // A product that overflows is no stride.
        (nest(&[(2, &[0; 2]), (4, &[1 << 62; 2])]), nest(&[(2, &[0; 2]), (4, &[1 << 62; 2])])),
    ] {
        let mut found = loops.clone();
        found.merge();
        assert_eq!(found, merged, "{loops:?}");
    }
}

/// Dropping units, merging and halving keep the order of the steps; turning and sorting keep the set of
/// steps.
#[test]
fn the_same_places_come_together() {
    let extents = [1_usize, 2, 3, 4];
    let (mut merged, mut turned) = (0, 0);
    for at in 0..4_usize.pow(3) {
        let [a, b, c] = [at % 4, at / 4 % 4, at / 16].map(|at| extents[at]);
        let (inner, outer) = (c.cast_signed(), (b * c).cast_signed());
        for strides in [[outer, inner, 1], [1, outer, 7], [-outer, -inner, -1], [inner, -1, 0], [0, 0, 3]] {
            let whole = nest(&[(a, &[outer, strides[0]]), (b, &[inner, strides[1]]), (c, &[1, strides[2]])]);
            let due = places(&whole, 2);
            let mut fewer = whole.clone();
            fewer.drop_units();
            fewer.merge();
            assert_eq!((places(&fewer, 2), fewer.steps()), (due.clone(), a * b * c), "{whole:?}");
            merged += usize::from(fewer.len() < 3 && a * b * c > 1);

            let (mut sorted, mut starts) = (whole.clone(), [0; 2]);
            sorted.forward(1, |reach| {
                turned += 1;
                starts.iter_mut().zip(&reach.strides).for_each(|(start, by)| *start += by);
            });
            assert!(sorted.iter().all(|each| each.strides[1] >= 0));
            sorted.sort(|each| each.strides[1]);
            assert!(sorted.is_sorted_by_key(|each| Reverse(each.strides[1])));
            let mut found = places(&sorted, 2);
            found.iter_mut().for_each(|place| place.iter_mut().zip(starts).for_each(|(at, by)| *at += by));
            found.sort_unstable();
            let mut all = due.clone();
            all.sort_unstable();
            assert_eq!(found, all, "{whole:?}");

            if let Some(0) = whole.longest().filter(|&at| whole[at].extent > 1) {
                let ([first, second], by) = whole.clone().halves(0, 2);
                let behind = places(&second, 2)
                    .into_iter()
                    .map(|place| vec![place[0] + by.strides[0], place[1] + by.strides[1]]);
                assert_eq!(places(&first, 2).into_iter().chain(behind).collect::<Vec<_>>(), due, "{whole:?}");
            }
        }
    }
    assert!(merged > 100 && turned > 100, "{merged} {turned}");
}

#[test]
fn loops_are_cut_in_the_middle_or_near_it() {
    for (extent, multiple, first) in [(2, 1, 1), (5, 1, 2), (5, 4, 4), (3, 256, 2), (1000, 256, 512)] {
        let ([before, behind], by) = nest(&[(7, &[1]), (extent, &[-3])]).halves(1, multiple);
        assert_eq!((before[1].extent, behind[1].extent), (first, extent - first));
        assert_eq!((before[0].extent, by.strides[0]), (7, -3 * first.cast_signed()));
    }
    assert_eq!(nest(&[(4, &[1]), (5, &[1]), (5, &[1]), (2, &[1])]).longest(), Some(2));
    assert_eq!(nest(&[]).longest(), None);
}

#[test]
fn a_run_is_taken_out_where_all_operands_move_by_it() {
    let mut loops = nest(&[(3, &[12, 16]), (4, &[4, 4])]);
    assert_eq!(loops.take_run([4, 8]), None);
    assert_eq!(loops.take_run([4, 4]), Some(4));
    assert_eq!(loops, nest(&[(3, &[12, 16])]));
    assert_eq!(nest(&[]).take_run([4, 4]), None);
}
