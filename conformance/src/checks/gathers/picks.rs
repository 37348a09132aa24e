//! Gathers along an axis, from the flattened array, and with an index for each element.

use std::fmt::Debug;

use devarray::{
    Array, Element, StreamHandle,
    backend::Compute,
    gather::{Index, OutOfRange},
};

use super::naive::{INDEX_SHAPES, MODES, Made, any_axis, around, made_indices, meant};
use crate::{
    Harness, Outcome, Pattern, Rng, Violation,
    computing::gathering,
    patterns::{SHAPES, elements},
    violation::same,
};

/// Calls a generic function with each type of elements and indices in turn.
macro_rules! in_turn {
    ($case:ident, $at:expr, ($($argument:expr),*)) => {
        match $at % 6 {
            0 => $case::<u8, i32, D>($($argument),*),
            1 => $case::<u16, u32, D>($($argument),*),
            2 => $case::<u32, i64, D>($($argument),*),
            3 => $case::<u64, i32, D>($($argument),*),
            4 => $case::<u128, i64, D>($($argument),*),
            _ => $case::<[u32; 3], u32, D>($($argument),*),
        }
    };
}
pub(super) use in_turn;

/// Elements that can be compared and shown.
pub(super) trait Item: Element + PartialEq + Debug {}

impl<T: Element + PartialEq + Debug> Item for T {}

/// An index that can be converted back to a number.
pub(super) trait Number: Index + TryFrom<i64> + Into<i64> {}

impl Number for i32 {}
impl Number for u32 {}
impl Number for i64 {}

/// Compares a new array with the expected one, and also a view of any layout that the result is
/// written into; bytes beside the view must not change.
pub(super) fn compare<T: Item, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (found, due, shape): (&Array<T, D>, &[T], &[usize]),
    into: impl FnOnce(&mut devarray::ArrayViewMut<'_, T, D>) -> devarray::Result<()>,
    what: &str,
) -> Outcome {
    same(found.shape(), shape, &format!("the shape of {what}"))?;
    same(&found.to_vec(stream)?, due, what)?;
    let target = Pattern::random(rng, shape, false);
    let mut all: Vec<T> = elements(77, target.base_len());
    let mut array = Array::from_slice(stream, &target.base, &all)?;
    into(&mut target.view_mut(&mut array)?)?;
    target.picture().write(&mut all, due);
    same(&array.to_vec(stream)?, &all, &format!("{what}, into {target:?}"))
}

/// The elements at indices of an axis, of any layout, in every mode.
pub fn take<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        in_turn!(take_case, case, (&stream, &mut rng, case))?;
    }
    Ok(())
}

fn take_case<T: Item, I: Number, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    case: usize,
) -> Outcome {
    let (shape, mode) = (SHAPES[1 + rng.below(SHAPES.len() - 1)], MODES[case / 6 % 3]);
    let Some((axis, named)) = any_axis(rng, shape) else { return Ok(()) };
    let of = INDEX_SHAPES[rng.below(INDEX_SHAPES.len())];
    let source = Made::<T, D>::new(stream, rng, shape, 1)?;
    let indices = made_indices::<I, D>(stream, rng, of, shape[axis], mode)?;
    let [before, bound, behind] = around(shape, axis);
    let mut due = Vec::new();
    for row in 0..before {
        for &index in &indices.shown {
            let at = meant(index.into(), bound, mode).ok_or_else(|| Violation::new("an index of none"))?;
            let start = (row * bound + at) * behind;
            due.extend_from_slice(&source.shown[start..start + behind]);
        }
    }
    let picked = [&shape[..axis], of, &shape[axis + 1..]].concat();
    let (view, of) = (source.view()?, indices.view()?);
    let what = format!("take({named}, {mode:?}) of {:?} by {:?}", source.pattern, indices.pattern);
    let found = view.take(stream, &of, named, mode)?;
    let into = |to: &mut devarray::ArrayViewMut<'_, T, D>| view.take_into(stream, &of, named, mode, to);
    compare(stream, rng, (&found, &due, &picked), into, &what)
}

/// Positions in the flattened view, in C order, with any strides.
pub fn flat<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        in_turn!(flat_case, case, (&stream, &mut rng, case))?;
    }
    Ok(())
}

