//! Gathers that are too large for one launch.

use super::*;

fn params() -> Params {
    Params {
        indexed: 1 << 50,
        elements: 2 << 50,
        indices: 3 << 50,
        mask: 4 << 50,
        winners: 5 << 50,
        told: 7,
        state: 8,
        key: 6,
        position: 9,
        bound: 10,
        total: 0,
        axes: 0,
        indexed_axes: 1,
        index_type: 0,
        mode: 0,
        pieces: 1,
        indexed_axis: [IndexedAxis::default(); MAX_INDEXED_AXES],
        at: [Axis::default(); MAX_AXES],
    }
}

fn launches(nest: &[GatherAxis], outermost: bool) -> Vec<Params> {
    let mut all = Vec::new();
    let submit = &mut |params: &Params| {
        all.push(*params);
        // More than any of these tests wants: parts of parts without end.
        if all.len() > 10 { Err(()) } else { Ok(()) }
    };
    for_each_launch(&nest.iter().cloned().collect(), outermost, params(), submit).unwrap();
    all
}

/// The first element of each side.
fn starts(params: &Params) -> [u64; 6] {
    [params.indexed, params.elements, params.indices, params.mask, params.winners, params.position]
}

#[expect(clippy::cast_possible_truncation, reason = "tests run where `usize` has 64 bits")]
const MOST: usize = MAX_TOTAL as usize;

fn moving(extent: usize) -> GatherAxis {
    GatherAxis { extent, strides: [3, -5, 40, 600, 7_000, 80_000] }
}

/// An axis along which no side moves.
const fn still(extent: usize) -> GatherAxis {
    GatherAxis { extent, strides: [0; 6] }
}

/// The starts `by` positions along such an axis.
fn along(by: u64) -> [u64; 6] {
    let [indexed, elements, indices, mask, winners, position] = starts(&params());
    // A winner has 8 bytes.
    let winners = winners + 8 * 80_000 * by;
    [indexed + 3 * by, elements - 5 * by, indices + 40 * by, mask + 600 * by, winners, position + 7_000 * by]
}

#[test]
fn large_gathers_are_parts_in_row_major_order() {
    let rows = launches(&[moving(3), still(MOST)], true);
    assert_eq!(rows.iter().map(starts).collect::<Vec<_>>(), [0, 1, 2].map(along));
    for row in rows {
        // One axis: the other has one position left.
        assert_eq!((u64::from(row.total), row.axes, row.at[0].by.divisor), (MAX_TOTAL, 1, 1 << 30));
    }
    // Also where a row is too large by itself.
    let halves = launches(&[moving(2), GatherAxis { extent: 2 * MOST, strides: [0, 0, 0, 1, 0, 0] }], true);
    let masks: Vec<_> = halves.iter().map(|half| half.mask - (4 << 50)).collect();
    assert_eq!(masks, [0, MAX_TOTAL, 600, 600 + MAX_TOTAL]);
    assert!(halves.iter().all(|half| u64::from(half.total) == MAX_TOTAL && half.axes == 1));
}

#[test]
fn otherwise_the_longest_axis_is_cut() {
    let rows = [still(3), moving(MOST)];
    let quarters = launches(&rows, false);
    let due = [0, 1, 2, 3].map(|quarter| along(quarter * (MAX_TOTAL / 4)));
    assert_eq!(quarters.iter().map(starts).collect::<Vec<_>>(), due);
    for quarter in quarters {
        assert_eq!((quarter.axes, quarter.at[0].by.divisor, quarter.at[1].by.divisor), (2, 1 << 28, 3));
        assert_eq!(quarter.total, 3 << 28);
    }
    // One launch as long as it fits.
    assert_eq!(launches(&[moving(MOST)], false).len(), 1);
    assert_eq!(launches(&[moving(MOST + 1)], false).len(), 2);
}

#[test]
fn an_axis_too_many_is_taken_apart() {
    let mut nest = [const { still(2) }; MAX_AXES + 1];
    assert_eq!(launches(&nest[1..], false).len(), 1);
    nest[MAX_AXES] = moving(3);
    let launches = launches(&nest, false);
    let due = [(0, 1 << MAX_AXES, MAX_AXES), (1, 1 << MAX_AXES, MAX_AXES), (2, 1 << MAX_AXES, MAX_AXES)];
    for (launch, (by, total, axes)) in launches.iter().zip(due) {
        assert_eq!((starts(launch), launch.total, launch.axes as usize), (along(by), total, axes));
    }
    assert_eq!(launches.len(), 3);
}

#[test]
fn neighbouring_threads_are_near_in_the_elements_or_else_in_the_array() {
    let near =
        |indexed, elements| distance(&GatherAxis { extent: 2, strides: [indexed, elements, 0, 0, 0, 0] });
    assert_eq!([near(3, -5), near(-3, 0), near(0, 0)], [5, 3, usize::MAX]);
}
