//! Reports of indices out of range, and the order of gathers among other work.

use devarray::{
    Array, Bool, Error, LayoutError, Result, StreamHandle,
    backend::Compute,
    gather::{GatherOperation, Index, IndexError, OutOfRange, Repeats},
    order::IndexFault,
};

use crate::{
    Harness, Outcome,
    computing::gathering,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
};

const ERROR: OutOfRange = OutOfRange::Error;

/// Checks that a wait reports this index, and that the next wait reports no other.
fn tells<D: Compute>(stream: &StreamHandle<D>, due: IndexError) -> Outcome {
    let told = stream.synchronize();
    let is_due = matches!(&told, Err(Error::Index { error, .. }) if *error == due);
    ensure(is_due, || format!("a wait told {told:?}, due is {due}"))?;
    let again = stream.synchronize();
    ensure(again.is_ok(), || format!("told a second time: {again:?}"))
}

/// Checks that taking elements at these indices from an axis of 4 reports the index at `position`,
/// and gives zeros for indices out of range.
fn take_tells<I: Index + TryFrom<i64> + Into<i64>, D: Compute>(
    stream: &StreamHandle<D>,
    indices: &[I],
    position: usize,
) -> Outcome {
    let x = Array::<i32, D>::arange(stream, 1, 13, 1)?;
    let table = x.reshape(&[3, 4], devarray::Order::C)?;
    let by = Array::from_slice(stream, &[indices.len()], indices)?;
    let found = table.take(stream, &by, 1, ERROR)?;
    tells(
        stream,
        IndexError {
            operation: GatherOperation::Take,
            fault: IndexFault::Outside,
            axis: Some(1),
            position: position as u64,
            value: indices[position].into(),
            bound: 4,
        },
    )?;
    let row = |row: i64| {
        indices.iter().map(move |&index| match index.into() {
            index @ 0..4 => row * 4 + index + 1,
            index @ -4..0 => row * 4 + index + 5,
            _ => 0,
        })
    };
    let due: Vec<i64> = (0..3).flat_map(row).collect();
    let found: Vec<i64> = found.to_vec(stream)?.into_iter().map(i64::from).collect();
    same(&found, &due, "what is taken beside indices out of range")?;
    let by = Array::from_slice(stream, &[2], &[0_i32, 3])?;
    let taken = table.take(stream, &by, 1, ERROR)?.to_vec(stream);
    ensure(taken.is_ok(), || format!("nothing was out of range, and a wait told {taken:?}"))
}

/// The next wait reports an index out of range, once, with the right error: the first index of the
/// operation. A gather gives zeros for such indices, and a scatter puts nothing; everything else is
/// done.
pub fn told<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = gathering(harness)? else { return Ok(()) };
    take_tells(&stream, &[0_i32, -4, 4, 3, -5, 100], 2)?;
    take_tells(&stream, &[3_i64, 1, -5, 4], 2)?;
    take_tells(&stream, &[i64::MIN, i64::MAX], 0)?;
    take_tells(&stream, &[2_u32, u32::MAX, 4], 1)?;
    take_tells(&stream, &[1_i64, (1 << 32) + 1], 1)?;

    // Positions count the indices in C order of their view.
    let x = Array::<u16, D>::arange(&stream, 0, 6, 1)?;
    let by = Array::from_slice(&stream, &[2, 3], &[0, 9, 1, 7, 2, 3])?;
    let _ = x.take_flat(&stream, &by.transpose(), ERROR)?;
    let due = IndexError {
        operation: GatherOperation::Take,
        fault: IndexFault::Outside,
        axis: None,
        position: 1,
        value: 7,
        bound: 6,
    };
    tells(&stream, due)?;
    let table = x.reshape(&[3, 2], devarray::Order::C)?;
    let by = Array::from_slice(&stream, &[3, 1], &[0_i64, 1, -3])?;
    let _ = table.take_along_axis(&stream, &by, 1, ERROR)?;
    let operation = GatherOperation::TakeAlongAxis;
    tells(
        &stream,
        IndexError { operation, fault: IndexFault::Outside, axis: Some(1), position: 2, value: -3, bound: 2 },
    )?;

    let mut y = Array::<u16, D>::zeros(&stream, &[3, 2])?;
    let by = Array::from_slice(&stream, &[3], &[2, 3, 0])?;
    y.view_mut().put(&stream, &by, &table, 0, ERROR, Repeats::Last)?;
    let operation = GatherOperation::Put;
    tells(
        &stream,
        IndexError { operation, fault: IndexFault::Outside, axis: Some(0), position: 1, value: 3, bound: 3 },
    )?;
    same(&y.to_vec(&stream)?, &[4, 5, 0, 0, 0, 1], "what is put beside an index out of range")?;

    let mask = Array::full(&stream, &[6], Bool::TRUE)?;
    let (mut room, mut count) = (Array::zeros(&stream, &[4])?, Array::zeros(&stream, &[])?);
    x.view().extract_into(&stream, &mask, &mut room.view_mut(), &mut count.view_mut())?;
    let operation = GatherOperation::Extract;
    tells(
        &stream,
        IndexError { operation, fault: IndexFault::Outside, axis: None, position: 4, value: 4, bound: 4 },
    )?;
    same(&room.to_vec(&stream)?, &[0, 1, 2, 3], "as many as there is room for")?;
    same(&[count.item(&stream)?], &[6_i64], "how many are selected")?;
    no_background_errors(&context)
}

