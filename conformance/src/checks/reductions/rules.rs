//! Extremes, truth values and empty reductions; axes, gaps and order.

use std::collections::BTreeMap;

use devarray::{
    Array, Error, LayoutError, Order,
    backend::Compute,
    function::{
        DeviceFunction, ElementType, FunctionErrorKind, ReduceOperation, Reduction, Scan, ScanOperation,
    },
};

use super::sums::reduced;
use crate::{
    Harness, Outcome, Pattern,
    computing::{Line, bits_of, canonical, function, reducing},
    harness::no_background_errors,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Checks that reductions of a line give these bits.
fn cases<D: Compute>(
    stream: &devarray::StreamHandle<D>,
    line: &Line,
    due: &[(ReduceOperation, u64)],
) -> Outcome {
    let array = line.array(stream, &[line.bits.len()])?;
    for &(operation, due) in due {
        let found = reduced(stream, line.of, &array.view(), &Reduction::new(operation))?;
        same(&found, &[due], &format!("{operation:?} of {line:?}"))?;
    }
    Ok(())
}

/// Sums and products of integers wrap, and have 64 bits.
pub fn integers<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    let (sum, product) = (ReduceOperation::Sum, ReduceOperation::Product);
    let i8s = Line::of(&[-128_i8; 300]);
    cases(&stream, &i8s, &[(sum, (-38_400_i64).cast_unsigned()), (product, 0)])?;
    cases(&stream, &Line::of(&[255_u8; 300]), &[(sum, 76_500)])?;
    cases(&stream, &Line::of(&[u64::MAX, 3]), &[(sum, 2), (product, u64::MAX - 2)])?;
    cases(&stream, &Line::of(&[i64::MIN, -1, 5]), &[(sum, (i64::MAX - 1).wrapping_add(6).cast_unsigned())])?;
    cases(&stream, &Line::of(&[-3_i32, 7, 11]), &[(product, (-231_i64).cast_unsigned()), (sum, 15)])?;
    cases(&stream, &Line::new(ElementType::Bool, &[1, 0, 7, 255]), &[(sum, 3)])
}

/// NaN wins, and −0 is less than +0; other types keep their order.
pub fn extrema<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    let (min, max) = (ReduceOperation::Minimum, ReduceOperation::Maximum);
    let bits = |x: f32| u64::from(x.to_bits());
    cases(&stream, &Line::of(&[0.0_f32, -0.0, 0.0]), &[(min, bits(-0.0)), (max, bits(0.0))])?;
    cases(&stream, &Line::of(&[-0.0_f32, -0.0]), &[(max, bits(-0.0))])?;
    let nan = canonical(ElementType::F32, bits(f32::NAN));
    cases(&stream, &Line::of(&[1.0_f32, f32::NAN, f32::NEG_INFINITY]), &[(min, nan), (max, nan)])?;
    let signalling = Line::new(ElementType::F32, &[bits(1.0), 0xff80_0001]);
    cases(&stream, &signalling, &[(min, nan), (max, nan)])?;
    cases(&stream, &Line::of(&[3_i8, -5, 100]), &[(min, 0xfb), (max, 100)])?;
    cases(&stream, &Line::of(&[3_u8, 200, 100]), &[(min, 3), (max, 200)])?;
    cases(&stream, &Line::of(&[1_u64 << 63, 1]), &[(min, 1), (max, 1 << 63)])?;
    cases(&stream, &Line::new(ElementType::Bool, &[2, 0]), &[(min, 0), (max, 1)])
}

/// `argmin` and `argmax` give the position of the first NaN, otherwise of the first of equal
/// elements, in C order of the reduced axes.
pub fn places<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    let (least, greatest) = (ReduceOperation::ArgMinimum, ReduceOperation::ArgMaximum);
    cases(&stream, &Line::of(&[2_i32, 1, 5, 1, 5]), &[(least, 1), (greatest, 2)])?;
    cases(&stream, &Line::of(&[0.0_f32, -0.0, 0.0]), &[(least, 0), (greatest, 0)])?;
    cases(&stream, &Line::of(&[1.0_f64, f64::NAN, f64::INFINITY, f64::NAN]), &[(least, 1), (greatest, 1)])?;
    let mut many = vec![5_u8; 70_000];
    (many[65_537], many[66_000], many[400]) = (1, 1, 9);
    cases(&stream, &Line::of(&many), &[(least, 65_537), (greatest, 400)])?;
    let table = Array::from_slice(&stream, &[2, 3], &[4_u16, 1, 7, 1, 7, 7])?;
    let found = |view: devarray::ArrayView<'_, u16, D>, operation| {
        reduced(&stream, ElementType::U16, view.as_erased(), &Reduction::new(operation))
    };
    same(&found(table.view(), greatest)?, &[2], "the greatest of a table")?;
    same(&found(table.transpose(), greatest)?, &[3], "the greatest of a transposed table")?;
    same(&found(table.transpose(), least)?, &[1], "the least of a transposed table")
}