fn flat_case<T: Item, I: Number, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    case: usize,
) -> Outcome {
    let (shape, mode) = (SHAPES[rng.below(SHAPES.len())], MODES[case / 6 % 3]);
    let source = Made::<T, D>::new(stream, rng, shape, 2)?;
    let bound = source.shown.len();
    if bound == 0 {
        return Ok(());
    }
    let of = INDEX_SHAPES[rng.below(INDEX_SHAPES.len())];
    let indices = made_indices::<I, D>(stream, rng, of, bound, mode)?;
    let picked = indices.shown.iter().map(|&index| meant(index.into(), bound, mode));
    let due: Option<Vec<T>> = picked.map(|at| Some(source.shown[at?])).collect();
    let due = due.ok_or_else(|| Violation::new("an index of none"))?;
    let (view, by) = (source.view()?, indices.view()?);
    let what = format!("take_flat({mode:?}) of {:?} by {:?}", source.pattern, indices.pattern);
    let found = view.take_flat(stream, &by, mode)?;
    let into = |to: &mut devarray::ArrayViewMut<'_, T, D>| view.take_flat_into(stream, &by, mode, to);
    compare(stream, rng, (&found, &due, of), into, &what)
}

/// An index for each element along one axis; the other axes are broadcast together.
pub fn along_axis<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        in_turn!(along_case, case, (&stream, &mut rng, case))?;
    }
    Ok(())
}

fn along_case<T: Item, I: Number, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    case: usize,
) -> Outcome {
    let (shape, mode) = (SHAPES[1 + rng.below(SHAPES.len() - 1)], MODES[case / 6 % 3]);
    let Some((axis, named)) = any_axis(rng, shape) else { return Ok(()) };
    let mut of = shape.to_vec();
    of[axis] = [1, 2, 5, 9][rng.below(4)];
    let source = Made::<T, D>::new(stream, rng, shape, 3)?;
    let indices = made_indices::<I, D>(stream, rng, &of, shape[axis], mode)?;
    let [before, bound, behind] = around(shape, axis);
    let mut due = Vec::new();
    for (number, &index) in indices.shown.iter().enumerate() {
        let at = meant(index.into(), bound, mode).ok_or_else(|| Violation::new("an index of none"))?;
        let (row, column) = (number / behind / of[axis], number % behind);
        due.push(source.shown[(row * bound + at) * behind + column]);
    }
    debug_assert_eq!(before * of[axis] * behind, due.len(), "one for each index");
    let (view, by) = (source.view()?, indices.view()?);
    let what = format!("take_along_axis({named}, {mode:?}) of {:?} by {:?}", source.pattern, indices.pattern);
    let found = view.take_along_axis(stream, &by, named, mode)?;
    let into =
        |to: &mut devarray::ArrayViewMut<'_, T, D>| view.take_along_axis_into(stream, &by, named, mode, to);
    compare(stream, rng, (&found, &due, &of), into, &what)
}

/// Rows of every length, from a byte to many kibibytes, and many of them.
pub fn rows<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    let mut rng = Rng::new(harness.seed());
    for (len, count) in [(1, 70_001), (3, 5000), (16, 4099), (17, 1000), (256, 700), (1024, 129), (20_000, 9)]
    {
        for offset in [0, 1, 16] {
            let bound = 1 + rng.below(50);
            let data: Vec<u8> = elements(4, offset + bound * len);
            let indices: Vec<u32> =
                (0..count).map(|_| u32::try_from(rng.below(bound)).unwrap_or(0)).collect();
            let due: Vec<u8> =
                indices.iter().flat_map(|&at| &data[offset + at as usize * len..][..len]).copied().collect();
            let array = Array::from_slice(&stream, &[data.len()], &data)?;
            let table = array.slice_axis(0, offset.cast_signed()..)?;
            let table = table.reshape(&[bound, len], devarray::Order::C)?;
            let indices = Array::from_slice(&stream, &[count], &indices)?;
            let found = table.take(&stream, &indices, 0, OutOfRange::Error)?;
            let what = format!("{count} of {bound} rows of {len} bytes from byte {offset}");
            same(&found.to_vec(&stream)?, &due, &what)?;
        }
    }
    Ok(())
}
