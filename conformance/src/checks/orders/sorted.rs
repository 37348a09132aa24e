//! Sorted elements, the first elements of the order, and values between neighbours.

use devarray::{Array, StreamHandle, backend::Compute};

use super::naive::{Ordered, Shown, Target, bits_are, each_type, lines, number, order_of};
use crate::{Harness, Outcome, Rng, computing::ordering, patterns::SHAPES, violation::same};

/// An axis of a shape that has at least one, counted from either end.
fn any_axis(rng: &mut Rng, shape: &[usize]) -> (usize, isize) {
    let axis = rng.below(shape.len());
    let from_end = if rng.below(2) == 0 { shape.len().cast_signed() } else { 0 };
    (axis, axis.cast_signed() - from_end)
}

/// Elements and positions along any axis of any layout are sorted in the one total order, stable in both
/// directions; elements keep their bits, and bytes beside a result do not change.
pub fn sort<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[1 + rng.below(SHAPES.len() - 1)];
        each_type!(sort_case, case, (&stream, &mut rng, shape))?;
    }
    // Lines that are too long for the shared memory of a block.
    let mut rng = Rng::new(harness.seed());
    for (case, shape) in [[1, 70_000], [300, 257], [5000, 3]].iter().enumerate() {
        each_type!(sort_case, case, (&stream, &mut rng, shape))?;
    }
    Ok(())
}

fn sort_case<T: Ordered, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Outcome {
    let x = Shown::<T, D>::new(stream, rng, shape)?;
    let (axis, named) = any_axis(rng, shape);
    let descending = rng.below(2) == 0;
    let (mut elements, mut positions) = (x.shown.clone(), vec![0; x.shown.len()]);
    for line in lines(shape, axis) {
        let of: Vec<T> = line.iter().map(|&at| x.shown[at]).collect();
        for (&to, from) in line.iter().zip(order_of(&of, descending)) {
            (elements[to], positions[to]) = (of[from], number(from));
        }
    }
    let what = format!("{} along {named}, descending: {descending}, of {:?}", T::TYPE, x.pattern);
    let view = x.view()?;
    let (mut sorted, mut places) = (Target::new(stream, rng, shape)?, Target::new(stream, rng, shape)?);
    let (found, at) = if descending {
        view.sort_descending_into(stream, named, &mut sorted.pattern.view_mut(&mut sorted.array)?)?;
        view.argsort_descending_into(stream, named, &mut places.pattern.view_mut(&mut places.array)?)?;
        (view.sort_descending(stream, named)?, view.argsort_descending(stream, named)?)
    } else {
        view.sort_into(stream, named, &mut sorted.pattern.view_mut(&mut sorted.array)?)?;
        view.argsort_into(stream, named, &mut places.pattern.view_mut(&mut places.array)?)?;
        (view.sort(stream, named)?, view.argsort(stream, named)?)
    };
    bits_are(&found.to_vec(stream)?, &elements, &format!("sort of {what}"))?;
    same(&at.to_vec(stream)?, &positions, &format!("argsort of {what}"))?;
    sorted.holds(stream, &elements, &format!("sort into a view of {what}"))?;
    places.holds(stream, &positions, &format!("argsort into a view of {what}"))
}

/// The first elements of the order are the start of the whole order, with their positions.
pub fn top<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[1 + rng.below(SHAPES.len() - 1)];
        each_type!(top_case, case, (&stream, &mut rng, shape))?;
    }
    let mut rng = Rng::new(harness.seed());
    for (case, shape) in [[1, 30_000], [100, 600]].iter().enumerate() {
        each_type!(top_case, case, (&stream, &mut rng, shape))?;
    }
    Ok(())
}

