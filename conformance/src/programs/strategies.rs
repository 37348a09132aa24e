//! Strategies for proptest, for the programs here and for your own tests.

use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    strategy::{BoxedStrategy, Union},
};

use super::{
    drawn::MOST_STREAMS,
    op::{Away, Combined, End, Formula, Item, MOST_RECORDED, Op, Ordered, Part, Program, Start, Transform},
};
use crate::patterns::{Pattern, Step};

/// Numbers for seeds, operands and positions, which are taken modulo the number of these.
const NAMES: std::ops::Range<usize> = 0..12;

const ORDERED: [Ordered; 5] =
    [Ordered::Ascending, Ordered::Descending, Ordered::Positions, Ordered::Top, Ordered::Bottom];
const COMBINED: [Combined; 3] = [Combined::Added, Combined::Least, Combined::Most];

/// Shapes of up to `most_axes` axes: extents of 0 and 1 are frequent, most are below 7, and some are near the
/// edges of tiles. Shrinks to fewer axes and smaller extents.
pub fn shapes(most_axes: usize) -> BoxedStrategy<Vec<usize>> {
    vec(extents(), 0..=most_axes).boxed()
}

fn extents() -> BoxedStrategy<usize> {
    prop_oneof![6 => 1_usize..7, 2 => Just(1), 1 => Just(0), 2 => select(&[8, 15, 16, 17, 31, 32, 33, 64, 65][..])]
        .boxed()
}

/// Views of a shape into some C-contiguous base: axes in any order, steps of any sign, gaps before, between
/// and after. If `repeats` is set, axes of the base may be repeated, which a destination does not allow.
/// Shrinks to the whole base.
pub fn patterns(shape: Vec<usize>, repeats: bool) -> BoxedStrategy<Pattern> {
    let rank = shape.len();
    let order = Just((0..rank).collect::<Vec<usize>>()).prop_shuffle();
    let axis = (select(&[1_isize, 1, 2, 3, -1, -2][..]), 0_usize..3, 0_usize..3, 0_usize..6);
    (order, vec(axis, rank))
        .prop_map(move |(order, choices)| {
            let (mut pattern, mut repeated, mut kept) = (Pattern::whole(&[]), Vec::new(), Vec::new());
            for (&axis, &(step, before, after, repeat)) in order.iter().zip(&choices) {
                if repeats && repeat == 5 {
                    repeated.push(axis);
                    continue;
                }
                let count = shape[axis];
                let reach = count.saturating_sub(1) * step.unsigned_abs();
                pattern.base.push(before + reach + usize::from(count > 0) + after);
                let start = if step < 0 { before + reach } else { before };
                pattern.steps.push(Step::Slice { axis: kept.len(), start, step, count });
                kept.push(axis);
            }
            for axis in repeated {
                pattern.steps.push(Step::Repeat(shape[axis]));
                kept.insert(0, axis);
            }
            let axes = (0..rank).filter_map(|axis| kept.iter().position(|&at| at == axis)).collect();
            pattern.steps.push(Step::Permute(axes));
            pattern
        })
        .boxed()
}

/// The bits of an element of `item_bytes` bytes: zero, one, all ones, the sign bit; for the sizes of floats
/// also infinities, quiet and signalling NaN, and the least subnormal; otherwise any bits.
pub fn element_bits(item_bytes: usize) -> BoxedStrategy<u64> {
    let width = u32::try_from(item_bytes.clamp(1, 8) * 8).unwrap_or(64);
    let mask = u64::MAX >> (64 - width);
    let mut special = vec![0, 1, mask, 1 << (width - 1), mask >> 1];
    let exponent: &[u64] = match item_bytes {
        2 => &[0x7c00, 0x7f80],
        4 => &[0x7f80_0000],
        8 => &[0x7ff0_0000_0000_0000],
        _ => &[],
    };
    for &infinity in exponent {
        let quiet = infinity | (infinity & infinity.wrapping_neg()) >> 1;
        special.extend([infinity, quiet, infinity | 1, infinity - 1, infinity | 1 << (width - 1)]);
    }
    prop_oneof![2 => select(special), 3 => any::<u64>().prop_map(move |bits| bits & mask)].boxed()
}

/// Floats: any floats, with zeros of both signs, infinities, NaN, subnormals, and the least and greatest
/// among them.
pub fn floats() -> BoxedStrategy<f32> {
    element_bits(4).prop_map(|bits| f32::from_bits(u32::try_from(bits).unwrap_or(0))).boxed()
}

