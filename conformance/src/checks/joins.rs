//! Joins and paddings: each element of the result is the one that NumPy defines, and no other bytes
//! are written.

use std::fmt::Debug;

use devarray::{Array, ArrayView, ArrayViewMut, Context, Device, Element, Pad, Result};

use crate::{
    Harness, Outcome, Pattern, Rng,
    patterns::{SHAPES, elements},
    violation::same,
};

/// For each index of a result, in C order, the position of its element in the source; `None` for a
/// constant.
type Sources = Vec<Option<usize>>;

/// For each index of `shape`, the position, in C order of `source`, of the index that `from` gives.
fn sources(shape: &[usize], source: &[usize], from: impl Fn(usize, usize) -> Option<usize>) -> Sources {
    let added = shape.len() - source.len();
    let place = |number: usize| {
        let (mut rest, mut place, mut step) = (number, 0, 1);
        for (axis, &extent) in shape.iter().enumerate().rev() {
            let at = rest % extent;
            rest /= extent;
            if let Some(axis) = axis.checked_sub(added) {
                place += from(axis, at)? * step;
                step *= source[axis];
            }
        }
        Some(place)
    };
    (0..shape.iter().product()).map(place).collect()
}

/// Makes a result from a view, also writes it into a view of another array, and compares both with
/// the oracle.
fn check<T: Element + PartialEq + Debug, D: Device>(
    context: &Context<D>,
    rng: &mut Rng,
    (source, shape, sources): (&Pattern, &[usize], &Sources),
    make: impl Fn(&ArrayView<'_, T, D>, T) -> Result<Array<T, D>>,
    write: impl Fn(&ArrayView<'_, T, D>, T, &mut ArrayViewMut<'_, T, D>) -> Result<()>,
) -> Outcome {
    let stream = context.stream()?;
    let from = elements::<T>(5, source.base_len());
    let constant = elements::<T>(7, 1)[0];
    let shown = source.picture().read(&from);
    let due: Vec<T> = sources.iter().map(|place| place.map_or(constant, |place| shown[place])).collect();
    let array = Array::from_slice(&stream, &source.base, &from)?;
    let view = source.view(&array)?;
    let what = format!("{} bytes an element, {shape:?} made of {source:?}", T::BYTES);
    let made = make(&view, constant)?;
    same(made.shape(), shape, &format!("the shape: {what}"))?;
    same(&made.to_vec(&stream)?, &due, &what)?;
    let target = Pattern::random(rng, shape, false);
    let mut all = elements::<T>(6, target.base_len());
    let mut written = Array::from_slice(&stream, &target.base, &all)?;
    write(&view, constant, &mut target.view_mut(&mut written)?)?;
    target.picture().write(&mut all, &due);
    same(&written.to_vec(&stream)?, &all, &format!("{what}, into {target:?}"))
}

/// A shape with few axes, because each axis multiplies the number of parts.
fn shape_of(rng: &mut Rng) -> &'static [usize] {
    let small: Vec<_> = SHAPES.iter().filter(|shape| shape.len() <= 3).collect();
    small[rng.below(small.len())]
}

/// Arrays padded with a constant, the edge, the reflection, or elements from the other end.
pub fn pad<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    for mut rng in harness.rngs() {
        let shape = shape_of(&mut rng);
        let source = Pattern::random(&mut rng, shape, true);
        let mode = if shape.contains(&0) { 0 } else { rng.below(4) };
        let widths: Vec<_> = shape.iter().map(|_| (rng.below(4), rng.below(4))).collect();
        let extents = shape.iter().zip(&widths).map(|(extent, (before, after))| before + extent + after);
        let padded: Vec<usize> = extents.collect();
        let sources = sources(&padded, shape, |axis, at| {
            let (at, extent) = (at.cast_signed() - widths[axis].0.cast_signed(), shape[axis].cast_signed());
            let round = 2 * (extent - 1);
            let from = match mode {
                0 => Some(at).filter(|at| (0..extent).contains(at)),
                1 => Some(at.clamp(0, extent - 1)),
                2 => Some(at.rem_euclid(extent)),
                _ if extent == 1 => Some(0),
                _ => Some(at.rem_euclid(round).min(round - at.rem_euclid(round))),
            };
            from.map(isize::unsigned_abs)
        });
        let case = (&source, &padded[..], &sources);
        match rng.below(3) {
            0 => pad_one::<u8, D>(&context, &mut rng, case, &widths, mode),
            1 => pad_one::<u32, D>(&context, &mut rng, case, &widths, mode),
            _ => pad_one::<[u8; 3], D>(&context, &mut rng, case, &widths, mode),
        }?;
    }
    Ok(())
}

fn pad_one<T: Element + PartialEq + Debug, D: Device>(
    context: &Context<D>,
    rng: &mut Rng,
    case: (&Pattern, &[usize], &Sources),
    widths: &[(usize, usize)],
    mode: usize,
) -> Outcome {
    let stream = context.stream()?;
    let mode = |constant| [Pad::Constant(constant), Pad::Edge, Pad::Wrap, Pad::Reflect][mode];
    check::<T, D>(
        context,
        rng,
        case,
        |view, constant| view.pad(&stream, widths, mode(constant)),
        |view, constant, target| view.pad_into(&stream, widths, mode(constant), target),
    )
}