/// Every kind of wait reports an index error: of its own stream, and of streams that it is ordered
/// after. Several errors are reported in the order of submission. A wait for unrelated work reports
/// no error.
pub fn waits<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = gathering(harness)? else { return Ok(()) };
    let x = Array::<u8, D>::zeros(&stream, &[5])?;
    let wrong = |value: i32| Array::from_slice(&stream, &[1], &[value]);
    let tells = |waited: Result<()>, value: i64, wait: &str| {
        let is_due = matches!(&waited, Err(Error::Index { error, .. }) if error.value == value);
        ensure(is_due, || format!("{wait} told {waited:?}, due is index {value}"))
    };
    let mut kept = Vec::new();
    for value in [5, 6, 7] {
        kept.push(x.take(&stream, &wrong(value)?, 0, ERROR)?);
    }
    for value in [5, 6, 7] {
        tells(stream.synchronize(), value, "a wait for the stream")?;
    }
    kept.push(x.take(&stream, &wrong(8)?, 0, ERROR)?);
    let event = stream.record()?;
    tells(event.synchronize(), 8, "a wait for an event")?;
    let taken = x.take(&stream, &wrong(9)?, 0, ERROR)?;
    tells(taken.to_vec(&stream).map(drop), 9, "a download")?;

    let other = context.stream()?;
    kept.push(x.take(&stream, &wrong(10)?, 0, ERROR)?);
    other.wait(&stream.record()?)?;
    tells(other.synchronize(), 10, "a wait for a stream that comes after")?;
    let taken = x.take(&stream, &wrong(11)?, 0, ERROR)?;
    let pinned = context.pinned(1)?;
    let transfer = taken.view().download(&stream, pinned).map_err(Error::from)?;
    match transfer.wait() {
        Ok(_) => tells(Ok(()), 11, "a transfer")?,
        Err(error) => {
            tells(Err(error.error().clone()), 11, "a transfer")?;
            ensure(error.into_buffer().is_some(), || "a transfer kept its buffer".to_owned())?;
        }
    }
    let mut back = [1_u8];
    let taken = x.take(&stream, &wrong(12)?, 0, ERROR)?;
    let scope = stream.scope(|scope| scope.download(&taken.view(), &mut back));
    tells(scope.map(drop), 12, "a scope")?;

    // There are two streams, and neither is ordered after the other. The work of both has run, and
    // events have shown it.
    let third = context.stream()?;
    let (first, second) = (wrong(13)?, wrong(14)?);
    kept.push(x.take(&other, &first, 0, ERROR)?);
    let taken = x.take(&stream, &second, 0, ERROR)?;
    let (before, after) = (other.record()?, stream.record()?);
    while !(after.query()? && before.query()?) {
        std::thread::yield_now();
    }
    let unrelated = third.synchronize();
    ensure(unrelated.is_ok(), || format!("a wait for nothing told {unrelated:?}"))?;
    tells(taken.to_vec(&third).map(drop), 14, "a download on a third stream")?;
    let again = stream.synchronize();
    ensure(again.is_ok(), || format!("told a second time: {again:?}"))?;
    tells(before.synchronize(), 13, "a wait for the first event")?;
    same(&x.to_vec(&stream)?, &[0; 5], "what nothing was wrong with")?;
    no_background_errors(&context)
}