/// Any value except 0 is true, also NaN.
pub fn truth<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    let (any, all, count) = (ReduceOperation::Any, ReduceOperation::All, ReduceOperation::CountNonzero);
    cases(&stream, &Line::of(&[0.0_f32, -0.0]), &[(any, 0), (all, 0), (count, 0)])?;
    cases(&stream, &Line::of(&[0.0_f32, f32::NAN]), &[(any, 1), (all, 0), (count, 1)])?;
    cases(&stream, &Line::of(&[1e-45_f32, f32::NAN]), &[(any, 1), (all, 1), (count, 2)])?;
    cases(&stream, &Line::new(ElementType::Bool, &[2, 128, 1]), &[(any, 1), (all, 1), (count, 3)])?;
    cases(&stream, &Line::of(&[0_i64, 1 << 40]), &[(any, 1), (all, 0), (count, 1)])
}

/// A reduction of nothing has a value or is an error; a reduction with a result of no elements does
/// nothing.
pub fn empty<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    let nan = canonical(ElementType::F64, f64::NAN.to_bits());
    cases(
        &stream,
        &Line::of::<f64>(&[]),
        &[
            (ReduceOperation::Sum, 0),
            (ReduceOperation::Product, 1.0_f64.to_bits()),
            (ReduceOperation::Any, 0),
            (ReduceOperation::All, 1),
            (ReduceOperation::Mean, nan),
            (ReduceOperation::CountNonzero, 0),
        ],
    )?;
    let none = Array::<f64, D>::zeros(&stream, &[3, 0])?;
    for operation in [ReduceOperation::Minimum, ReduceOperation::ArgMaximum] {
        let along = |axis| Reduction::new(operation).axes(&[axis]);
        let refused = function("x0", &[ElementType::F64], &[])?
            .reduce(&stream, &[none.view().as_erased().clone()], &[], &along(1))
            .err();
        let named =
            matches!(&refused, Some(Error::Function(error)) if error.kind() == FunctionErrorKind::Empty);
        ensure(named, || format!("{operation:?} of no elements: {refused:?}"))?;
        let found = reduced(&stream, ElementType::F64, none.view().as_erased(), &along(0))?;
        same(&found, &[], "a result of no elements")?;
    }
    let sums = reduced(
        &stream,
        ElementType::F64,
        none.view().as_erased(),
        &Reduction::new(ReduceOperation::Sum).axes(&[1]),
    )?;
    same(&sums, &[0; 3], "three sums of nothing")
}

/// Any axes of any layout are reduced, the remaining axes keep their order, and positions count
/// along the axes of the elements.
pub fn axes<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[case % SHAPES.len()];
        let source = Pattern::random(&mut rng, shape, true);
        let data: Vec<i64> = elements(1, source.base_len());
        let array = Array::from_slice(&stream, &source.base, &data)?;
        let shown = source.picture().read(&data);
        let gone: Vec<usize> = (0..shape.len()).filter(|_| rng.below(2) == 0).collect();
        let names = gone.iter().map(|&axis| axis.cast_signed());
        let names: Vec<isize> = names
            .map(|axis| if rng.below(2) == 0 { axis } else { axis - shape.len().cast_signed() })
            .collect();
        let mut due = BTreeMap::<Vec<usize>, i64>::new();
        let kept: Vec<usize> = shape
            .iter()
            .enumerate()
            .map(|(axis, &extent)| if gone.contains(&axis) { 1 } else { extent })
            .collect();
        for place in crate::Picture::of(&kept).places {
            due.insert(index(&kept, place), 0);
        }
        for (number, &value) in shown.iter().enumerate() {
            let at = index(shape, number);
            let along = at.last().and_then(|&position| i64::try_from(position).ok()).unwrap_or(0);
            let to: Vec<usize> =
                at.iter().enumerate().map(|(axis, &at)| if gone.contains(&axis) { 0 } else { at }).collect();
            let sum = due.entry(to).or_default();
            *sum = sum.wrapping_add(value.wrapping_mul(3).wrapping_add(along));
        }
        let due: Vec<i64> = due.into_values().collect();
        let text =
            if shape.is_empty() { "x0 * 3".to_owned() } else { format!("x0 * 3 + i{}", shape.len() - 1) };
        let sum = function(&text, &[ElementType::I64], &[])?;
        let view = source.view(&array)?;
        for keep in [false, true] {
            let reduction = Reduction::new(ReduceOperation::Sum).axes(&names);
            let reduction = if keep { reduction.keep_axes() } else { reduction };
            let found = sum.reduce(&stream, &[view.as_erased().clone()], &[], &reduction)?;
            let left: Vec<usize> =
                (0..shape.len()).filter(|axis| keep || !gone.contains(axis)).map(|axis| kept[axis]).collect();
            let what = format!("sums along {names:?} of {source:?}");
            let found = Array::<i64, D>::from_erased(found)?;
            same(devarray::NdLayout::shape(&found), &left, &format!("the shape: {what}"))?;
            same(&found.to_vec(&stream)?, &due, &what)?;
        }
    }
    Ok(())
}

