//! Scatters, and the element that remains if several go to one position.

use devarray::{
    Array, StreamHandle,
    backend::Compute,
    gather::{OutOfRange, Repeats},
};

use super::{
    naive::{MODES, Made, any_axis, around, made_indices, meant},
    picks::{Item, Number, in_turn},
};
use crate::{
    Harness, Outcome, Pattern, Rng, Violation,
    computing::gathering,
    patterns::{SHAPES, elements},
    violation::same,
};

/// Elements are put along an axis, at positions of the flattened view, and with an index for each
/// element, into views of any layout. Bytes beside the view do not change. The last element put at
/// a position remains.
pub fn put<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        in_turn!(put_case, case, (&stream, &mut rng, case))?;
    }
    Ok(())
}

/// A destination whose layout repeats no element, and its elements.
fn target<T: Item>(rng: &mut Rng, shape: &[usize]) -> (Pattern, Vec<T>, Vec<T>) {
    let pattern = Pattern::random(rng, shape, false);
    let all: Vec<T> = elements(5, pattern.base_len());
    let shown = pattern.picture().read(&all);
    (pattern, all, shown)
}

fn put_case<T: Item, I: Number, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, case: usize) -> Outcome {
    let none = || Violation::new("an index of none");
    let (shape, mode) = (SHAPES[1 + rng.below(SHAPES.len() - 1)], MODES[case / 6 % 3]);
    let Some((axis, named)) = any_axis(rng, shape) else { return Ok(()) };
    if shape.contains(&0) {
        return Ok(());
    }
    let [before, bound, behind] = around(shape, axis);
    let way = rng.below(3);
    let of = match way {
        0 => vec![1 + rng.below(9)],
        1 => vec![2, 1 + rng.below(5)],
        _ => {
            let mut of = shape.to_vec();
            of[axis] = 1 + rng.below(4);
            of
        }
    };
    let all_elements = before * bound * behind;
    let indices = made_indices::<I, D>(stream, rng, &of, if way == 1 { all_elements } else { bound }, mode)?;
    let picked = match way {
        0 => [&shape[..axis], &of[..], &shape[axis + 1..]].concat(),
        _ => of.clone(),
    };
    let values = Made::<T, D>::new(stream, rng, &picked, 6)?;
    let (pattern, mut all, mut shown) = target::<T>(rng, shape);
    for (number, &value) in values.shown.iter().enumerate() {
        let place = match way {
            0 => {
                let (column, above) = (number % behind, number / behind);
                let index = indices.shown[above % of[0]];
                let at = meant(index.into(), bound, mode).ok_or_else(none)?;
                (above / of[0] * bound + at) * behind + column
            }
            1 => meant(indices.shown[number].into(), all_elements, mode).ok_or_else(none)?,
            _ => {
                let at = meant(indices.shown[number].into(), bound, mode).ok_or_else(none)?;
                (number / behind / of[axis] * bound + at) * behind + number % behind
            }
        };
        shown[place] = value;
    }
    pattern.picture().write(&mut all, &shown);
    let mut array = Array::from_slice(stream, &pattern.base, &elements::<T>(5, pattern.base_len()))?;
    let mut into = pattern.view_mut(&mut array)?;
    let (by, values_view, last) = (indices.view()?, values.view()?, Repeats::Last);
    match way {
        0 => into.put(stream, &by, &values_view, named, mode, last)?,
        1 => into.put_flat(stream, &by, &values_view, mode, last)?,
        _ => into.put_along_axis(stream, &by, &values_view, named, mode, last)?,
    }
    let way = ["put", "put_flat", "put_along_axis"][way];
    let what = format!("{way}({named}, {mode:?}) by {:?} into {pattern:?}", indices.pattern);
    same(&array.to_vec(stream)?, &all, &what)
}

/// If many values go to few positions, the last remain. If no index occurs twice, a single pass gives
/// the same result.
pub fn repeats<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    for (salt, (count, bound, len)) in
        [(70_000, 7, 1), (5000, 300, 3), (999, 1000, 4)].into_iter().enumerate()
    {
        let mut rng = Rng::new(harness.seed() + salt as u64);
        let indices: Vec<i64> = (0..count).map(|_| i64::try_from(rng.below(bound)).unwrap_or(0)).collect();
        let values: Vec<u32> = elements(8, count * len);
        let mut due = vec![0_u32; bound * len];
        for (at, row) in indices.iter().zip(values.chunks(len)) {
            let at = usize::try_from(*at).unwrap_or(0);
            due[at * len..][..len].copy_from_slice(row);
        }
        let (by, rows) = (
            Array::from_slice(&stream, &[count], &indices)?,
            Array::from_slice(&stream, &[count, len], &values)?,
        );
        let mut array = Array::<u32, D>::zeros(&stream, &[bound, len])?;
        array.view_mut().put(&stream, &by, &rows, 0, OutOfRange::Error, Repeats::Last)?;
        same(&array.to_vec(&stream)?, &due, &format!("the last of {count} rows for {bound} places"))?;

        let order: Vec<i64> =
            rng.permutation(bound).into_iter().map(|at| i64::try_from(at).unwrap_or(0)).collect();
        let by = Array::from_slice(&stream, &[bound], &order)?;
        let turned = array.take(&stream, &by, 0, OutOfRange::Error)?;
        let mut back = Array::<u32, D>::zeros(&stream, &[bound, len])?;
        back.view_mut().put(&stream, &by, &turned, 0, OutOfRange::Error, Repeats::None)?;
        same(&back.to_vec(&stream)?, &due, "rows taken in some order and put back in one pass")?;
    }
    Ok(())
}