/// A gather waits for work that writes its elements and its indices, later work waits for it, and a
/// strict stream refuses it if it is not ordered.
pub fn ordered<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = gathering(harness)? else { return Ok(()) };
    let two = context.stream()?;
    for salt in 0..8 {
        let data: Vec<u32> = elements(salt, 700);
        let turned: Vec<i32> = (0..700).rev().collect();
        let mut x = Array::<u32, D>::zeros(&one, &[700])?;
        let mut by = Array::<i32, D>::zeros(&one, &[700])?;
        x.view_mut().copy_from_slice(&one, &data)?;
        by.view_mut().copy_from_slice(&one, &turned)?;
        let taken = x.take(&two, &by, 0, ERROR)?;
        x.view_mut().fill(&one, 7)?;
        by.view_mut().fill(&one, 3)?;
        let due: Vec<u32> = data.iter().rev().copied().collect();
        same(&taken.to_vec(&one)?, &due, "what was taken of what another stream wrote")?;
        let mut y = Array::<u32, D>::zeros(&one, &[700])?;
        y.view_mut().put(&two, &by, &x, 0, ERROR, Repeats::Last)?;
        let mut due = vec![0; 700];
        due[3] = 7;
        same(&y.to_vec(&one)?, &due, "what was put into what another stream wrote")?;
        // The other stream writes only the indices.
        let own = Array::from_slice(&two, &[700], &data)?;
        by.view_mut().fill(&one, 5)?;
        let taken = own.take(&two, &by, 0, ERROR)?;
        same(&taken.to_vec(&two)?, &[data[5]; 700], "what was taken at indices of another stream")?;
        // The count is written next to the elements.
        let (mut room, mut count) = (Array::zeros(&one, &[700])?, Array::zeros(&one, &[])?);
        let mask = own.map(&one, |x| x.greater_equal(1 << 31))?;
        own.view().extract_into(&two, &mask, &mut room.view_mut(), &mut count.view_mut())?;
        let mut due: Vec<u32> = data.iter().copied().filter(|&x| x >= 1 << 31).collect();
        same(&[count.item(&one)?], &[due.len().cast_signed() as i64], "the count of another stream")?;
        due.resize(700, 0);
        same(&room.to_vec(&one)?, &due, "what was selected of what another stream wrote")?;
    }
    let strict = context.strict_stream()?;
    let (x, by) = (Array::full(&one, &[5], 2_i64)?, Array::full(&one, &[5], 2_i32)?);
    let refused = x.take(&strict, &by, 0, ERROR).err();
    ensure(matches!(refused, Some(Error::Hazard { .. })), || {
        format!("taken while it is written: {refused:?}")
    })?;
    no_background_errors(&context)
}

/// Arguments that do not fit are refused with the right error, and nothing is enqueued.
pub fn refused<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = gathering(harness)? else { return Ok(()) };
    let x = Array::<u8, D>::zeros(&stream, &[3, 4])?;
    let by = Array::from_slice(&stream, &[2], &[0, 1])?;
    let is = |result: Result<()>, named: fn(&LayoutError) -> bool, what: &str| {
        let is_named = matches!(&result, Err(Error::Layout(error, ..)) if named(error));
        ensure(is_named, || format!("{what}: {result:?}"))
    };
    let before = context.statistics();
    is(
        x.take(&stream, &by, 2, ERROR).map(drop),
        |error| matches!(error, LayoutError::AxisOutOfRange { .. }),
        "an axis that is not there",
    )?;
    is(
        x.take_along_axis(&stream, &by, 0, ERROR).map(drop),
        |error| matches!(error, LayoutError::RankMismatch { .. }),
        "indices of other axes",
    )?;
    let nothing = Array::<u8, D>::zeros(&stream, &[3, 0])?;
    for mode in [ERROR, OutOfRange::Wrap, OutOfRange::Clamp] {
        is(
            nothing.take(&stream, &by, 1, mode).map(drop),
            |error| matches!(error, LayoutError::IndexOutOfRange { axis: 1, extent: 0, .. }),
            "elements of an axis without any",
        )?;
    }
    let mut y = Array::<u8, D>::zeros(&stream, &[3, 4])?;
    is(
        y.view_mut().put(&stream, &by, &x, 0, ERROR, Repeats::Last),
        |error| matches!(error, LayoutError::NotBroadcastable { .. }),
        "values that do not fit",
    )?;
    is(
        x.view().take_into(&stream, &by, 0, ERROR, &mut y.view_mut()),
        |error| matches!(error, LayoutError::ShapeMismatch { .. }),
        "a result of another shape",
    )?;
    let mask = Array::full(&stream, &[3], Bool::TRUE)?;
    is(
        x.compress(&stream, &mask, 1).map(drop),
        |error| matches!(error, LayoutError::ShapeMismatch { .. }),
        "a mask of another length",
    )?;
    let gathers = context.statistics().gathers;
    ensure(gathers == before.gathers, || format!("{gathers} were enqueued"))?;
    let none = Array::<i32, D>::zeros(&stream, &[0])?;
    same(&nothing.take(&stream, &none, 1, ERROR)?.to_vec(&stream)?, &[], "nothing of nothing")?;
    let gathers = context.statistics().gathers;
    ensure(gathers == before.gathers, || format!("{gathers} were enqueued of nothing"))
}
