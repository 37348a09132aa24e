//! Copies on the device: the bytes that move, and the bytes that must not.

use std::fmt::Debug;

use devarray::{Array, Context, Device, Element, Error, LayoutError, Order};

use crate::{
    Call, Harness, Instrumented, Outcome, Pattern, Picture, Rng,
    difference::{self, Side},
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Contiguous copies of all sizes around the powers of two.
pub fn linear<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for len in [1, 2, 15, 16, 17, 255, 256, 257, 4095, 65_537, 1_000_003] {
        let data = elements::<u8>(3, len);
        let source = Array::from_slice(&stream, &[len], &data)?;
        let mut copy = Array::uninit(&stream, &[len])?;
        copy.view_mut().copy_from(&stream, &source.view())?;
        same(&copy.to_vec(&stream)?, &data, &format!("a copy of {len} bytes"))?;
        same(&source.to_vec(&stream)?, &data, "the source of a copy")?;
    }
    Ok(())
}

/// A long chain of copies from array to array ends with the elements that it began with.
pub fn chain<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let streams = [context.stream()?, context.stream()?, context.stream()?];
    for mut rng in harness.rngs().take(8) {
        let data = elements::<u32>(rng.bits(), 1000);
        let mut last = Array::from_slice(&streams[0], &[1000], &data)?;
        for _ in 0..40 {
            let stream = &streams[rng.below(3)];
            let mut next = Array::uninit(stream, &[1000])?;
            next.view_mut().copy_from(stream, &last.view())?;
            last = next;
        }
        same(&last.to_vec(&streams[0])?, &data, "the end of a chain of copies over three streams")?;
    }
    Ok(())
}

/// A copy between any two layouts moves each element to its index, and leaves every other byte of
/// the destination's memory as it was: for every element size, axis order, stride sign, gap and
/// broadcast.
pub fn strided<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    for mut rng in harness.rngs() {
        let shape = SHAPES[rng.below(SHAPES.len())];
        let source = Pattern::random(&mut rng, shape, true);
        let target = Pattern::random(&mut rng, shape, false);
        match rng.below(6) {
            0 => copy_between::<u8, D>(&context, &target, &source),
            1 => copy_between::<u16, D>(&context, &target, &source),
            2 => copy_between::<u32, D>(&context, &target, &source),
            3 => copy_between::<u64, D>(&context, &target, &source),
            4 => copy_between::<u128, D>(&context, &target, &source),
            _ => copy_between::<[u8; 3], D>(&context, &target, &source),
        }?;
    }
    Ok(())
}

/// Copies a view of one array to a view of another, and compares both arrays completely with the
/// oracle.
fn copy_between<T: Element + PartialEq + Debug, D: Device>(
    context: &Context<D>,
    target: &Pattern,
    source: &Pattern,
) -> Outcome {
    let stream = context.stream()?;
    let (from, mut due) = (elements::<T>(5, source.base_len()), elements::<T>(6, target.base_len()));
    let source_array = Array::from_slice(&stream, &source.base, &from)?;
    let mut target_array = Array::from_slice(&stream, &target.base, &due)?;
    let (to_layout, from_layout) =
        (target.view(&target_array)?.layout().clone(), source.view(&source_array)?.layout().clone());
    target.view_mut(&mut target_array)?.copy_from(&stream, &source.view(&source_array)?)?;
    let before = due.clone();
    target.picture().write(&mut due, &source.picture().read(&from));
    let what = format!("{} bytes an element", T::BYTES);
    let to = Side { pattern: target, layout: &to_layout, elements: &before };
    let read = Side { pattern: source, layout: &from_layout, elements: &from };
    let found = target_array.to_vec(&stream)?;
    difference::of_copy(&found, &due, &to, &read, &format!("destination of a copy, {what}"))?;
    same(
        &source_array.to_vec(&stream)?,
        &from,
        &format!("source of a copy: {what}, {target:?} from {source:?}"),
    )
}

/// Rows copied with a pitch leave the bytes between them unchanged, on both sides, for all widths
/// and alignments.
pub fn gaps<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    for (width, wider, rows) in
        [(1, 3, 9), (3, 4, 33), (15, 16, 8), (16, 48, 7), (31, 33, 5), (64, 65, 17), (257, 300, 6)]
    {
        let rows_of = |pitch: usize, before: usize| Pattern {
            base: vec![rows, before + pitch],
            steps: vec![crate::Step::Slice { axis: 1, start: before, step: 1, count: width }],
        };
        for (to_before, from_before) in [(0, 0), (1, 0), (0, 2), (3, 5)] {
            copy_between::<u8, D>(&context, &rows_of(wider, to_before), &rows_of(wider + 2, from_before))?;
            copy_between::<u32, D>(&context, &rows_of(wider, to_before), &rows_of(wider + 1, from_before))?;
        }
    }
    Ok(())
}

