//! Elements combined by index: into positions of an array, and in segments.

use devarray::{Array, StreamHandle, backend::Compute, function::Number};

use super::naive::{Ordered, Shown, Target, around, bits_are, number};
use crate::{
    Harness, Outcome, Rng, checks::reductions::total, computing::ordering, patterns::SHAPES, violation::same,
};

/// The way to combine elements: one of two that calls have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Sum,
    Minimum,
    Maximum,
}

const WAYS: [Way; 3] = [Way::Sum, Way::Minimum, Way::Maximum];

/// A type whose elements are combined by index.
trait Combined: Ordered + Number {
    /// The elements for one position, in order, combined with the element there.
    fn put(before: Self, all: &[Self], way: Way) -> Self;
}

macro_rules! whole {
    ($($of:ty),*) => {$(
        impl Combined for $of {
            fn put(before: Self, all: &[Self], way: Way) -> Self {
                all.iter().fold(before, |a, &b| match way {
                    Way::Sum => a.wrapping_add(b),
                    Way::Minimum => a.min(b),
                    Way::Maximum => a.max(b),
                })
            }
        }
    )*};
}

whole!(i16, u64);

impl Combined for f32 {
    fn put(before: Self, all: &[Self], way: Way) -> Self {
        let value = match way {
            Way::Sum => before + (0.0 + total(all, |a, b| a + b).unwrap_or(0.0)),
            _ => all.iter().fold(before, |a, &b| extreme(way, a, b)),
        };
        canonical(value)
    }
}

pub(super) fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(0x7fc0_0000) } else { value }
}

/// NaN wins, and −0 is less than +0.
fn extreme(way: Way, a: f32, b: f32) -> f32 {
    let is_less = |a: f32, b: f32| a < b || (a == b && a.is_sign_negative() && b.is_sign_positive());
    match way {
        _ if a.is_nan() || b.is_nan() => f32::NAN,
        Way::Minimum if is_less(b, a) => b,
        Way::Maximum if is_less(a, b) => b,
        _ => a,
    }
}

/// All elements for one position, along any axis of any view, are combined with the element there,
/// for each repetition of an index. Positions without an index, and bytes beside the view, keep
/// their bits.
pub fn put<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let way = WAYS[case / 3 % 3];
        match case % 3 {
            0 => put_case::<f32, D>(&stream, &mut rng, way)?,
            1 => put_case::<i16, D>(&stream, &mut rng, way)?,
            _ => put_case::<u64, D>(&stream, &mut rng, way)?,
        }
    }
    Ok(())
}

fn put_case<T: Combined, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, way: Way) -> Outcome {
    let shape = SHAPES[1 + rng.below(SHAPES.len() - 1)];
    let axis = rng.below(shape.len());
    let [outer, extent, inner] = around(shape, axis);
    if extent == 0 {
        return Ok(());
    }
    let count = rng.below(12);
    let indices: Vec<i32> = (0..count)
        .map(|_| i32::try_from(rng.below(2 * extent)).unwrap_or(0) - i32::try_from(extent).unwrap_or(0))
        .collect();
    let mut put = shape.to_vec();
    put[axis] = count;
    let v = Shown::<T, D>::new(stream, rng, &put)?;
    let by = Shown::<i32, D>::line(stream, rng, &indices)?;
    let mut y = Target::<T, D>::new(stream, rng, shape)?;
    let before: Vec<T> = (0..outer * extent * inner).map(|_| T::made(rng)).collect();
    let dense = Array::from_slice(stream, shape, &before)?;
    y.pattern.view_mut(&mut y.array)?.copy_from(stream, &dense)?;
    let place = |index: i32| if index < 0 { index + i32::try_from(extent).unwrap_or(0) } else { index };
    let mut due = before;
    for (at, value) in due.iter_mut().enumerate() {
        let (above, to, column) = (at / inner / extent, at / inner % extent, at % inner);
        let goes = |&(_, &index): &(usize, &i32)| number(to) == i64::from(place(index));
        let all: Vec<T> = indices
            .iter()
            .enumerate()
            .filter(goes)
            .map(|(number, _)| v.shown[(above * count + number) * inner + column])
            .collect();
        if !all.is_empty() {
            *value = T::put(*value, &all, way);
        }
    }
    let (view, by, axis) = (v.view()?, by.view()?, axis.cast_signed());
    let mut into = y.pattern.view_mut(&mut y.array)?;
    match way {
        Way::Sum => into.put_add(stream, axis, &by, &view)?,
        Way::Minimum => into.put_minimum(stream, axis, &by, &view)?,
        Way::Maximum => into.put_maximum(stream, axis, &by, &view)?,
    }
    let what = format!("{way:?} of {} at {indices:?} along {axis} of {:?}", T::TYPE, y.pattern);
    y.holds(stream, &due, &what)
}