/// Arrays rolled along two axes, tiled, and repeated along one axis.
pub fn repeat<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    for mut rng in harness.rngs() {
        let shape = shape_of(&mut rng);
        let source = Pattern::random(&mut rng, shape, true);
        let shifts: Vec<isize> = shape.iter().map(|_| rng.below(9).cast_signed() - 4).collect();
        let axes: Vec<isize> = (0..shape.len()).map(usize::cast_signed).collect();
        let rolled = sources(shape, shape, |axis, at| {
            let from = at.cast_signed() - shifts[axis];
            Some(from.rem_euclid(shape[axis].cast_signed()).unsigned_abs())
        });
        check::<u32, D>(
            &context,
            &mut rng,
            (&source, shape, &rolled),
            |view, _| view.roll(&stream, &shifts, &axes),
            |view, _, target| view.roll_into(&stream, &shifts, &axes, target),
        )?;
        let counts: Vec<usize> = (0..shape.len() + rng.below(2)).map(|_| rng.below(4)).collect();
        let added = counts.len() - shape.len();
        let extent = |axis: usize| axis.checked_sub(added).map_or(1, |axis| shape[axis]);
        let large: Vec<usize> = counts.iter().enumerate().map(|(axis, count)| count * extent(axis)).collect();
        let tiled = sources(&large, shape, |axis, at| Some(at % shape[axis]));
        check::<u16, D>(
            &context,
            &mut rng,
            (&source, &large, &tiled),
            |view, _| view.tile(&stream, &counts),
            |view, _, target| view.tile_into(&stream, &counts, target),
        )?;
        if shape.is_empty() {
            continue;
        }
        let (axis, count) = (rng.below(shape.len()), rng.below(4));
        let mut large = shape.to_vec();
        large[axis] *= count;
        let repeated =
            sources(&large, shape, |at_axis, at| Some(if at_axis == axis { at / count } else { at }));
        check::<u64, D>(
            &context,
            &mut rng,
            (&source, &large, &repeated),
            |view, _| view.repeat(&stream, count, axis.cast_signed()),
            |view, _, target| view.repeat_into(&stream, count, axis.cast_signed(), target),
        )?;
    }
    Ok(())
}

/// The part of an axis from a position on, then the part before it.
fn turned_over<'a, T: Element, D: Device>(
    view: &ArrayView<'a, T, D>,
    axis: isize,
    at: usize,
) -> Result<[ArrayView<'a, T, D>; 2]> {
    Ok([view.slice_axis(axis, at..)?, view.slice_axis(axis, ..at)?])
}

/// An array is cut along an axis and concatenated again in the other order; then it is taken apart
/// and stacked along another axis.
pub fn concatenate<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    for mut rng in harness.rngs() {
        let shape = shape_of(&mut rng);
        if shape.is_empty() {
            continue;
        }
        let source = Pattern::random(&mut rng, shape, true);
        let axis = rng.below(shape.len());
        let at = rng.below(shape[axis] + 1);
        let signed = axis.cast_signed();
        let swapped = sources(shape, shape, |at_axis, position| {
            Some(if at_axis == axis { (position + at) % shape[axis] } else { position })
        });
        check::<u16, D>(
            &context,
            &mut rng,
            (&source, shape, &swapped),
            |view, _| Array::concatenate(&stream, &turned_over(view, signed, at)?, signed),
            |view, _, target| target.concatenate_from(&stream, &turned_over(view, signed, at)?, signed),
        )?;
        if shape[axis] == 0 {
            continue;
        }
        // The axis comes to another place, because an array that is stacked where it was taken apart
        // looks the same along any axis.
        let to = (axis + 1 + rng.below(shape.len().max(2) - 1)) % shape.len();
        let mut order: Vec<usize> = (0..shape.len()).filter(|&other| other != axis).collect();
        order.insert(to, axis);
        let moved: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let permuted = permuted(shape, &order);
        let mut signed = |axis: usize| axis.cast_signed() - [0, shape.len().cast_signed()][rng.below(2)];
        let (from, to) = (signed(axis), signed(to));
        check::<u32, D>(
            &context,
            &mut rng,
            (&source, &moved, &permuted),
            |view, _| Array::stack(&stream, &view.unstack(from)?, to),
            |view, _, target| target.stack_from(&stream, &view.unstack(from)?, to),
        )?;
    }
    Ok(())
}

/// The sources of an array whose axes are put into another order.
fn permuted(source: &[usize], order: &[usize]) -> Sources {
    let step = |axis: usize| source[axis + 1..].iter().product::<usize>();
    let place = |number: usize| {
        let (mut rest, mut place) = (number, 0);
        for &axis in order.iter().rev() {
            place += rest % source[axis] * step(axis);
            rest /= source[axis];
        }
        Some(place)
    };
    (0..source.iter().product()).map(place).collect()
}
