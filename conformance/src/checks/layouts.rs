//! Views of device memory show the same elements as the oracle.

use devarray::{Array, Device, Error, LayoutError, Order, layout::IndexItem};

use crate::{
    Harness, Outcome, Pattern, Picture, Violation,
    difference::{self, Side},
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Permutations, slices with either sign and broadcasts, one after another, in any combination.
pub fn views<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (case, mut rng) in harness.rngs().enumerate() {
        let pattern = Pattern::random(&mut rng, SHAPES[case % SHAPES.len()], true);
        let data = elements::<u16>(1, pattern.base_len());
        let array = Array::from_slice(&stream, &pattern.base, &data)?;
        let (view, picture) = (pattern.view(&array)?, pattern.picture());
        same(view.shape(), &picture.shape, &format!("the shape of {pattern:?}"))?;
        let side = Side { pattern: &pattern, layout: view.layout(), elements: &data };
        difference::of_read(&view.to_vec(&stream)?, &picture.read(&data), &side, "a view")?;
    }
    Ok(())
}

/// The copy of any view in any order equals the view.
pub fn orders<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (case, mut rng) in harness.rngs().enumerate() {
        let pattern = Pattern::random(&mut rng, SHAPES[case % SHAPES.len()], false);
        let data = elements::<u16>(1, pattern.base_len());
        let array = Array::from_slice(&stream, &pattern.base, &data)?;
        let due = pattern.picture().read(&data);
        for order in [Order::C, Order::F, Order::A, Order::K] {
            let copy = pattern.view(&array)?.to_contiguous(&stream, order)?;
            same(copy.shape(), &pattern.picture().shape, "the shape of a copy")?;
            let view = pattern.view(&array)?;
            let side = Side { pattern: &pattern, layout: view.layout(), elements: &data };
            let what = format!("a copy in order {order:?}");
            difference::of_read(&copy.to_vec(&stream)?, &due, &side, &what)?;
            let dense = match order {
                Order::C => copy.layout().is_c_contiguous(),
                Order::F => copy.layout().is_f_contiguous(),
                _ => true,
            };
            ensure(dense, || {
                format!("a copy in order {order:?} is not contiguous in it: {:?}", copy.layout())
            })?;
        }
    }
    Ok(())
}

/// A reshape keeps the elements in C order, as a view or as a copy, and reshaping back restores the
/// shape.
pub fn reshape<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (shape, mut rng) in SHAPES.iter().zip(harness.rngs()) {
        let pattern = Pattern::random(&mut rng, shape, false);
        let data = elements::<u32>(1, pattern.base_len());
        let array = Array::from_slice(&stream, &pattern.base, &data)?;
        let (view, due) = (pattern.view(&array)?, pattern.picture().read(&data));
        let flat = view.reshape_or_copy(&stream, &[due.len()], Order::C)?;
        same(&flat.view().to_vec(&stream)?, &due, &format!("{pattern:?} in one axis"))?;
        let back = flat.view().reshape(*shape, Order::C)?;
        same(back.shape(), shape, "a shape restored")?;
        same(&back.to_vec(&stream)?, &due, &format!("{pattern:?} in one axis and back"))?;
        let wrong = view.reshape(&[due.len() + 1], Order::C).err();
        let due = matches!(wrong, Some(Error::Layout(LayoutError::SizeMismatch { .. }, ..)));
        ensure(due, || format!("a reshape to one element more: {wrong:?}"))?;
    }
    Ok(())
}

/// A ravel gives the elements in the requested order.
pub fn ravel<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (shape, mut rng) in SHAPES.iter().zip(harness.rngs()) {
        let pattern = Pattern::random(&mut rng, shape, false);
        let data = elements::<u32>(1, pattern.base_len());
        let array = Array::from_slice(&stream, &pattern.base, &data)?;
        let (view, picture) = (pattern.view(&array)?, pattern.picture());
        let rows = view.ravel_or_copy(&stream, Order::C)?;
        same(&rows.view().to_vec(&stream)?, &picture.read(&data), &format!("{pattern:?} raveled by rows"))?;
        let columns = view.ravel_or_copy(&stream, Order::F)?;
        let backward: Vec<usize> = (0..shape.len()).rev().collect();
        let due = picture.permute(&backward).read(&data);
        same(&columns.view().to_vec(&stream)?, &due, &format!("{pattern:?} raveled by columns"))?;
    }
    Ok(())
}

/// The parts of a split are disjoint and together make up the whole: writing each part once writes
/// every element once.
pub fn split<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (axis, sections) in [(0_isize, 1), (0, 3), (1, 2), (1, 5), (1, 9)] {
        let base = Picture::of(&[6, 7]);
        let mut array = Array::<u16, D>::zeros(&stream, &[6, 7])?;
        let mut due = vec![0; 42];
        let mut start = 0;
        for (value, mut part) in (1..).zip(array.view_mut().array_split(axis, sections)?) {
            let axis = usize::try_from(axis).map_err(|e| Violation::new(e.to_string()))?;
            let count = part.shape()[axis];
            part.fill(&stream, value)?;
            let places = base.slice(axis, start, 1, count);
            ensure(places.read(&due).iter().all(|&v| v == 0), || "two parts of a split overlap".into())?;
            places.write(&mut due, &vec![value; places.places.len()]);
            start += count;
        }
        ensure(!due.contains(&0), || format!("{sections} parts along axis {axis} are not the whole"))?;
        same(
            &array.to_vec(&stream)?,
            &due,
            &format!("an array written in {sections} parts along axis {axis}"),
        )?;
    }
    Ok(())
}

/// A 0-d array holds one element, and indexing down to it finds the right one.
pub fn scalars<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let data = elements::<u64>(1, 24);
    let array = Array::from_slice(&stream, &[2, 3, 4], &data)?;
    for (place, &due) in data.iter().enumerate() {
        let (i, j, k) = (place / 12, place / 4 % 3, place % 4);
        let one = array.view().index(&[i, j, k].map(IndexItem::from))?;
        same(one.shape(), &[], "the shape of one element")?;
        same(&one.to_vec(&stream)?, &[due], "one element")?;
    }
    let scalar = Array::from_slice(&stream, &[], &data[..1])?;
    same(&scalar.to_vec(&stream)?, &data[..1], "a 0-d array")?;
    let outside = array.view().index(&[2, 0, 0].map(IndexItem::from)).err();
    let due = matches!(outside, Some(Error::Layout(LayoutError::IndexOutOfRange { .. }, ..)));
    ensure(due, || format!("index 2 of an axis of 2: {outside:?}"))
}

/// A size that does not fit the address space is a pure error, also next to an extent of 0, and
/// when multiplied by the element size.
pub fn overflow<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for shape in [
        &[usize::MAX][..],
        &[usize::MAX / 2, 3],
        &[usize::MAX, 0, 2],
        &[(isize::MAX / 8).cast_unsigned() + 1],
    ] {
        let refused = Array::<u64, D>::uninit(&stream, shape).err();
        let due = matches!(refused, Some(Error::Layout(LayoutError::Overflow, ..)));
        ensure(due, || format!("an array of u64 of shape {shape:?}: {refused:?}"))?;
    }
    Ok(())
}