/// Transforms for a view of any rank.
pub fn transforms() -> BoxedStrategy<Transform> {
    let axis = 0_usize..3;
    prop_oneof![
        4 => Just(Transform::Whole),
        2 => (axis.clone(), axis.clone()).prop_map(|(a, b)| Transform::Swap(a, b)),
        1 => (0_usize..6).prop_map(Transform::Permute),
        2 => axis.clone().prop_map(Transform::Flip),
        6 => (axis.clone(), 0_usize..8, 0_usize..3, 0_usize..9)
            .prop_map(|(axis, start, step, count)| Transform::Cut { axis, start, step, count }),
        2 => (axis.clone(), 0_usize..8).prop_map(|(axis, at)| Transform::Index(axis, at)),
        1 => axis.clone().prop_map(Transform::NewAxis),
        2 => (axis, 0_usize..4, 0_usize..4).prop_map(|(axis, n, which)| Transform::Section(axis, n, which)),
    ]
    .boxed()
}

/// Parts of the arrays of a program.
pub fn parts() -> BoxedStrategy<Part> {
    // The first arrays are frequent, so that operations meet.
    let arrays = prop_oneof![1 => 0_usize..2, 2 => NAMES];
    (arrays, [transforms(), transforms()]).prop_map(|(array, transforms)| Part { array, transforms }).boxed()
}

fn creates() -> BoxedStrategy<Op> {
    let starts = select(&[Start::Zeros, Start::Full, Start::Uploaded, Start::UploadedF, Start::Uninit][..]);
    let ranks = prop_oneof![1 => Just(0_usize), 3 => Just(1), 4 => Just(2), 3 => Just(3)];
    (NAMES, [extents(), extents(), extents()], ranks, starts, 0_usize..1000)
        .prop_map(|(stream, extents, rank, start, value)| Op::Create { stream, extents, rank, start, value })
        .boxed()
}

/// Operations of programs.
pub fn ops() -> BoxedStrategy<Op> {
    let stream = || NAMES;
    let formulas = || select(&[Formula::Sum, Formula::Product, Formula::Maximum, Formula::Fold][..]);
    let replaced = proptest::bool::weighted(0.25);
    let on_two = || (stream(), parts(), parts());
    let on_one = || (stream(), parts(), 0_usize..1000);
    // Weights in tenths: a large array takes as long as a whole program.
    Union::new_weighted(vec![
        (50, creates()),
        (20, on_one().prop_map(|(stream, to, value)| Op::Fill { stream, to, value }).boxed()),
        (20, on_one().prop_map(|(stream, to, value)| Op::Upload { stream, to, value }).boxed()),
        (10, on_one().prop_map(|(stream, to, value)| Op::UploadF { stream, to, value }).boxed()),
        (20, (stream(), parts()).prop_map(|(stream, from)| Op::Download { stream, from }).boxed()),
        (60, on_two().prop_map(|(stream, to, from)| Op::Copy { stream, to, from }).boxed()),
        (
            20,
            (stream(), parts(), NAMES, NAMES, NAMES, 0_usize..1000)
                .prop_map(|(stream, of, axis, to, from, value)| Op::Sections {
                    stream,
                    of,
                    axis,
                    to,
                    from,
                    value,
                })
                .boxed(),
        ),
        (
            20,
            (stream(), parts(), NAMES, 0_usize..5, any::<bool>())
                .prop_map(|(stream, of, axis, by, down)| Op::Shift { stream, of, axis, by, down })
                .boxed(),
        ),
        (
            20,
            (stream(), parts(), any::<bool>())
                .prop_map(|(stream, from, fortran)| Op::Contiguous { stream, from, fortran })
                .boxed(),
        ),
        (10, on_two().prop_map(|(stream, first, second)| Op::Concatenate { stream, first, second }).boxed()),
        (
            60,
            (on_two(), formulas(), 0_usize..1000)
                .prop_map(|((stream, to, from), formula, value)| Op::Map { stream, to, from, formula, value })
                .boxed(),
        ),
        (
            40,
            (stream(), parts(), NAMES)
                .prop_map(|(stream, from, axis)| Op::Greatest { stream, from, axis })
                .boxed(),
        ),
        (
            60,
            (on_two(), 0_usize..1000)
                .prop_map(|((stream, to, from), value)| Op::Kernel { stream, to, from, value })
                .boxed(),
        ),
        (
            20,
            (on_one(), NAMES)
                .prop_map(|((stream, from, value), axis)| Op::Take { stream, from, axis, value })
                .boxed(),
        ),
        (
            20,
            (on_one(), NAMES)
                .prop_map(|((stream, to, value), axis)| Op::Put { stream, to, axis, value })
                .boxed(),
        ),
        (
            40,
            (on_one(), NAMES, select(&ORDERED[..]))
                .prop_map(|((stream, from, value), axis, by)| Op::Sort { stream, from, axis, by, value })
                .boxed(),
        ),
        (20, on_one().prop_map(|(stream, from, value)| Op::Count { stream, from, value }).boxed()),
        (
            30,
            (on_one(), NAMES, select(&COMBINED[..]))
                .prop_map(|((stream, to, value), axis, by)| Op::Combine { stream, to, axis, by, value })
                .boxed(),
        ),
        (
            20,
            (on_one(), select(&COMBINED[..]))
                .prop_map(|((stream, from, value), by)| Op::Segments { stream, from, by, value })
                .boxed(),
        ),
        (
            20,
            (on_two(), 0_usize..1000)
                .prop_map(|((stream, from, of_each), value)| Op::SearchSorted {
                    stream,
                    from,
                    of_each,
                    value,
                })
                .boxed(),
        ),
        (20, on_two().prop_map(|(stream, first, second)| Op::Matmul { stream, first, second }).boxed()),
        (
            10,
            (on_two(), formulas(), 0_usize..1000)
                .prop_map(|((stream, first, second), formula, value)| Op::MatmulMap {
                    stream,
                    first,
                    second,
                    formula,
                    value,
                })
                .boxed(),
        ),
        (20, on_two().prop_map(|(stream, to, from)| Op::Square { stream, to, from }).boxed()),
        (2, (stream(), 0_usize..1000).prop_map(|(stream, value)| Op::Large { stream, value }).boxed()),
        (10, on_two().prop_map(|(stream, to, from)| Op::Across { stream, to, from }).boxed()),
        (20, on_one().prop_map(|(stream, to, value)| Op::StartUpload { stream, to, value }).boxed()),
        (20, (stream(), parts()).prop_map(|(stream, from)| Op::StartDownload { stream, from }).boxed()),
        (
            20,
            (NAMES, select(&[End::Waited, End::Polled, End::Dropped][..]))
                .prop_map(|(transfer, end)| Op::EndTransfer { transfer, end })
                .boxed(),
        ),
        (
            10,
            (on_two(), 0_usize..1000)
                .prop_map(|((stream, to, from), value)| Op::Scope { stream, to, from, value })
                .boxed(),
        ),
        (
            20,
            (NAMES, select(&[Away::Here, Away::Here, Away::Here, Away::Deferred, Away::Elsewhere][..]))
                .prop_map(|(array, away)| Op::Drop { array, away })
                .boxed(),
        ),
        (10, (0_usize..4).prop_map(|count| Op::ReleaseLimit { count }).boxed()),
        (20, select(&[16_usize, 63, 0][..]).prop_map(|kib| Op::PinnedIdle { kib }).boxed()),
        (20, (stream(), replaced).prop_map(|(stream, strict)| Op::Replace { stream, strict }).boxed()),
        (10, stream().prop_map(|stream| Op::Record { stream }).boxed()),
        (10, (stream(), NAMES).prop_map(|(stream, event)| Op::Wait { stream, event }).boxed()),
        (10, (NAMES, any::<bool>()).prop_map(|(event, only_ask)| Op::AwaitEvent { event, only_ask }).boxed()),
        (10, stream().prop_map(|stream| Op::Join { stream }).boxed()),
        (10, stream().prop_map(|stream| Op::Synchronize { stream }).boxed()),
    ])
    .boxed()
}