/// Transposes, 2-D and batched, with extents around the size of a tile.
pub fn transposed<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    for (depth, rows, columns) in [(1, 2, 2), (1, 31, 33), (1, 64, 65), (3, 32, 32), (2, 5, 129), (4, 1, 7)] {
        let base = vec![depth, rows, columns];
        let transposed = Pattern { base, steps: vec![crate::Step::Permute(vec![0, 2, 1])] };
        let dense = Pattern::whole(&[depth, columns, rows]);
        copy_between::<u8, D>(&context, &dense, &transposed)?;
        copy_between::<u16, D>(&context, &dense, &transposed)?;
        copy_between::<u32, D>(&context, &dense, &transposed)?;
        copy_between::<u64, D>(&context, &dense, &transposed)?;
        copy_between::<u128, D>(&context, &dense, &transposed)?;
    }
    Ok(())
}

/// A view may repeat its elements when it is read.
pub fn broadcast<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    for (base, extent, axes) in [
        (vec![], 17, vec![0]),
        (vec![5], 4, vec![0, 1]),
        (vec![5], 4, vec![1, 0]),
        (vec![3, 4], 6, vec![1, 0, 2]),
        (vec![3, 4], 0, vec![1, 2, 0]),
    ] {
        let repeated = Pattern { base, steps: vec![crate::Step::Repeat(extent), crate::Step::Permute(axes)] };
        let dense = Pattern::whole(&repeated.picture().shape);
        copy_between::<u8, D>(&context, &dense, &repeated)?;
        copy_between::<u32, D>(&context, &dense, &repeated)?;
        copy_between::<[u32; 3], D>(&context, &dense, &repeated)?;
    }
    Ok(())
}

/// Reversed axes: on the source, on the destination, on both, and on only some of them.
pub fn reversed<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let shape = [3, 4, 5];
    let flipped = |axes: usize| Pattern {
        base: shape.to_vec(),
        steps: (0..3)
            .filter(|axis| axes >> axis & 1 == 1)
            .map(|axis| crate::Step::Slice { axis, start: shape[axis] - 1, step: -1, count: shape[axis] })
            .collect(),
    };
    for (target, source) in (0..8).flat_map(|target| (0..8).map(move |source| (target, source))) {
        copy_between::<u16, D>(&context, &flipped(target), &flipped(source))?;
    }
    copy_between::<u128, D>(&context, &flipped(0), &flipped(7))
}

/// Disjoint parts of one array can be copied to each other: halves, and interleaved columns.
pub fn within_one_array<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let base = Picture::of(&[6, 8]);
    for axis in [0, 1] {
        let mut due = elements::<u32>(8, 48);
        let mut array = Array::from_slice(&stream, &[6, 8], &due)?;
        let middle = base.shape[axis] / 2;
        let mut parts = array.view_mut().array_split(axis.cast_signed(), 2)?;
        let (Some(mut low), Some(high)) = (parts.next(), parts.next()) else {
            return Err(crate::Violation::new("a split in two gave fewer parts"));
        };
        low.copy_from(&stream, &high.as_view().flip(&[0])?)?;
        let moved = base.slice(axis, middle, 1, middle).flip(0).read(&due);
        base.slice(axis, 0, 1, middle).write(&mut due, &moved);
        drop((low, high, parts));
        same(
            &array.to_vec(&stream)?,
            &due,
            &format!("an array whose upper half along axis {axis} was copied to the lower"),
        )?;
    }
    Ok(())
}

/// A copy between different shapes is refused with the pure error, and the destination is
/// unchanged.
pub fn mismatch<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let data = elements::<u32>(1, 12);
    let mut target = Array::from_slice(&stream, &[3, 4], &data)?;
    for shape in [&[4, 3][..], &[12], &[3, 4, 1], &[3, 5], &[1, 4]] {
        let source = Array::<u32, D>::zeros(&stream, shape)?;
        let refused = target.view_mut().copy_from(&stream, &source.view());
        let due = matches!(
            refused,
            Err(Error::Layout(LayoutError::ShapeMismatch { .. } | LayoutError::RankMismatch { .. }, ..))
        );
        ensure(due, || format!("a copy of {shape:?} to [3, 4]: {refused:?}"))?;
    }
    let refused = target.view_mut().copy_from_slice(&stream, &data[1..]);
    let due = matches!(refused, Err(Error::Layout(LayoutError::LengthMismatch { .. }, ..)));
    ensure(due, || format!("a slice of 11 for 12 elements: {refused:?}"))?;
    same(&target.to_vec(&stream)?, &data, "a destination after refused copies")
}

