//! Other strides reach only elements of the view; windows, diagonals and walks along an axis agree
//! with their definitions.
#![allow(clippy::unwrap_used)] // helpers of tests

use super::model;
use std::collections::BTreeSet;

use devarray::{Array, ArrayViewMut, Context, Error, Layout, LayoutError, Order, StreamHandle, ix};
use devarray_mock::MockDevice;
use model::Model;

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

fn layout(shape: &[usize], strides: &[isize], offset: usize) -> Layout {
    Layout::new(shape, strides, offset).unwrap()
}

/// The positions that a layout reaches, index by index.
fn reached(layout: &Layout) -> BTreeSet<usize> {
    Model::of(layout).values.into_iter().collect()
}

/// Layouts that are whole, with gaps, backward, overlapping, repeated, interleaved, of one element,
/// or empty.
fn wholes() -> Vec<Layout> {
    vec![
        layout(&[3, 4], &[4, 1], 0),
        layout(&[3, 4], &[1, 3], 2),
        layout(&[3, 2], &[4, 1], 1),
        layout(&[2, 3], &[-6, 2], 7),
        layout(&[3, 3], &[1, 1], 4),
        layout(&[2, 3, 2], &[6, 0, 1], 1),
        layout(&[2, 2, 2], &[6, 3, 1], 0),
        layout(&[3, 2], &[2, 3], 0),
        layout(&[], &[], 5),
        layout(&[4, 0], &[1, 1], 3),
    ]
}

/// Whether each step along an axis of `layout` is one fixed step in an index of `whole`.
#[expect(clippy::cast_possible_wrap, reason = "small numbers")]
fn is_straight(whole: &Layout, layout: &Layout) -> bool {
    let indices = |position: usize| -> Vec<Vec<i64>> {
        let all = model::indices(whole.shape());
        let found = all.into_iter().filter(|index| {
            let steps = index.iter().zip(whole.strides()).map(|(&i, &s)| i.cast_signed() * s);
            whole.offset().cast_signed() + steps.sum::<isize>() == position.cast_signed()
        });
        found.map(|index| index.iter().map(|&at| at as i64).collect()).collect()
    };
    let first = Model::of(layout).values[0];
    let Some(first) = indices(first).pop() else { return false };
    let mut steps = Vec::new();
    for axis in 0..layout.rank() {
        let mut one = vec![0; layout.rank()];
        one[axis] = 1;
        if layout.shape()[axis] < 2 {
            steps.push(vec![0; first.len()]);
            continue;
        }
        let Some(next) = indices(Model::of(layout).at(&one)).pop() else { return false };
        steps.push(next.iter().zip(&first).map(|(next, first)| next - first).collect());
    }
    model::indices(layout.shape()).iter().all(|index| {
        let mut place = first.clone();
        for (&at, step) in index.iter().zip(&steps) {
            place.iter_mut().zip(step).for_each(|(place, step)| *place += at as i64 * step);
        }
        place.iter().zip(whole.shape()).all(|(&place, &extent)| (0..extent as i64).contains(&place))
    })
}

