//! Elements that a mask selects.

use devarray::{Array, Bool, StreamHandle, backend::Compute};

use super::{
    naive::{Made, any_axis, around},
    picks::{Item, Number, in_turn},
};
use crate::{
    Harness, Outcome, Pattern, Rng,
    computing::gathering,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// The positions of an axis, and the elements of an array, for which a mask is true, in order: as
/// new arrays, and in views with room for them, whose rest does not change.
pub fn select<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = gathering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        in_turn!(select_case, case, (&stream, &mut rng))?;
    }
    Ok(())
}

fn select_case<T: Item, I: Number, D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng) -> Outcome {
    let shape = SHAPES[1 + rng.below(SHAPES.len() - 1)];
    let source = Made::<T, D>::new(stream, rng, shape, 9)?;
    let view = source.view()?;

    // Any byte but 0 is true.
    let bytes = |rng: &mut Rng, count: usize| -> Vec<Bool> {
        (0..count).map(|_| bytemuck::cast([0_u8, 0, 1, 255, 2][rng.below(5)])).collect()
    };
    let pattern = Pattern::random(rng, shape, true);
    let data = bytes(rng, pattern.base_len());
    let chosen = pattern.picture().read(&data);
    let mask = Array::from_slice(stream, &pattern.base, &data)?;
    let mask = pattern.view(&mask)?;
    let due: Vec<T> = source
        .shown
        .iter()
        .zip(&chosen)
        .filter(|(_, chosen)| bool::from(**chosen))
        .map(|(x, _)| *x)
        .collect();
    let what = format!("extract of {:?} by {pattern:?}", source.pattern);
    let found = view.extract(stream, &mask)?;
    same(&found.to_vec(stream)?, &due, &what)?;
    let room = due.len() + 3;
    let target = Pattern::random(rng, &[room], false);
    let mut all: Vec<T> = elements(10, target.base_len());
    let mut array = Array::from_slice(stream, &target.base, &all)?;
    let mut count = Array::zeros(stream, &[])?;
    view.extract_into(stream, &mask, &mut target.view_mut(&mut array)?, &mut count.view_mut())?;
    let mut shown = target.picture().read(&all);
    shown[..due.len()].copy_from_slice(&due);
    target.picture().write(&mut all, &shown);
    same(&array.to_vec(stream)?, &all, &format!("{what}, into {target:?}"))?;
    let count: i64 = count.item(stream)?;
    ensure(usize::try_from(count).ok() == Some(due.len()), || format!("{what}: {count} are counted"))?;

    let Some((axis, named)) = any_axis(rng, shape) else { return Ok(()) };
    let chosen = bytes(rng, shape[axis]);
    let mask = Array::from_slice(stream, &[shape[axis]], &chosen)?;
    let [before, bound, behind] = around(shape, axis);
    let mut due = Vec::new();
    for row in 0..before * bound {
        if bool::from(chosen[row % bound]) {
            due.extend_from_slice(&source.shown[row * behind..(row + 1) * behind]);
        }
    }
    let mut kept = shape.to_vec();
    kept[axis] = chosen.iter().filter(|chosen| bool::from(**chosen)).count();
    let what = format!("compress({named}) of {:?} by {chosen:?}", source.pattern);
    let found = view.compress(stream, &mask, named)?;
    same(found.shape(), &kept, &format!("the shape of {what}"))?;
    same(&found.to_vec(stream)?, &due, &what)?;
    let (mut filled, mut count) = (Array::<T, D>::zeros(stream, shape)?, Array::zeros(stream, &[])?);
    view.compress_into(stream, &mask, named, &mut filled.view_mut(), &mut count.view_mut())?;
    let part = filled.slice_axis(named, ..kept[axis].cast_signed())?;
    same(&part.to_vec(stream)?, &due, &format!("{what}, where there is room"))?;
    let rest = filled.slice_axis(named, kept[axis].cast_signed()..)?.to_vec(stream)?;
    same(&rest, &vec![T::zeroed(); rest.len()], &format!("what lies behind {what}"))?;
    let count: i64 = count.item(stream)?;
    ensure(usize::try_from(count).ok() == Some(kept[axis]), || format!("{what}: {count} are counted"))
}
