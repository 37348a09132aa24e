//! Searches, counts, and results whose number of rows is known only on the device.

use devarray::{Array, StreamHandle, backend::Compute, function::Number, order::Side};

use super::naive::{Ordered, Shown, Target, bits_are, each_type, number, order_of};
use crate::{Harness, Outcome, Rng, computing::ordering, patterns::SHAPES, violation::same};

/// The number of elements of an ascending line that are below each element, or not above it; and
/// the number of elements in each interval of ascending edges.
pub fn searches<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        each_type!(search_case, case, (&stream, &mut rng))?;
        match case % 3 {
            0 => histogram_case::<f32, D>(&stream, &mut rng)?,
            1 => histogram_case::<u8, D>(&stream, &mut rng)?,
            _ => histogram_case::<i16, D>(&stream, &mut rng)?,
        }
    }
    Ok(())
}

fn ascending<T: Ordered>(rng: &mut Rng, len: usize) -> Vec<T> {
    let line: Vec<T> = (0..len).map(|_| T::made(rng)).collect();
    order_of(&line, false).into_iter().map(|at| line[at]).collect()
}

fn search_case<T: Ordered, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng) -> Outcome {
    let len = rng.below(40);
    let line = ascending::<T>(rng, len);
    let bins = Shown::<T, D>::line(stream, rng, &line)?;
    let shape = SHAPES[rng.below(SHAPES.len())];
    let v = Shown::<T, D>::new(stream, rng, shape)?;
    let side = if rng.below(2) == 0 { Side::Left } else { Side::Right };
    let is_before = |a: T, v: T| match side {
        Side::Left => a.order(v).is_lt(),
        Side::Right => a.order(v).is_le(),
    };
    let place = |&v: &T| number(line.iter().filter(|&&a| is_before(a, v)).count());
    let due: Vec<i64> = v.shown.iter().map(place).collect();
    let what = format!("places of {} among {len}, {side:?}, of {:?}", T::TYPE, v.pattern);
    let found = bins.view()?.search_sorted(stream, &v.view()?, side)?;
    same(found.shape(), shape, &what)?;
    same(&found.to_vec(stream)?, &due, &what)?;
    let mut to = Target::new(stream, rng, shape)?;
    bins.view()?.search_sorted_into(stream, &v.view()?, side, &mut to.pattern.view_mut(&mut to.array)?)?;
    to.holds(stream, &due, &what)
}

fn histogram_case<T: Ordered + Number, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng) -> Outcome {
    let len = 2 + rng.below(8);
    let line = ascending::<T>(rng, len);
    let edges = Shown::<T, D>::line(stream, rng, &line)?;
    let shape = SHAPES[rng.below(SHAPES.len())];
    let x = Shown::<T, D>::new(stream, rng, shape)?;
    let mut due = vec![0_i64; len - 1];
    for &x in x.shown.iter().filter(|x| !x.is_nan()) {
        let below = line.iter().rposition(|&edge| edge.order(x).is_le());
        let is_inside = x.order(line[len - 1]).is_le();
        if let Some(below) = below.filter(|_| is_inside) {
            due[below.min(len - 2)] += 1;
        }
    }
    let what = format!("a histogram of {} by {len} edges of {:?}", T::TYPE, x.pattern);
    same(&x.view()?.histogram(stream, &edges.view()?)?.to_vec(stream)?, &due, &what)
}

/// The count of each number among elements, and the sums of their weights.
pub fn counts<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for mut rng in harness.rngs() {
        let shape = SHAPES[rng.below(SHAPES.len())];
        let len = shape.iter().product();
        let data: Vec<u16> = (0..len).map(|_| u16::try_from(rng.below(300)).unwrap_or(0)).collect();
        let weights: Vec<i32> = (0..len).map(|_| i32::try_from(rng.below(9)).unwrap_or(0) - 4).collect();
        let n = 300 + rng.below(3);
        let (mut due, mut sums) = (vec![0_i64; n], vec![0_i64; n]);
        for (&at, &weight) in data.iter().zip(&weights) {
            due[usize::from(at)] += 1;
            sums[usize::from(at)] += i64::from(weight);
        }
        // These elements with their axes in another order in memory.
        let turned = |data: &[u16]| {
            Array::from_slice(&stream, shape, data)?.transpose().to_contiguous(&stream, devarray::Order::C)
        };
        let x = turned(&data)?;
        let what = format!("counts of {len} numbers below {n}");
        same(&x.view().transpose().bincount(&stream, n)?.to_vec(&stream)?, &due, &what)?;
        let by = Array::from_slice(&stream, shape, &weights)?;
        let found = x.view().transpose().bincount_weighted(&stream, &by, n)?;
        same(&found.to_vec(&stream)?, &sums, &format!("weighted {what}"))?;
        let mut to = Target::<i64, D>::new(&stream, &mut rng, &[n])?;
        x.view().transpose().bincount_into(&stream, &mut to.pattern.view_mut(&mut to.array)?)?;
        to.holds(&stream, &due, &what)?;
    }
    // Many equal numbers.
    let x = Array::full(&stream, &[100_000], 3_u8)?;
    same(&x.bincount(&stream, 5)?.to_vec(&stream)?, &[0, 0, 0, 100_000, 0], "100,000 of one number")
}