fn top_case<T: Ordered, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Outcome {
    let x = Shown::<T, D>::new(stream, rng, shape)?;
    let (axis, named) = any_axis(rng, shape);
    let k = rng.below(shape[axis] + 1);
    let largest = rng.below(2) == 0;
    let mut kept = shape.to_vec();
    kept[axis] = k;
    let len = kept.iter().product();
    let (mut elements, mut positions) = (vec![T::zeroed(); len], vec![0; len]);
    for (line, to) in lines(shape, axis).into_iter().zip(lines(&kept, axis)) {
        let of: Vec<T> = line.iter().map(|&at| x.shown[at]).collect();
        for (to, from) in to.into_iter().zip(order_of(&of, largest)) {
            (elements[to], positions[to]) = (of[from], number(from));
        }
    }
    let (view, what) = (x.view()?, format!("the first {k} of {} along {named} of {:?}", T::TYPE, x.pattern));
    let (found, at) = if largest { view.topk(stream, k, named)? } else { view.bottomk(stream, k, named)? };
    same(found.shape(), &kept, &what)?;
    bits_are(&found.to_vec(stream)?, &elements, &what)?;
    same(&at.to_vec(stream)?, &positions, &what)?;
    let (mut first, mut second) = (Target::new(stream, rng, &kept)?, Target::new(stream, rng, &kept)?);
    let into = &mut first.pattern.view_mut(&mut first.array)?;
    let places = &mut second.pattern.view_mut(&mut second.array)?;
    if largest {
        view.topk_into(stream, k, named, into, places)?;
    } else {
        view.bottomk_into(stream, k, named, into, places)?;
    }
    first.holds(stream, &elements, &what)?;
    second.holds(stream, &positions, &what)
}

/// Values between two neighbours of the order, with each operation rounded once; NaN if there is a NaN.
pub fn quantiles<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for mut rng in harness.rngs() {
        let shape = SHAPES[1 + rng.below(SHAPES.len() - 1)];
        let x = Shown::<f32, D>::new(&stream, &mut rng, shape)?;
        let (axis, named) = any_axis(&mut rng, shape);
        let q = [0.0, 0.25, 0.5, 1.0 / 3.0, 0.9, 1.0][rng.below(6)];
        let mut rest = shape.to_vec();
        if rest.remove(axis) == 0 && !rest.contains(&0) {
            continue;
        }
        let line = |line: Vec<usize>| quantile(line.iter().map(|&at| x.shown[at]).collect(), q);
        let due: Vec<f32> = lines(shape, axis).into_iter().map(line).collect();
        let what = format!("the quantile {q} along {named} of {:?}", x.pattern);
        let found = x.view()?.quantile(&stream, q, named)?;
        same(found.shape(), &rest, &what)?;
        bits_are(&found.to_vec(&stream)?, &due, &what)?;
        let mut to = Target::new(&stream, &mut rng, &rest)?;
        x.view()?.quantile_into(&stream, q, named, &mut to.pattern.view_mut(&mut to.array)?)?;
        to.holds(&stream, &due, &what)?;
    }
    let odd = Array::from_slice(&stream, &[5], &[9.0_f64, -1.0, 4.0, 4.5, 7.0])?;
    same(&odd.median(&stream, 0)?.to_vec(&stream)?, &[4.5], "the median of five")
}

/// The rule for a quantile, computed in the type.
fn quantile(mut line: Vec<f32>, q: f64) -> f32 {
    line.sort_by(|&a, &b| a.order(b));
    let nan = f32::from_bits(0x7fc0_0000);
    if line.last().is_none_or(|last| last.is_nan()) {
        return nan;
    }
    let place = q * (line.len() - 1) as f64;
    let below = (0..line.len()).rev().find(|&at| at as f64 <= place).unwrap_or(0);
    let (a, b) = (line[below], line[(below + 1).min(line.len() - 1)]);
    // Rounded once to the type.
    #[allow(clippy::cast_possible_truncation, reason = "that is the rule")]
    let t = (place - below as f64) as f32;
    let value = if t == 0.0 || a == b {
        a
    } else if a.is_infinite() || b.is_infinite() {
        a + b
    } else if (b - a).is_infinite() {
        a * (1.0 - t) + b * t
    } else if t < 0.5 {
        a + (b - a) * t
    } else {
        b - (b - a) * (1.0 - t)
    };
    if value.is_nan() { nan } else { value + 0.0 }
}