/// Copies, fills and transfers of no elements succeed and never reach the backend.
pub fn zero_size<D: Device>(harness: &Harness<D>) -> Outcome {
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let mut full = Array::<u32, _>::zeros(&stream, &[3, 4])?;
    let mut empty = Array::<u32, _>::uninit(&stream, &[0, 4])?;
    log.clear();
    empty.view_mut().copy_from(&stream, &full.view().slice_axis(0, 2..2)?)?;
    empty.view_mut().fill(&stream, 7)?;
    empty.view_mut().copy_from_slice(&stream, &[])?;
    full.view_mut().slice_axis(0, 1..1)?.copy_from(&stream, &empty.view())?;
    full.view_mut().slice_axis(0, 3..)?.fill(&stream, 7)?;
    full.view_mut().slice_axis(0, ..0)?.copy_from_slice(&stream, &[])?;
    same(&empty.to_vec(&stream)?, &[], "an empty array")?;
    same(&full.view().slice_axis(1, 4..)?.to_vec(&stream)?, &[], "an empty view")?;
    let work = [Call::Copy, Call::Fill, Call::Upload, Call::Download, Call::Alloc];
    let calls = log.calls();
    ensure(!calls.iter().any(|call| work.contains(call)), || format!("the backend saw {calls:?}"))
}

/// Two streams may work on disjoint parts of one array at the same time, with no edge between them,
/// and neither disturbs the other.
pub fn disjoint_halves<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (left, right) = (context.strict_stream()?, context.strict_stream()?);
    for axis in [0, 1] {
        let data = elements::<u32>(2, 64 * 64);
        let source = Array::from_slice(&left, &[64, 64], &data)?;
        let mut target = Array::<u32, D>::zeros(&left, &[64, 64])?;
        left.synchronize()?;
        let halves =
            target.view_mut().array_split(axis, 2)?.zip(source.view().flip(&[0])?.array_split(axis, 2)?);
        for (stream, (mut to, from)) in [&left, &right].into_iter().zip(halves) {
            to.copy_from(stream, &from)?;
        }
        left.wait(&right.record()?)?;
        let due = Picture::of(&[64, 64]).flip(0).read(&data);
        same(&target.to_vec(&left)?, &due, &format!("halves along axis {axis} written by two streams"))?;
    }
    Ok(())
}

/// A writer waits for every reader, not only for the last one.
pub fn readers_then_writer<D: Device>(harness: &Harness<D>) -> Outcome {
    const LEN: usize = 100_000;
    let context = harness.context()?;
    let readers = [context.stream()?, context.stream()?, context.stream()?];
    let writer = context.stream()?;
    for mut rng in harness.rngs().take(16) {
        let data = elements::<u32>(rng.bits(), LEN);
        let mut shared = Array::from_slice(&writer, &[LEN], &data)?;
        let mut copies = Vec::new();
        for at in rng.permutation(readers.len()) {
            // The first reader has the most work before it reads.
            let stream = &readers[at];
            let mut copy = Array::<u32, D>::zeros(stream, &[LEN])?;
            for _ in 0..2 * (readers.len() - copies.len()) {
                copy.view_mut().fill(stream, 1)?;
            }
            copy.view_mut().copy_from(stream, &shared.view())?;
            copies.push(copy);
        }
        shared.view_mut().fill(&writer, 0xDEAD_BEEF)?;
        for copy in &copies {
            same(
                &copy.to_vec(&writer)?,
                &data,
                "what a reader saw of an array that was overwritten after it",
            )?;
        }
        same(&shared.to_vec(&writer)?, &[0xDEAD_BEEF; LEN], "an array overwritten after three readers")?;
    }
    Ok(())
}

/// Bytes arrive the same whether copied as a whole, in pieces, through another layout, or over two
/// streams.
pub fn many_ways<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (stream, other) = (context.stream()?, context.stream()?);
    let mut rng = Rng::new(11);
    let data = elements::<u16>(4, 24 * 18);
    let source = Array::from_slice(&stream, &[24, 18], &data)?;
    let transposed = source.view().transpose();
    let due = Picture::of(&[24, 18]).permute(&[1, 0]).read(&data);
    let whole = transposed.to_contiguous(&stream, Order::C)?;
    same(&whole.to_vec(&stream)?, &due, "a transpose in one copy")?;
    let through_f = transposed.to_contiguous(&other, Order::F)?.view().to_contiguous(&stream, Order::C)?;
    same(&through_f.to_vec(&stream)?, &due, "a transpose by way of column-major order")?;
    let mut pieces = Array::<u16, D>::zeros(&stream, &[18, 24])?;
    for row in rng.permutation(18) {
        let stream = [&stream, &other][rng.below(2)];
        pieces
            .view_mut()
            .slice_axis(0, row..row + 1)?
            .copy_from(stream, &transposed.slice_axis(0, row..row + 1)?)?;
    }
    same(&pieces.to_vec(&other)?, &due, "a transpose row by row on two streams")
}
