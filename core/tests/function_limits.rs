//! Functions at the limits: long texts, many axes, parts of one array that lie between each other.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, ErasedArray, Error, Result,
    function::{ElementType, Function, FunctionErrorKind, ReduceOperation, Reduction},
    layout::{LayoutError, Slice},
};
use devarray_mock::MockDevice;

/// A mistake is shown under its place, however far behind that is.
#[test]
fn a_mistake_at_the_end_of_a_long_text_is_shown() {
    let text = format!("{}x0 + ?", " ".repeat(100_000));
    let error = Function::parse(&text, &[ElementType::I32], &[]).unwrap_err();
    let shown = error.to_string();
    let mark = shown.lines().last().unwrap();
    assert_eq!(mark.chars().position(|c| c == '^'), Some(2 + 100_005));
    assert_eq!(mark.chars().filter(|&c| c == '^').count(), 1);

    let name = "y".repeat(100_000);
    let error = Function::parse(&name, &[ElementType::I32], &[]).unwrap_err();
    let shown = error.to_string();
    assert_eq!(shown.lines().last().unwrap().trim().len(), 100_000);
}

/// Positions along a reduced axis of an array with more than 256 axes: that axis comes after all that are kept.
#[test]
fn positions_along_a_reduced_axis_are_its_own_or_refused() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let positions = Function::parse("x0 * 0 + i0", &[ElementType::I64], &[])?;
    for rank in [2, 255, 256, 257, 300] {
        let mut shape = vec![1; rank];
        shape[0] = 3;
        let x = ErasedArray::zeros(&stream, &shape, 8)?;
        let sum = Reduction::new(ReduceOperation::Sum).axes(&[0]);
        match positions.reduce(&stream, &[x.view()], &[], &sum) {
            // 0 + 1 + 2
            Ok(total) => assert_eq!(total.view().to_bytes(&stream)?, 3_i64.to_le_bytes(), "rank {rank}"),
            Err(Error::Function(error)) if rank > 256 => assert_eq!(error.kind(), FunctionErrorKind::Shape),
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// Elements of other sizes that lie between those of the result, at another distance from each other.
#[test]
fn a_part_is_computed_from_another_part_of_other_elements() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let numbers: Vec<u64> = (0..8).map(|at| at << 32 | (10 + at)).collect();
    let mut array = Array::from_slice(&stream, &[4, 2], &numbers)?;
    let mut columns = array.view_mut().split_at(1, &[1])?;
    let (left, right) = (columns.next().unwrap(), columns.next().unwrap());
    // The low halves of the second column's elements 0 and 2.
    let right = right.slice_axis(0, Slice::from(..).step_by(2))?.reinterpret::<u32>()?.slice_axis(1, ..1)?;
    let right = right.into_erased();
    let mut left = left.slice_axis(0, ..2)?.into_erased();
    let widen = Function::parse("cast(x0, u64)", &[ElementType::U32], &[])?;
    widen.apply_into(&stream, &[right.as_view()], &[], &mut left)?;
    let sum = Reduction::new(ReduceOperation::Sum).axes(&[1]).keep_axes();
    widen.reduce_into(&stream, &[right.as_view()], &[], &sum, &mut left)?;
    let mut expected = numbers.clone();
    (expected[0], expected[2]) = (11, 15);
    assert_eq!(array.to_vec(&stream)?, expected);
    Ok(())
}

/// Scalars that are missing are counted, not the inputs.
#[test]
fn missing_scalars_are_counted() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = ErasedArray::zeros(&stream, &[3], 4)?;
    let scaled = Function::parse("x0 * k0 * k1", &[ElementType::I32], &[ElementType::I32; 2])?;
    let expected = LayoutError::RankMismatch { expected: 2, found: 1 };
    let found = scaled.apply(&stream, &[x.view()], &[7]);
    assert!(matches!(found, Err(Error::Layout(error)) if error == expected));
    let sum = Reduction::new(ReduceOperation::Sum);
    let found = scaled.reduce(&stream, &[x.view()], &[7], &sum);
    assert!(matches!(found, Err(Error::Layout(error)) if error == expected));
    Ok(())
}