/// The index of an element, counted in C order.
fn index(shape: &[usize], mut number: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, extent) in index.iter_mut().zip(shape).rev() {
        (*at, number) = (number % extent, number / extent);
    }
    index
}

/// The result is a view of any layout: its elements are written, and no bytes between them.
pub fn gaps<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = reducing(harness)? else { return Ok(()) };
    for mut rng in harness.rngs() {
        let (rows, len) = (1 + rng.below(9), 1 + rng.below(40));
        let source = Pattern::random(&mut rng, &[rows, len], true);
        let data: Vec<u32> = elements(1, source.base_len());
        let array = Array::from_slice(&stream, &source.base, &data)?;
        let shown = source.picture().read(&data);
        let (x, view) = (function("x0", &[ElementType::U32], &[])?, source.view(&array)?);
        let target = Pattern::random(&mut rng, &[rows], false);
        let mut all: Vec<u64> = elements(2, target.base_len());
        let mut written = Array::from_slice(&stream, &target.base, &all)?;
        let sum = Reduction::new(ReduceOperation::Sum).axes(&[1]);
        let mut into = target.view_mut(&mut written)?.into_erased();
        x.reduce_into(&stream, &[view.as_erased().clone()], &[], &sum, &mut into)?;
        let sums: Vec<u64> = shown.chunks(len).map(|row| row.iter().map(|&x| u64::from(x)).sum()).collect();
        target.picture().write(&mut all, &sums);
        same(&written.to_vec(&stream)?, &all, &format!("sums into {target:?}"))?;
        let target = Pattern::random(&mut rng, &[rows, len], false);
        let mut all: Vec<u64> = elements(3, target.base_len());
        let mut written = Array::from_slice(&stream, &target.base, &all)?;
        let mut into = target.view_mut(&mut written)?.into_erased();
        x.scan_into(&stream, &[view.as_erased().clone()], &[], Scan::new(ScanOperation::Sum, 1), &mut into)?;
        let running = shown.chunks(len).flat_map(|row| {
            row.iter().scan(0_u64, |sum, &x| {
                *sum += u64::from(x);
                Some(*sum)
            })
        });
        target.picture().write(&mut all, &running.collect::<Vec<_>>());
        same(&written.to_vec(&stream)?, &all, &format!("running sums into {target:?}"))?;
    }
    Ok(())
}

/// A reduction waits for work that writes its elements, later work waits for it, and a strict
/// stream refuses it if it is not ordered. Axes that do not exist are refused with the right error.
pub fn ordered<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = reducing(harness)? else { return Ok(()) };
    let two = context.stream()?;
    let sum = function("x0", &[ElementType::I64], &[])?;
    let (all, along) = (Reduction::new(ReduceOperation::Sum), Scan::new(ScanOperation::Sum, 0));
    for salt in 0..8 {
        let (first, second): (Vec<i64>, Vec<i64>) = (elements(salt, 900), elements(salt + 9, 900));
        let mut x = Array::<i64, D>::zeros(&one, &[900])?;
        x.view_mut().copy_from_slice(&one, &first)?;
        let total = sum.reduce(&two, &[x.view().as_erased().clone()], &[], &all)?;
        let mut item = [0; 8];
        sum.reduce_item(&two, &[x.view().as_erased().clone()], &[], &all, &mut item)?;
        x.view_mut().copy_from_slice(&one, &second)?;
        let running = sum.scan(&two, &[x.view().as_erased().clone()], &[], along)?;
        x.view_mut().fill(&one, 0)?;
        let wrapped = |sum: i64, x: &i64| sum.wrapping_add(*x);
        let found = bits_of(&total.view().to_bytes(&one)?, 8);
        same(&found, &[first.iter().fold(0, wrapped).cast_unsigned()], "a sum of what another stream wrote")?;
        same(&bits_of(&item, 8), &found, "the same, brought to the host at once")?;
        let last = bits_of(&running.view().to_contiguous(&one, Order::C)?.view().to_bytes(&one)?, 8);
        let due = second.iter().fold(0, wrapped).cast_unsigned();
        same(&last[899..], &[due], "a running sum of what another stream wrote")?;
    }
    let strict = context.strict_stream()?;
    let x = Array::full(&one, &[5], 2_i64)?;
    let refused = sum.reduce(&strict, &[x.view().as_erased().clone()], &[], &all).err();
    ensure(matches!(refused, Some(Error::Hazard { .. })), || {
        format!("a sum of what is being written: {refused:?}")
    })?;
    let refused =
        sum.scan(&one, &[x.view().as_erased().clone()], &[], Scan::new(ScanOperation::Sum, 1)).err();
    let named = matches!(refused, Some(Error::Layout(LayoutError::AxisOutOfRange { .. }, ..)));
    ensure(named, || format!("running sums along an axis that is not there: {refused:?}"))?;
    no_background_errors(&context)
}