/// The distinct elements, and the positions of elements that are not zero: their number, the rows
/// that fit, and that the rest of the room does not change.
pub fn rows<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[rng.below(SHAPES.len())];
        each_type!(unique_case, case, (&stream, &mut rng, shape))?;
        each_type!(nonzero_case, case / 2, (&stream, &mut rng, shape))?;
    }
    let mut rng = Rng::new(harness.seed());
    unique_case::<f32, D>(&stream, &mut rng, &[300, 100])?;
    nonzero_case::<u8, D>(&stream, &mut rng, &[40_000])
}

fn unique_case<T: Ordered, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Outcome {
    let x = Shown::<T, D>::new(stream, rng, shape)?;
    let (mut firsts, mut counts) = (Vec::<usize>::new(), Vec::<i64>::new());
    let mut inverse = vec![0; x.shown.len()];
    for at in order_of(&x.shown, false) {
        if firsts.last().is_none_or(|&first| x.shown[first].order(x.shown[at]).is_ne()) {
            firsts.push(at);
            counts.push(0);
        }
        *counts.last_mut().unwrap_or(&mut 0) += 1;
        inverse[at] = number(firsts.len()) - 1;
    }
    let distinct: Vec<T> = firsts.iter().map(|&at| x.shown[at]).collect();
    let (view, what) = (x.view()?, format!("the distinct {} of {:?}", T::TYPE, x.pattern));
    let all = view.unique_all(stream)?;
    bits_are(&all.elements.to_vec(stream)?, &distinct, &what)?;
    same(&all.counts.to_vec(stream)?, &counts, &what)?;
    same(&all.inverse.to_vec(stream)?, &inverse, &what)?;
    same(&all.positions.to_vec(stream)?, &firsts.iter().map(|&at| number(at)).collect::<Vec<_>>(), &what)?;
    bits_are(&view.unique(stream)?.to_vec(stream)?, &distinct, &what)?;
    let room = distinct.len() + rng.below(3);
    let kept = T::made(rng);
    let (mut into, mut count) = (Array::full(stream, &[room], kept)?, Array::zeros(stream, &[])?);
    view.unique_into(stream, &mut into, &mut count)?;
    let mut due = distinct.clone();
    due.resize(room, kept);
    bits_are(&into.to_vec(stream)?, &due, &format!("{what} in a room for {room}"))?;
    same(&[count.item(stream)?], &[number(distinct.len())], &format!("how many are {what}"))
}

fn nonzero_case<T: Ordered, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Outcome {
    let x = Shown::<T, D>::new(stream, rng, shape)?;
    let zero = T::zeroed();
    let places = (0..x.shown.len()).filter(|&at| x.shown[at].order(zero).is_ne());
    let row = |at: usize| {
        let strides = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product::<usize>());
        strides.zip(shape).map(move |(stride, extent)| number(at / stride % extent)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<i64>> = places.map(row).collect();
    let (due, count) = (rows.concat(), rows.len());
    let (view, what) = (x.view()?, format!("places of {} that are not zero of {:?}", T::TYPE, x.pattern));
    let found = view.nonzero(stream)?;
    same(found.shape(), &[count, shape.len()], &what)?;
    same(&found.to_vec(stream)?, &due, &what)?;
    let room = count + rng.below(3);
    let (mut into, mut counted) =
        (Array::full(stream, &[room, shape.len()], -7)?, Array::zeros(stream, &[])?);
    view.nonzero_into(stream, &mut into, &mut counted)?;
    let mut all = due;
    all.resize(room * shape.len(), -7);
    same(&into.to_vec(stream)?, &all, &format!("{what} in a room for {room}"))?;
    same(&[counted.item(stream)?], &[number(count)], &format!("how many {what}"))
}
