//! Functions at the limits: long texts, many axes, interleaved parts of one array.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, ErasedArray, Error, Result,
    function::{
        DeviceFunction, ElementType, Expression, Function, FunctionErrorKind, MAX_INSTRUCTIONS,
        ReduceOperation, Reduction,
    },
    layout::{LayoutError, Slice},
};
use devarray_mock::MockDevice;

/// A mistake is shown under its place, however far back in the text it is.
#[test]
fn a_mistake_at_the_end_of_a_long_text_is_shown() {
    let text = format!("{}x0 + ?", " ".repeat(100_000));
    let error = Function::parse(&text, &[ElementType::I32], &[]).unwrap_err();
    let shown = error.to_string();
    let mut lines = shown.lines().rev();
    let (mark, line) = (lines.next().unwrap(), lines.next().unwrap());
    let at = mark.chars().position(|c| c == '^').unwrap();
    assert_eq!((mark.trim(), line.chars().nth(at)), ("^", Some('?')), "{shown}");
    assert!(shown.len() < 1_000);

    let name = "y".repeat(100_000);
    let error = Function::parse(&name, &[ElementType::I32], &[]).unwrap_err();
    let shown = error.to_string();
    let (line, mark) = (shown.lines().nth(1).unwrap(), shown.lines().last().unwrap());
    assert_eq!(line.matches('y').count(), mark.matches('^').count(), "{shown}");
    assert!(mark.contains("^^^^"));
}

/// Positions along a reduced axis of an array with more than 256 axes: that axis comes after all the kept
/// ones.
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

/// Elements of other sizes that lie between the elements of the result, with another stride.
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
    assert!(matches!(found, Err(Error::Layout(error, ..)) if error == expected));
    let sum = Reduction::new(ReduceOperation::Sum);
    let found = scaled.reduce(&stream, &[x.view()], &[7], &sum);
    assert!(matches!(found, Err(Error::Layout(error, ..)) if error == expected));
    Ok(())
}

/// A sum of terms that are all different.
fn sum_of(count: usize, term: impl Fn(usize) -> String) -> String {
    (0..count).map(term).collect::<Vec<_>>().join(" + ")
}

#[test]
fn what_a_function_expands_to_is_limited() -> Result<()> {
    let i64 = ElementType::I64;
    let powers = |count| sum_of(count, |at| format!("(x0 + {at}) ** x0"));
    let text = powers(300);
    let error = Function::parse(&text, &[i64], &[]).unwrap_err();
    assert_eq!(error.kind(), FunctionErrorKind::Size);
    let message = error.message();
    assert!(message.contains(&MAX_INSTRUCTIONS.to_string()) && message.contains("`**`"), "{message}");
    // The first call that is too much is shown.
    let place = error.place().unwrap();
    assert!(place.start > 0 && text[place.clone()].contains("**"), "{}", &text[place]);
    // A closure is refused in the same way, before the device is asked.
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = Array::from_slice(&stream, &[1], &[2_i64])?;
    let long = |count: i64| {
        let sum = move |x: Expression<i64>| (0..count).fold(x, |sum, at| sum + (x + at).pow(x));
        x.map(&stream, sum)
    };
    let Err(Error::Function(error)) = long(300) else { panic!("accepted") };
    assert_eq!((error.kind(), error.place()), (FunctionErrorKind::Size, None));
    // The twin: fewer of them fit.
    let squares = (0..150).map(|at| (2 + at) * (2 + at)).sum::<i64>();
    assert_eq!(long(150)?.to_vec(&stream)?, [2 + squares]);
    assert!(Function::parse(&powers(150), &[i64], &[]).is_ok());
    Ok(())
}

/// Hundreds of calls of the longest functions are accepted.
#[test]
fn hundreds_of_elementary_functions_fit() {
    for name in ["sin", "exp", "erf", "log10", "asinh"] {
        for of in [ElementType::F16, ElementType::F32, ElementType::F64] {
            let text = sum_of(200, |at| format!("{name}(x0 + {at})"));
            let function = Function::parse(&text, &[of], &[]).unwrap();
            let found = function.expand().instructions().len();
            assert!((200..MAX_INSTRUCTIONS).contains(&found), "{name} of {of}: {found}");
        }
    }
}

/// Texts of the greatest length, made of the parts that take longest to check.
#[test]
fn the_longest_texts_are_answered() {
    let f64 = ElementType::F64;
    let len = (1 << 18) - 100;
    let digits = "123456789".repeat(len / 9);
    let kind = |text: &str, of| Function::parse(text, &[of], &[]).err().map(|error| error.kind());
    assert_eq!(kind(&format!("x0 + 0.{digits}"), f64), None);
    assert_eq!(kind(&format!("x0 + 0.{digits}"), ElementType::F16), None);
    assert_eq!(kind(&format!("x0 + {digits}"), f64), Some(FunctionErrorKind::Type));
    assert_eq!(kind(&format!("x0 + {digits}e-{len}"), ElementType::F32), None);
    assert_eq!(kind(&format!("x0 + 0x{digits}"), f64), Some(FunctionErrorKind::Text));
    // The greatest number of literals, each as long as there is room for.
    let many = sum_of(2_000, |at| format!("0.{at}{}", "7".repeat(110)));
    for of in [ElementType::F16, f64] {
        assert_eq!(
            kind(&format!("x0 + ({})", many.replace(" + ", " + x0 * ")), of),
            Some(FunctionErrorKind::Size)
        );
        assert_eq!(kind(&format!("x0 + {}", &many[..many.len() / 2]), of), None);
    }
    for soup in ["(", "x0(", "-", "~", ",", "x0,", "where(", "1e", "x0 < "] {
        let text = soup.repeat(len / soup.len());
        assert!(kind(&text, f64).is_some(), "{soup}");
    }
}
