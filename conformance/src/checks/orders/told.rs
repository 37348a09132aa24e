//! Indices that are out of range, the order among operations, and refusals.

use devarray::{
    Array, Error, LayoutError, StreamHandle,
    backend::Compute,
    gather::{GatherOperation, IndexError},
    order::{IndexFault, OrderErrorKind, Side},
};

use crate::{
    Harness, Outcome,
    computing::ordering,
    harness::no_background_errors,
    violation::{ensure, same},
};

/// Checks that the next wait reports this error, and the wait after it none.
pub(super) fn tells<D: Compute>(stream: &StreamHandle<D>, due: IndexError) -> Outcome {
    let told = stream.synchronize();
    let is_due = matches!(&told, Err(Error::Index { error, .. }) if *error == due);
    ensure(is_due, || format!("a wait told {told:?}, due is {due}"))?;
    let again = stream.synchronize();
    ensure(again.is_ok(), || format!("told a second time: {again:?}"))
}

/// The next wait reports, once and with the right error, an index that is out of range, a group
/// that needs an element and has none, and the first row for which there was no room. Everything
/// else is done.
pub fn told<D: Compute>(harness: &Harness<D>) -> Outcome {
    use GatherOperation::{BinCount, NonZero, PutAdd, PutMaximum, SegmentMinimum, SegmentSum, Unique};
    let Some((context, stream)) = ordering(harness)? else { return Ok(()) };
    let due = |operation, axis, position, value, bound| IndexError {
        operation,
        fault: IndexFault::Outside,
        axis,
        position,
        value,
        bound,
    };
    let x = Array::from_slice(&stream, &[2, 2], &[1_u64, u64::MAX, 2, 0])?;
    let counts = x.view().transpose().bincount(&stream, 3)?;
    tells(&stream, due(BinCount, None, 2, i64::MAX, 3))?;
    same(&counts.to_vec(&stream)?, &[1, 1, 1], "counts beside an index that has no place")?;

    let mut y = Array::<i32, D>::zeros(&stream, &[2, 3])?;
    let by = Array::from_slice(&stream, &[4], &[-3_i64, 3, -4, 1])?;
    y.view_mut().put_add(&stream, -1, &by, &Array::full(&stream, &[], 5)?)?;
    tells(&stream, due(PutAdd, Some(1), 1, 3, 3))?;
    same(&y.to_vec(&stream)?, &[5, 5, 0, 5, 5, 0], "what is put beside an index that has no place")?;
    let far = Array::from_slice(&stream, &[2], &[1, u32::MAX])?;
    y.view_mut().put_maximum(&stream, 0, &far, &Array::full(&stream, &[], 9)?)?;
    tells(&stream, due(PutMaximum, Some(0), 1, u32::MAX.into(), 2))?;
    same(&y.to_vec(&stream)?, &[5, 5, 0, 9, 9, 9], "the greatest beside an index that has no place")?;

    let z = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 4.0, 8.0])?;
    let falls = Array::from_slice(&stream, &[4], &[0, 3, 2, 4])?;
    let found = z.segment_sum(&stream, &falls)?;
    tells(&stream, due(SegmentSum, Some(0), 2, 2, 4))?;
    same(&found.to_vec(&stream)?, &[7.0, 0.0, 12.0], "sums beside an offset that falls")?;
    let empty = Array::from_slice(&stream, &[4], &[0, 1, 1, 4])?;
    let found = z.segment_minimum(&stream, &empty)?;
    let fault = IndexFault::EmptyGroup;
    tells(&stream, IndexError { fault, ..due(SegmentMinimum, Some(0), 2, 1, 4) })?;
    same(&found.to_vec(&stream)?, &[1.0, 0.0, 2.0], "the least beside a group of none")?;

    let (mut room, mut count) = (Array::zeros(&stream, &[2])?, Array::zeros(&stream, &[])?);
    z.view().unique_into(&stream, &mut room, &mut count)?;
    tells(&stream, due(Unique, Some(0), 2, 2, 2))?;
    same(&room.to_vec(&stream)?, &[1.0, 2.0], "as many as there is room for")?;
    same(&[count.item(&stream)?], &[4_i64], "how many are distinct")?;
    let mut rows = Array::full(&stream, &[1, 1], -1)?;
    z.view().nonzero_into(&stream, &mut rows, &mut count)?;
    tells(&stream, due(NonZero, Some(0), 1, 1, 1))?;
    same(&[count.item(&stream)?], &[4_i64], "how many are not zero")?;
    no_background_errors(&context)
}