/// Slices between ascending offsets are combined, along the first axis of any layout.
pub fn segments<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[1 + rng.below(SHAPES.len() - 1)];
        let (rows, inner) = (shape[0], shape[1..].iter().product::<usize>());
        let way = if rows == 0 { Way::Sum } else { WAYS[case % 3] };
        let mut offsets: Vec<u32> =
            (0..rng.below(6)).map(|_| u32::try_from(rng.below(rows + 1)).unwrap_or(0)).collect();
        offsets.extend([0, u32::try_from(rows).unwrap_or(0)]);
        offsets.sort_unstable();
        if way != Way::Sum {
            offsets.dedup();
        }
        let x = Shown::<f32, D>::new(&stream, &mut rng, shape)?;
        let by = Shown::<u32, D>::line(&stream, &mut rng, &offsets)?;
        let mut due = Vec::new();
        for pair in offsets.windows(2) {
            let group = usize::try_from(pair[0]).unwrap_or(0)..usize::try_from(pair[1]).unwrap_or(0);
            for column in 0..inner {
                let all: Vec<f32> = group.clone().map(|row| x.shown[row * inner + column]).collect();
                due.push(canonical(match way {
                    Way::Sum => 0.0 + total(&all, |a, b| a + b).unwrap_or(0.0),
                    _ => all.iter().fold(all[0], |a, &b| extreme(way, a, b)),
                }));
            }
        }
        let mut shape = shape.to_vec();
        shape[0] = offsets.len() - 1;
        let mut to = Target::<f32, D>::new(&stream, &mut rng, &shape)?;
        let (view, by) = (x.view()?, by.view()?);
        let into = &mut to.pattern.view_mut(&mut to.array)?;
        let found = match way {
            Way::Sum => {
                view.segment_sum_into(&stream, &by, into)?;
                view.segment_sum(&stream, &by)?
            }
            Way::Minimum => {
                view.segment_minimum_into(&stream, &by, into)?;
                view.segment_minimum(&stream, &by)?
            }
            Way::Maximum => {
                view.segment_maximum_into(&stream, &by, into)?;
                view.segment_maximum(&stream, &by)?
            }
        };
        let what = format!("{way:?} of the groups at {offsets:?} of {:?}", x.pattern);
        bits_are(&found.to_vec(&stream)?, &due, &what)?;
        to.holds(&stream, &due, &what)?;
    }
    Ok(())
}

/// Floats that are added by index have the value of their sum, whatever other elements and
/// positions there are: one position among others, alone, in segments, with weights.
pub fn sums<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = ordering(harness)? else { return Ok(()) };
    for (salt, (len, places)) in
        [(70_000, 3), (5000, 1), (40_000, 5000), (2000, 1999)].into_iter().enumerate()
    {
        let mut rng = Rng::new(harness.seed() + salt as u64);
        let to: Vec<i64> = (0..len).map(|_| number(rng.below(places))).collect();
        let values: Vec<f32> =
            (0..len).map(|at| (rng.below(2000) as f32 - 1000.3) / (1 + at % 7) as f32).collect();
        let mut each = vec![Vec::new(); places];
        for (&to, &value) in to.iter().zip(&values) {
            each[usize::try_from(to).unwrap_or(0)].push(value);
        }
        let sum = |all: &Vec<f32>| 0.0 + total(all, |a, b| a + b).unwrap_or(0.0);
        let due: Vec<f32> = each.iter().map(sum).collect();
        let (by, v) =
            (Array::from_slice(&stream, &[len], &to)?, Array::from_slice(&stream, &[len], &values)?);
        let what = format!("{len} floats added at {places} places");
        let weighted = by.bincount_weighted(&stream, &v, places)?;
        bits_are(&weighted.to_vec(&stream)?, &due, &what)?;
        let mut y = Array::full(&stream, &[places], 0.5_f32)?;
        y.view_mut().put_add(&stream, 0, &by, &v)?;
        let put: Vec<f32> =
            due.iter().zip(&each).map(|(sum, all)| if all.is_empty() { 0.5 } else { 0.5 + sum }).collect();
        bits_are(&y.to_vec(&stream)?, &put, &what)?;
        // Each sum alone, side by side in segments.
        let mut offsets = vec![0_i64];
        each.iter().for_each(|all| offsets.push(offsets.last().unwrap_or(&0) + number(all.len())));
        let line = Array::from_slice(&stream, &[len], &each.concat())?;
        let ends = Array::from_slice(&stream, &[places + 1], &offsets)?;
        bits_are(&line.segment_sum(&stream, &ends)?.to_vec(&stream)?, &due, &format!("{what}, in segments"))?;
        let whole = line.sum(&stream, ..)?.to_vec(&stream)?;
        let all = Array::from_slice(&stream, &[2], &[0, number(len)])?;
        same(&line.segment_sum(&stream, &all)?.to_vec(&stream)?, &whole, "one segment is a sum")?;
    }
    let zeros = Array::from_slice(&stream, &[2], &[-0.0_f32, -0.0])?;
    let nowhere = Array::from_slice(&stream, &[1], &[0])?;
    let mut y = Array::from_slice(&stream, &[2], &[-0.0_f32, -0.0])?;
    y.view_mut().put_add(&stream, 0, &nowhere, &zeros.slice_axis(0, ..1)?)?;
    bits_are(&y.to_vec(&stream)?, &[0.0, -0.0], "where nothing goes, −0 stays")?;
    Ok(())
}