/// Recorded work: the operation that records, and the operations that it records.
fn recordings() -> BoxedStrategy<Vec<Op>> {
    let recorded = ops().prop_filter("cannot be recorded", Op::can_be_recorded);
    (NAMES, [parts(), parts(), parts()], 0_usize..3, 0_usize..1000, vec(recorded, 2..=MOST_RECORDED))
        .prop_map(|(stream, [to, beside, from], launches, value, mut all)| {
            for named in all.iter_mut().filter_map(Op::name_mut) {
                *named = stream / 4 * 4 + *named % 4; // of the same thread
            }
            all.insert(0, Op::Recorded { stream, to, beside, from, calls: all.len(), launches, value });
            all
        })
        .boxed()
}

/// Programs of 1 to 4 streams, 1 to 3 threads and up to `most_ops` operations. The first operations make
/// arrays.
pub fn programs(most_ops: usize) -> BoxedStrategy<Program> {
    let items = select(&[Item::U8, Item::Bytes3, Item::U16, Item::U32, Item::U64][..]);
    let threads = prop_oneof![4 => Just(1_usize), 1 => Just(2), 1 => Just(3)];
    let most_ops = most_ops.max(2);
    let first = vec(creates(), 1..=(most_ops / 2).min(5));
    let some = prop_oneof![20 => ops().prop_map(|op| vec![op]), 1 => recordings()];
    (items, 1..=MOST_STREAMS, threads, first, vec(some, 1..=most_ops))
        .prop_map(move |(item, streams, threads, mut all, ops)| {
            all.extend(ops.into_iter().flatten());
            all.truncate(most_ops);
            Program { item, streams, threads, ops: all }
        })
        .boxed()
}