/// A call waits for work that writes its inputs, later work waits for it, and a strict stream
/// refuses it if it is not ordered.
pub fn ordered<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = ordering(harness)? else { return Ok(()) };
    let two = context.stream()?;
    for round in 0..8_i32 {
        let data: Vec<i32> = (0..700).map(|at| (at * 37 + round) % 100).collect();
        let mut x = Array::<i32, D>::zeros(&one, &[700])?;
        x.view_mut().copy_from_slice(&one, &data)?;
        let sorted = x.sort(&two, 0)?;
        let mut by = Array::<i32, D>::zeros(&one, &[700])?;
        by.view_mut().copy_from(&two, &x)?;
        x.view_mut().fill(&one, 1)?;
        let mut due = data.clone();
        due.sort_unstable();
        same(&sorted.to_vec(&one)?, &due, "what another stream wrote, in order")?;
        let mut y = Array::<i32, D>::zeros(&one, &[100])?;
        y.view_mut().put_add(&two, 0, &by, &x)?;
        by.view_mut().fill(&one, 0)?;
        let mut due = vec![0; 100];
        data.iter().for_each(|&at| due[usize::try_from(at).unwrap_or(0)] += 1);
        same(&y.to_vec(&one)?, &due, "what was put by indices of another stream")?;
        let (mut rows, mut count) = (Array::zeros(&one, &[100, 1])?, Array::zeros(&one, &[])?);
        y.view().nonzero_into(&two, &mut rows, &mut count)?;
        same(&[count.item(&one)?], &[100_i64], "the count of another stream")?;
    }
    let strict = context.strict_stream()?;
    let x = Array::full(&one, &[5], 2_i64)?;
    let refused = x.argsort(&strict, 0).err();
    ensure(matches!(refused, Some(Error::Hazard { .. })), || {
        format!("ordered while it is written: {refused:?}")
    })?;
    no_background_errors(&context)
}

/// Arguments that do not fit are refused with the right error, and nothing is enqueued.
pub fn refused<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = ordering(harness)? else { return Ok(()) };
    let mut x = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let before = context.statistics().orders;
    let layout = |found: devarray::Result<()>, due: fn(&LayoutError) -> bool, what: &str| {
        let is_due = matches!(&found, Err(Error::Layout(error, _)) if due(error));
        ensure(is_due, || format!("{what}: {found:?}"))
    };
    let kind = |found: devarray::Result<()>, due: OrderErrorKind, what: &str| {
        let is_due = matches!(&found, Err(Error::Order(error, _)) if error.kind() == due);
        ensure(is_due, || format!("{what}: {found:?}"))
    };
    let axis = |error: &LayoutError| matches!(error, LayoutError::AxisOutOfRange { .. });
    layout(x.sort(&stream, 2).map(drop), axis, "an axis that is not there")?;
    layout(x.median(&stream, -3).map(drop), axis, "an axis that is not there")?;
    let (by, v) = (Array::full(&stream, &[2], 0_i32)?, Array::full(&stream, &[2, 3], 1.0_f32)?);
    layout(x.view_mut().put_add(&stream, 2, &by, &v), axis, "an axis that is not there")?;
    kind(x.view_mut().put_add(&stream, 1, &by, &v), OrderErrorKind::Shape, "values that do not fit")?;
    kind(x.topk(&stream, 4, 1).map(drop), OrderErrorKind::Shape, "more than there are")?;
    kind(x.quantile(&stream, 1.5, 0).map(drop), OrderErrorKind::Shape, "a quantile beyond 1")?;
    kind(x.search_sorted(&stream, &x, Side::Left).map(drop), OrderErrorKind::Shape, "bins of two axes")?;
    let none = Array::<f32, D>::zeros(&stream, &[2, 0])?;
    kind(none.median(&stream, 1).map(drop), OrderErrorKind::Empty, "a median of nothing")?;
    let shape = |error: &LayoutError| matches!(error, LayoutError::ShapeMismatch { .. });
    let mut narrow = Array::<f32, D>::zeros(&stream, &[2, 2])?;
    layout(x.view().sort_into(&stream, 0, &mut narrow), shape, "a result of another shape")?;
    let elsewhere = harness.context()?.stream()?;
    let other = x.sort(&elsewhere, 0).map(drop);
    ensure(matches!(other, Err(Error::DeviceMismatch { .. })), || format!("another context: {other:?}"))?;
    same(&[context.statistics().orders], &[before], "calls that were enqueued")?;
    same(&x.to_vec(&stream)?, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "elements after refusals")?;
    // A call that has nothing to do is not enqueued either.
    same(&none.sort(&stream, 0)?.to_vec(&stream)?, &[], "nothing in order")?;
    same(&[context.statistics().orders], &[before], "calls of nothing that were enqueued")
}