/// All small cases: an accepted layout always lies inside. In one contiguous run, every layout that
/// lies inside is accepted; in a view without shared elements, every one that walks it in straight
/// steps is.
#[test]
fn restrides_stay_inside_the_view() {
    for whole in wholes() {
        let elements = reached(&whole);
        let run = elements.last().is_some_and(|last| last - whole.span().start + 1 == elements.len());
        let plain = elements.len() == whole.len() && whole.strides() != [2, 3];
        let (mut accepted, mut refused) = (0, 0);
        for (rows, columns) in [(1, 1), (1, 3), (2, 2), (3, 2), (0, 3), (5, 1)] {
            for (down, right) in (-6..=6).flat_map(|down| (-4..=4).map(move |right| (down, right))) {
                for offset in 0..14 {
                    let Ok(due) = Layout::new(&[rows, columns], &[down, right], offset) else { continue };
                    let inside = reached(&due).is_subset(&elements);
                    match whole.restride(&[rows, columns], &[down, right], offset) {
                        Ok(found) => {
                            assert!(inside, "{whole:?} as {due:?}");
                            assert!(found == due || (due.is_empty() && found.offset() == whole.offset()));
                            accepted += 1;
                        }
                        Err(error) => {
                            assert_eq!(error, LayoutError::OutsideView);
                            assert!(!(run && inside), "{whole:?} as {due:?} lies inside");
                            assert!(!(plain && inside && is_straight(&whole, &due)), "{whole:?} as {due:?}");
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(accepted > 0 && refused > 0, "{whole:?}: {accepted} {refused}");
    }
}

/// The view that a transform makes lies inside the view that it was made from.
#[test]
fn transforms_are_restrides() {
    for whole in wholes().into_iter().filter(|whole| whole.rank() > 0 && whole.strides() != [2, 3]) {
        let last: isize = -1;
        for part in [
            whole.transpose(),
            whole.flip(&[0]).unwrap(),
            whole.slice_axis(last, 1..).unwrap(),
            whole.slice_axis(0, devarray::layout::Slice::from(..).step_by(2)).unwrap(),
            whole.diagonal(0, 0, if whole.rank() > 1 { 1 } else { 0 }).unwrap_or_else(|_| whole.clone()),
            whole.clone(),
        ] {
            let found = whole.restride(part.shape(), part.strides(), part.offset());
            assert!(found.is_ok(), "{part:?} of {whole:?}");
        }
    }
}

#[test]
fn numbers_that_wrap_are_refused() {
    let whole = layout(&[3, 4], &[4, 1], 0);
    let huge = isize::MAX.cast_unsigned();
    for (shape, strides, offset) in [
        ([huge, 1], [1, 1], 0),
        ([2, 2], [isize::MIN, 1], 3),
        ([2, 2], [isize::MAX, isize::MAX], 0),
        ([huge, huge], [0, 0], 0),
        ([1, 1], [1, 1], usize::MAX),
        ([2, 1], [-1, 1], 0),
    ] {
        assert!(whole.restride(&shape, &strides, offset).is_err(), "{shape:?} {strides:?} {offset}");
    }
    // A repeated element is one element, however often it is repeated.
    assert!(whole.restride(&[huge], &[0], 11).is_ok());
    assert_eq!(whole.restride(&[2, 0], &[isize::MAX, 5], 99).unwrap().offset(), 0);
}

fn refused(result: devarray::Result<ArrayViewMut<'_, u32, MockDevice>>) -> LayoutError {
    match result.unwrap_err() {
        Error::Layout(error, ..) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a_view_to_write_reaches_no_element_twice_and_none_of_its_neighbours() {
    let stream = stream();
    let mut a = Array::<u32, _>::zeros(&stream, &[4, 4]).unwrap();
    let aliased = LayoutError::AliasedDestination;
    assert_eq!(refused(a.view_mut().restride(&[2, 2], &[1, 1], 0)), aliased);
    assert_eq!(refused(a.view_mut().restride(&[2], &[0], 0)), aliased);
    // Columns 0 and 1, whose rows have gaps that belong to the other half.
    let mut halves = a.view_mut().array_split(1, 2).unwrap();
    let (left, right) = (halves.next().unwrap(), halves.next().unwrap());
    assert_eq!(refused(left.restride(&[3], &[1], 0)), LayoutError::OutsideView);
    right.restride(&[4], &[4], 3).unwrap().fill(&stream, 1).unwrap();
    let mut due = [0; 16];
    for at in [3, 7, 11, 15] {
        due[at] = 1;
    }
    assert_eq!(a.to_vec(&stream).unwrap(), due);
    a.view_mut().diagonal(-1, 0, 1).unwrap().fill(&stream, 2).unwrap();
    for at in [4, 9, 14] {
        due[at] = 2;
    }
    assert_eq!(a.to_vec(&stream).unwrap(), due);
}

#[test]
fn windows_are_those_of_numpy() {
    for whole in wholes().into_iter().filter(|whole| whole.rank() > 0) {
        let model = Model::of(&whole);
        for axis in 0..whole.rank() {
            let extent = whole.shape()[axis];
            for len in 0..=extent {
                let mut shape = whole.shape().to_vec();
                shape[axis] = extent - len + 1;
                shape.push(len);
                let due = Model::from_fn(&shape, |index| {
                    let mut source = index[..index.len() - 1].to_vec();
                    source[axis] += index[index.len() - 1];
                    model.at(&source)
                });
                let found = whole.sliding_windows(axis.cast_signed(), len).unwrap();
                assert_eq!(Model::of(&found), due, "{whole:?} axis {axis} len {len}");
                assert!(
                    found.is_empty()
                        || whole.restride(found.shape(), found.strides(), found.offset()).is_ok()
                        || whole.strides() == [2, 3]
                );
            }
            let refused = whole.sliding_windows(axis.cast_signed(), extent + 1).unwrap_err();
            assert_eq!(refused, LayoutError::WindowTooLong { axis, len: extent + 1, extent });
        }
    }
    let whole = layout(&[3], &[1], 0);
    assert_eq!(whole.sliding_windows(1, 1), Err(LayoutError::AxisOutOfRange { axis: 1, rank: 1 }));
    assert!(whole.sliding_windows(0, usize::MAX).is_err());
    let repeated = layout(&[1 << 40], &[0], 0);
    assert_eq!(repeated.sliding_windows(0, 1 << 39), Err(LayoutError::Overflow));
}

#[test]
fn diagonals_are_those_of_numpy() {
    for whole in wholes().into_iter().filter(|whole| whole.rank() > 1) {
        let model = Model::of(&whole);
        for (a, b) in (0..whole.rank()).flat_map(|a| (0..whole.rank()).map(move |b| (a, b))) {
            for offset in [-9, -2, -1, 0, 1, 2, 3, 9, isize::MIN, isize::MAX] {
                let found =
                    whole.diagonal(offset, a.cast_signed(), b.cast_signed() - whole.rank().cast_signed());
                if a == b {
                    assert_eq!(found, Err(LayoutError::RepeatedAxis { axis: a }));
                    continue;
                }
                // An element exists if index i of axis a and index i + offset of axis b both exist.
                let on = |at: usize| {
                    let other = (at as i128) + (offset as i128);
                    usize::try_from(other).ok().filter(|&other| other < whole.shape()[b])
                };
                let places: Vec<(usize, usize)> =
                    (0..whole.shape()[a]).filter_map(|at| Some((at, on(at)?))).collect();
                let kept: Vec<usize> = (0..whole.rank()).filter(|&axis| axis != a && axis != b).collect();
                let mut shape: Vec<usize> = kept.iter().map(|&axis| whole.shape()[axis]).collect();
                shape.push(places.len());
                let due = Model::from_fn(&shape, |index| {
                    let mut source = vec![0; whole.rank()];
                    kept.iter().zip(index).for_each(|(&axis, &at)| source[axis] = at);
                    (source[a], source[b]) = places[index[kept.len()]];
                    model.at(&source)
                });
                assert_eq!(Model::of(&found.unwrap()), due, "{whole:?} {offset} {a} {b}");
            }
        }
    }
}

#[test]
fn walks_along_an_axis_show_each_position_once() {
    for whole in wholes().into_iter().filter(|whole| whole.rank() > 0) {
        let model = Model::of(&whole);
        for axis in 0..whole.rank() {
            let (signed, extent) = (axis.cast_signed() - whole.rank().cast_signed(), whole.shape()[axis]);
            let at = |position: usize| {
                let part = model.select(axis, &[position]);
                let mut shape = part.shape.clone();
                shape.remove(axis);
                Model { shape, ..part }
            };
            let due: Vec<Model> = (0..extent).map(at).collect();
            let found = whole.axis_iter(signed).unwrap();
            assert_eq!(found.len(), extent);
            assert_eq!(found.clone().map(|part| Model::of(&part)).collect::<Vec<_>>(), due);
            let backwards: Vec<_> = found.clone().rev().map(|part| Model::of(&part)).collect();
            assert_eq!(backwards, due.iter().rev().cloned().collect::<Vec<_>>());
            let (mut both, mut met) = (found, 0);
            while both.next().is_some() {
                met += 1 + usize::from(both.next_back().is_some());
            }
            assert_eq!((met, both.next_back()), (extent, None));
            for len in [1, 2, 3, 7, usize::MAX] {
                let positions: Vec<usize> = (0..extent).collect();
                let chunks = |exact: bool| -> Vec<Model> {
                    let kept = positions.chunks(len).filter(|chunk| !exact || chunk.len() == len);
                    kept.map(|chunk| model.select(axis, chunk)).collect()
                };
                let short = whole.axis_chunks(signed, len).unwrap();
                assert_eq!(short.map(|part| Model::of(&part)).collect::<Vec<_>>(), chunks(false));
                let exact = whole.axis_chunks_exact(signed, len).unwrap();
                assert_eq!(exact.len(), chunks(true).len());
                assert_eq!(exact.map(|part| Model::of(&part)).collect::<Vec<_>>(), chunks(true));
            }
            let refused = LayoutError::BadSection { section: 0 };
            assert_eq!(whole.axis_chunks(signed, 0).unwrap_err(), refused);
            assert_eq!(whole.axis_chunks_exact(signed, 0).unwrap_err(), refused);
        }
        let outside = LayoutError::AxisOutOfRange { axis: 9, rank: whole.rank() };
        assert_eq!(whole.axis_iter(9).unwrap_err(), outside);
        assert_eq!(whole.axis_chunks(9, 1).unwrap_err(), outside);
    }
}

#[test]
fn parts_along_an_axis_are_written_on_several_streams() {
    let context = Context::new(MockDevice::new()).unwrap();
    let streams = [context.stream().unwrap(), context.stream().unwrap(), context.stream().unwrap()];
    let mut a = Array::<u32, _>::zeros(&streams[0], &[3, 5]).unwrap();
    streams[0].synchronize().unwrap();
    for (value, (stream, mut row)) in (1..).zip(streams.iter().zip(a.axis_iter_mut(0).unwrap())) {
        row.fill(stream, value).unwrap();
    }
    let rows = a.axis_iter(0).unwrap().rev().map(|row| row.to_vec(&streams[0]).unwrap());
    assert_eq!(rows.collect::<Vec<_>>(), [[3; 5], [2; 5], [1; 5]]);
    for (value, mut part) in (7..).zip(a.axis_chunks_mut(1, 2).unwrap()) {
        part.fill(&streams[0], value).unwrap();
    }
    assert_eq!(a.to_vec(&streams[0]).unwrap(), [7, 7, 8, 8, 9].repeat(3));
    let widths: Vec<usize> = a.axis_chunks(1, 2).unwrap().map(|part| part.shape()[1]).collect();
    assert_eq!(widths, [2, 2, 1]);
    let stream = &streams[0];
    assert_eq!(a.diagonal(1, 0, 1).unwrap().to_vec(stream).unwrap(), [7, 8, 8]);
    assert_eq!(
        a.sliding_windows(1, 4).unwrap().index(&ix![0, 1]).unwrap().to_vec(stream).unwrap(),
        [7, 8, 8, 9]
    );
    assert_eq!(a.restride(&[2], &[10], 4).unwrap().to_vec(stream).unwrap(), [9, 9]);
    assert_eq!(a.unstack(0).unwrap().len(), 3);
}

#[test]
fn a_clone_has_the_same_elements_in_the_same_order_of_axes_and_memory_of_its_own() {
    let stream = stream();
    let data: Vec<u32> = (0..24).collect();
    let dense = Array::from_slice(&stream, &[2, 3, 4], &data).unwrap();
    let turned = dense.view().permute(&[1, 2, 0]).unwrap().to_contiguous(&stream, Order::K).unwrap();
    for original in
        [dense, turned, Array::zeros(&stream, &[]).unwrap(), Array::zeros(&stream, &[0, 2]).unwrap()]
    {
        let mut clone = original.try_clone(&stream).unwrap();
        assert_eq!(clone.layout(), original.layout());
        let before = original.to_vec(&stream).unwrap();
        assert_eq!(clone.to_vec(&stream).unwrap(), before);
        clone.view_mut().fill(&stream, 99).unwrap();
        assert_eq!(original.to_vec(&stream).unwrap(), before);
        let erased = original.into_erased().try_clone(&stream).unwrap();
        assert_eq!(Array::<u32, _>::from_erased(erased).unwrap().to_vec(&stream).unwrap(), before);
    }
    let row = Array::from_slice(&stream, &[4], &[1, 2, 3, 4]).unwrap();
    let backwards = row.view().index(&ix![..; -1]).unwrap().to_contiguous(&stream, Order::K).unwrap();
    assert_eq!(backwards.try_clone(&stream).unwrap().to_vec(&stream).unwrap(), [4, 3, 2, 1]);
}
