//! Joins and paddings against the definitions of NumPy: each position of the result comes from a position of
//! a source. Every element of the result is written exactly once, by no more operations than promised, and
//! nothing else is written.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "joins/errors.rs"]
mod errors;
#[path = "layout_support/model.rs"]
mod model;
#[path = "joins/parts.rs"]
mod parts;

use devarray::{Array, ArrayView, ArrayViewMut, Context, Order, Pad, Result, Statistics, StreamHandle, ix};
use devarray_mock::MockDevice;
use model::Model;

type Stream = StreamHandle<MockDevice>;
type View<'a> = ArrayView<'a, u32, MockDevice>;
type ViewMut<'a> = ArrayViewMut<'a, u32, MockDevice>;
type Owned = Array<u32, MockDevice>;

const SENTINEL: u32 = 0xDEAD_BEEF;
const SHAPES: [&[usize]; 9] =
    [&[], &[1], &[4], &[3, 4], &[1, 3], &[2, 3, 4], &[0], &[2, 0, 3], &[2, 1, 2, 3]];

fn stream() -> Stream {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Makes views with the same values at the same indices in four layouts: dense, backwards, with gaps, with
/// the axes in reverse order.
fn each_layout(stream: &Stream, model: &Model, mut each: impl FnMut(&View<'_>)) {
    let values: Vec<u32> = model.values.iter().map(|&value| value.try_into().unwrap()).collect();
    let dense = Array::from_slice(stream, &model.shape, &values).unwrap();
    each(&dense.view());
    let all: Vec<isize> = (0..model.rank()).map(usize::cast_signed).collect();
    let mut backwards = Array::uninit(stream, &model.shape).unwrap();
    backwards.view_mut().flip(&all).unwrap().copy_from(stream, &dense.view()).unwrap();
    each(&backwards.view().flip(&all).unwrap());
    let wide: Vec<usize> = model.shape.iter().map(|extent| 2 * extent + 1).collect();
    let mut gaps = Array::uninit(stream, &wide).unwrap();
    let index = vec![ix![1..; 2][0]; model.rank()];
    gaps.view_mut().index(&index).unwrap().copy_from(stream, &dense.view()).unwrap();
    each(&gaps.view().index(&index).unwrap());
    let turned = dense.view().to_contiguous(stream, Order::F).unwrap();
    each(&turned.view());
}

/// Views to write with one shape: dense, and every other element of a larger array, backwards. Nothing beside
/// the view is written.
fn each_target(stream: &Stream, due: &Model, mut each: impl FnMut(&mut ViewMut<'_>)) {
    let expected: Vec<u32> = due.values.iter().map(|&value| value.try_into().unwrap()).collect();
    let mut dense = Array::full(stream, &due.shape, SENTINEL).unwrap();
    each(&mut dense.view_mut());
    assert_eq!(dense.to_vec(stream).unwrap(), expected);
    let wide: Vec<usize> = due.shape.iter().map(|extent| 2 * extent + 1).collect();
    let index = vec![ix![1..; 2][0]; due.rank()];
    let all: Vec<isize> = (0..due.rank()).map(usize::cast_signed).collect();
    let mut gaps = Array::full(stream, &wide, SENTINEL).unwrap();
    each(&mut gaps.view_mut().index(&index).unwrap().flip(&all).unwrap());
    let written = gaps.view().index(&index).unwrap().flip(&all).unwrap().to_vec(stream).unwrap();
    assert_eq!(written, expected);
    let beside = gaps.to_vec(stream).unwrap().into_iter().filter(|&value| value == SENTINEL).count();
    assert_eq!(beside, wide.iter().product::<usize>() - expected.len(), "elements beside were written");
}

/// Counts the work submitted while the closure runs.
fn counted<T>(stream: &Stream, work: impl FnOnce() -> T) -> (T, Statistics) {
    let context = stream.context();
    let before = context.statistics();
    let done = work();
    let after = context.statistics();
    let mut counted = Statistics::default();
    counted.copies = after.copies - before.copies;
    counted.fills = after.fills - before.fills;
    counted.copied_bytes = after.copied_bytes - before.copied_bytes;
    counted.filled_bytes = after.filled_bytes - before.filled_bytes;
    (done, counted)
}

/// Checks that a new result and one in place have the expected elements, and that the new one was written
/// once, in at most that number of operations.
fn check(
    stream: &Stream,
    source: &Model,
    due: &Model,
    most: u64,
    make: impl Fn(&View<'_>) -> Result<Owned>,
    write: impl Fn(&View<'_>, &mut ViewMut<'_>) -> Result<()>,
) {
    let expected: Vec<u32> = due.values.iter().map(|&value| value.try_into().unwrap()).collect();
    each_layout(stream, source, |view| {
        let (made, work) = counted(stream, || make(view).unwrap());
        assert_eq!(made.shape(), due.shape);
        assert!(made.layout().is_c_contiguous());
        assert_eq!(made.to_vec(stream).unwrap(), expected, "{:?} to {:?}", view.layout(), due.shape);
        let written = work.copied_bytes + work.filled_bytes;
        assert_eq!(written, 4 * due.values.len() as u64, "each element is written once");
        assert!(work.copies + work.fills <= most, "{work:?} for {most}");
        each_target(stream, due, |target| write(view, target).unwrap());
    });
}

/// One value for each index, no two equal.
fn numbered(shape: &[usize]) -> Model {
    let mut next = 100;
    let values = (0..shape.iter().product()).map(|_| {
        next += 1;
        next
    });
    Model { shape: shape.to_vec(), values: values.collect() }
}

const CONSTANT: usize = 7;

/// The position from which a position of a padded axis comes, by the definition of `numpy.pad`; none if it is
/// constant.
fn padded_from(mode: Pad<u32>, at: usize, before: usize, extent: usize) -> Option<usize> {
    let (at, extent) = (at.cast_signed() - before.cast_signed(), extent.cast_signed());
    let from = match mode {
        Pad::Constant(_) => Some(at).filter(|at| (0..extent).contains(at)),
        Pad::Edge => Some(at.clamp(0, extent - 1)),
        Pad::Wrap => Some(at.rem_euclid(extent)),
        Pad::Reflect if extent == 1 => Some(0),
        Pad::Reflect => {
            let period = 2 * (extent - 1);
            let at = at.rem_euclid(period);
            Some(at.min(period - at))
        }
        _ => panic!("a mode without a definition"),
    };
    from.map(isize::unsigned_abs)
}

fn padded(source: &Model, widths: &[(usize, usize)], mode: Pad<u32>) -> Model {
    let extents = source.shape.iter().zip(widths);
    let shape: Vec<usize> = extents.map(|(extent, (before, after))| before + extent + after).collect();
    Model::from_fn(&shape, |index| {
        let axes = index.iter().zip(widths).zip(&source.shape);
        let from: Option<Vec<usize>> =
            axes.map(|((&at, &(before, _)), &extent)| padded_from(mode, at, before, extent)).collect();
        from.map_or(CONSTANT, |from| source.at(&from))
    })
}

#[test]
fn pads_are_those_of_numpy() {
    let stream = stream();
    let mut numbers = Numbers(1);
    for shape in SHAPES {
        let source = numbered(shape);
        for round in 0..6 {
            let widths: Vec<(usize, usize)> = shape
                .iter()
                .map(|_| [(0, 0), (1, 1), (numbers.below(3), numbers.below(9))][numbers.below(3).min(round)])
                .collect();
            let margins = widths.iter().filter(|&&widths| widths != (0, 0)).count();
            let constant = Pad::Constant(u32::try_from(CONSTANT).unwrap());
            for mode in [constant, Pad::Edge, Pad::Reflect, Pad::Wrap] {
                let empty =
                    shape.iter().zip(&widths).any(|(&extent, &widths)| extent == 0 && widths != (0, 0));
                if empty && mode != constant {
                    continue;
                }
                let most = match mode {
                    Pad::Constant(_) => 1 + 2 * margins as u64,
                    Pad::Reflect => 6_u64.pow(u32::try_from(margins).unwrap()),
                    _ => 3_u64.pow(u32::try_from(margins).unwrap()),
                };
                let due = padded(&source, &widths, mode);
                check(
                    &stream,
                    &source,
                    &due,
                    most,
                    |view| view.pad(&stream, &widths, mode),
                    |view, target| view.pad_into(&stream, &widths, mode, target),
                );
            }
        }
    }
}

/// The output of NumPy 2.4.6: `np.pad(np.arange(n), widths, mode)`.
#[test]
fn pads_as_numpy_printed_them() {
    let stream = stream();
    type Case = (u32, (usize, usize), Pad<u32>, &'static [u32]);
    let cases: [Case; 9] = [
        (3, (5, 4), Pad::Reflect, &[1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]),
        (2, (3, 3), Pad::Reflect, &[1, 0, 1, 0, 1, 0, 1, 0]),
        (4, (3, 3), Pad::Reflect, &[3, 2, 1, 0, 1, 2, 3, 2, 1, 0]),
        (4, (4, 0), Pad::Reflect, &[2, 3, 2, 1, 0, 1, 2, 3]),
        (1, (2, 1), Pad::Reflect, &[0, 0, 0, 0]),
        (3, (4, 5), Pad::Wrap, &[2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]),
        (3, (3, 0), Pad::Wrap, &[0, 1, 2, 0, 1, 2]),
        (3, (2, 1), Pad::Edge, &[0, 0, 0, 1, 2, 2]),
        (2, (1, 2), Pad::Constant(9), &[9, 0, 1, 9, 9]),
    ];
    for (extent, widths, mode, due) in cases {
        let source = Array::arange(&stream, 0, extent, 1).unwrap();
        let found = source.pad(&stream, &[widths], mode).unwrap().to_vec(&stream).unwrap();
        assert_eq!(found, due, "{extent} {widths:?} {mode:?}");
    }
}

/// Margins of an image and of many images: no more operations than documented, far fewer than twice the axes
/// where margins meet.
#[test]
fn margins_that_meet_in_memory_are_one_fill() {
    let stream = stream();
    for (shape, widths, fills) in [
        (vec![8], vec![(1, 1)], 1),
        (vec![8], vec![(0, 1)], 1),
        (vec![8], vec![(2, 1)], 2),
        (vec![8, 8], vec![(1, 1), (1, 1)], 2),
        (vec![8, 8], vec![(1, 2), (3, 4)], 3),
        (vec![8, 8], vec![(0, 0), (1, 1)], 1),
        (vec![8, 8], vec![(1, 1), (0, 0)], 1),
        (vec![4, 4, 4], vec![(1, 1), (1, 1), (1, 1)], 3),
        (vec![4, 4, 4], vec![(1, 2), (1, 2), (1, 2)], 4),
        (vec![2, 3, 4, 4], vec![(0, 0), (0, 0), (1, 1), (1, 1)], 2),
        (vec![2, 0, 4], vec![(1, 1), (1, 1), (1, 1)], 1),
        (vec![4, 4], vec![(0, 0), (0, 0)], 0),
    ] {
        let source = Array::<u32, _>::zeros(&stream, &shape).unwrap();
        let (made, work) = counted(&stream, || source.pad(&stream, &widths, Pad::Constant(7)).unwrap());
        let copies = u64::from(!shape.contains(&0));
        assert_eq!((work.fills, work.copies), (fills, copies), "{shape:?} {widths:?}");
        assert_eq!(work.filled_bytes + work.copied_bytes, 4 * made.len() as u64);
    }
}

/// Margins that are as wide before as after are one walk, over the margins and the middle of each axis.
#[test]
fn margins_of_one_width_are_one_copy() {
    let stream = stream();
    let source = Array::<u32, _>::zeros(&stream, &[5, 6, 7]).unwrap();
    for mode in [Pad::Edge, Pad::Reflect, Pad::Wrap] {
        for (widths, copies) in [
            ([(1, 1), (0, 0), (0, 0)], 2),
            ([(2, 2), (3, 3), (0, 0)], 4),
            ([(1, 1), (1, 1), (1, 1)], 8),
            ([(1, 2), (0, 0), (0, 0)], 3),
        ] {
            let (_, work) = counted(&stream, || source.pad(&stream, &widths, mode).unwrap());
            assert_eq!((work.copies, work.fills), (copies, 0), "{mode:?} {widths:?}");
        }
    }
}

/// More copies than are submitted together.
#[test]
fn margins_of_many_axes_are_those_of_numpy() {
    let stream = stream();
    let (source, widths) = (numbered(&[2, 3, 2, 3, 2]), [(1, 2), (2, 1), (1, 3), (1, 2), (2, 1)]);
    for mode in [Pad::Edge, Pad::Wrap, Pad::Reflect] {
        let due = padded(&source, &widths, mode);
        let values: Vec<u32> = source.values.iter().map(|&value| value.try_into().unwrap()).collect();
        let array = Array::from_slice(&stream, &source.shape, &values).unwrap();
        let (made, work) = counted(&stream, || array.pad(&stream, &widths, mode).unwrap());
        assert!(work.copies > 64, "{mode:?}: {work:?}");
        let found: Vec<usize> =
            made.to_vec(&stream).unwrap().into_iter().map(|value| value as usize).collect();
        assert_eq!(found, due.values, "{mode:?}");
    }
}

/// A margin far longer than the array takes no more copies than a short one.
#[test]
fn long_margins_are_few_copies() {
    let stream = stream();
    let source = Array::arange(&stream, 0_u8, 2, 1).unwrap();
    for (mode, most) in [(Pad::Reflect, 6), (Pad::Wrap, 3), (Pad::Edge, 3)] {
        let widths = [(100_001, 99_999)];
        let (made, work) = counted(&stream, || source.pad(&stream, &widths, mode).unwrap());
        assert!(work.copies <= most, "{mode:?}: {work:?}");
        let found = made.to_vec(&stream).unwrap();
        for (at, &value) in found.iter().enumerate() {
            let due = match mode {
                Pad::Edge => u8::from(at > 100_001),
                _ => u8::from((at + 100_001) % 2 == 1),
            };
            assert_eq!(value, due, "{mode:?} at {at}");
        }
    }
}

#[test]
fn rolls_are_those_of_numpy() {
    let stream = stream();
    let mut numbers = Numbers(2);
    for shape in SHAPES {
        let source = numbered(shape);
        let rank = shape.len();
        for count in 0..=rank.min(3) {
            let axes: Vec<isize> =
                (0..count).map(|_| numbers.below(2 * rank).cast_signed() - rank.cast_signed()).collect();
            let shifts: Vec<isize> = (0..count)
                .map(|_| [numbers.below(23).cast_signed() - 11, isize::MIN, isize::MAX][numbers.below(9) / 4])
                .collect();
            // result[(i + shift) mod n] = source[i], one axis after the other.
            let mut due = source.clone();
            for (&axis, &shift) in axes.iter().zip(&shifts) {
                let axis = axis.rem_euclid(rank.cast_signed()).unsigned_abs();
                let extent = shape[axis] as i128;
                let positions: Vec<usize> = (0..extent)
                    .map(|at| usize::try_from((at - shift as i128).rem_euclid(extent)).unwrap())
                    .collect();
                due = due.select(axis, &positions);
            }
            check(
                &stream,
                &source,
                &due,
                1 << count,
                |view| view.roll(&stream, &shifts, &axes),
                |view, target| view.roll_into(&stream, &shifts, &axes, target),
            );
        }
    }
}

#[test]
fn tiles_and_repeats_are_those_of_numpy_and_one_copy() {
    let stream = stream();
    for shape in SHAPES {
        let source = numbered(shape);
        for repeats in [&[][..], &[2], &[0], &[3, 1], &[2, 1, 3], &[1, 2, 1, 2]] {
            let rank = shape.len().max(repeats.len());
            let long = |list: &[usize]| [vec![1; rank - list.len()], list.to_vec()].concat();
            let (extents, counts) = (long(shape), long(repeats));
            let due: Vec<usize> = extents.iter().zip(&counts).map(|(extent, count)| extent * count).collect();
            let due = Model::from_fn(&due, |index| {
                let from: Vec<usize> = index.iter().zip(&extents).map(|(at, extent)| at % extent).collect();
                source.at(&from[rank - shape.len()..])
            });
            check(
                &stream,
                &source,
                &due,
                1,
                |view| view.tile(&stream, repeats),
                |view, target| view.tile_into(&stream, repeats, target),
            );
        }
        for (axis, count) in (0..shape.len()).flat_map(|axis| [0, 1, 3].map(|count| (axis, count))) {
            let positions: Vec<usize> = (0..shape[axis] * count).map(|at| at / count).collect();
            let due = source.select(axis, &positions);
            let axis = axis.cast_signed() - shape.len().cast_signed();
            check(
                &stream,
                &source,
                &due,
                1,
                |view| view.repeat(&stream, count, axis),
                |view, target| view.repeat_into(&stream, count, axis, target),
            );
        }
    }
}

#[test]
fn elements_of_any_size() {
    let stream = stream();
    let data: [[u8; 3]; 4] = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]];
    let source = Array::from_slice(&stream, &[2, 2], &data).unwrap();
    let [a, b, c, d] = data;
    let padded = source.pad(&stream, &[(0, 1)], Pad::Constant([0; 3])).unwrap().to_vec(&stream).unwrap();
    assert_eq!(padded, [a, b, [0; 3], c, d, [0; 3], [0; 3], [0; 3], [0; 3]]);
    assert_eq!(source.repeat(&stream, 2, 1).unwrap().to_vec(&stream).unwrap(), [a, a, b, b, c, c, d, d]);
    let erased = source.into_erased();
    let rolled = erased.view().roll(&stream, &[1], &[0]).unwrap().view().to_bytes(&stream).unwrap();
    assert_eq!(rolled, [c, d, a, b].concat());
}
