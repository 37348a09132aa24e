//! Tests mistakes in gathers and scatters: elements that were never written, with the exact bytes; two elements for
//! one position; work without an order.

use devarray::{
    Array, Context, Error, Order, Result, StreamHandle,
    gather::{OutOfRange, Repeats},
};
use devarray_mock::{Code, MockDevice, Schedule, Site};

const ERROR: OutOfRange = OutOfRange::Error;

fn open() -> Result<(MockDevice, StreamHandle<MockDevice>)> {
    let device = MockDevice::new();
    let stream = Context::new(device.clone())?.stream()?;
    Ok((device, stream))
}

fn codes(device: &MockDevice) -> Vec<(Code, usize)> {
    device.report().findings.iter().map(|finding| (finding.code, finding.bytes.start)).collect()
}

/// The last of four rows has no value when it is taken. Taking it is a mistake, even if it is written later.
#[test]
fn picking_what_nobody_wrote_is_found_of_exactly_that() -> Result<()> {
    for (picked, late, due) in
        [(&[0, 2, 1][..], false, None), (&[1, 3], false, Some(24)), (&[3], true, Some(24))]
    {
        let (device, stream) = open()?;
        let mut x = Array::<u32, _>::uninit(&stream, &[4, 2])?;
        x.view_mut().slice_axis(0, ..3)?.fill(&stream, 1)?;
        let by = Array::from_slice(&stream, &[picked.len()], picked)?;
        let taken = x.take(&stream, &by, 0, ERROR)?;
        if late {
            x.view_mut().fill(&stream, 2)?;
        }
        stream.synchronize()?;
        let due: Vec<_> = due.map(|at| (Code::Uninitialized, at)).into_iter().collect();
        drop(taken);
        assert_eq!(codes(&device), due, "{picked:?}");
    }
    Ok(())
}

#[test]
fn indices_and_values_that_nobody_wrote_are_found() -> Result<()> {
    let (device, stream) = open()?;
    let mut x = Array::<u8, _>::zeros(&stream, &[4])?;
    let by = Array::<i32, _>::uninit(&stream, &[2])?;
    let _ = x.take(&stream, &by, 0, OutOfRange::Wrap)?;
    assert_eq!(device.first_finding().map(|finding| finding.code), Some(Code::Uninitialized));

    let (by, values) = (Array::from_slice(&stream, &[1], &[0])?, Array::<u8, _>::uninit(&stream, &[1])?);
    x.view_mut().put(&stream, &by, &values, 0, ERROR, Repeats::None)?;
    stream.synchronize()?;
    assert_eq!(device.report().findings.len(), 2);
    Ok(())
}

#[test]
fn an_index_that_comes_twice_is_found_where_none_was_promised() -> Result<()> {
    for (by, repeats, due) in [
        ([1, 0, 1], Repeats::None, Some((Code::RepeatedIndex, 2))),
        ([1, 0, -3], Repeats::None, Some((Code::RepeatedIndex, 0))),
        ([1, 0, 1], Repeats::Last, None),
        ([2, 0, 1], Repeats::None, None),
    ] {
        let (device, stream) = open()?;
        let mut x = Array::<u16, _>::zeros(&stream, &[3])?;
        let by = Array::from_slice(&stream, &[3], &by)?;
        let values = Array::from_slice(&stream, &[3], &[7_u16, 8, 9])?;
        x.view_mut().put(&stream, &by, &values, 0, ERROR, repeats)?;
        stream.synchronize()?;
        assert_eq!(codes(&device), due.into_iter().collect::<Vec<_>>());
    }
    Ok(())
}

/// A gather reads its index array when it runs. A write to this array that is not ordered after the gather is a race.
#[test]
fn a_race_on_indices_is_found() -> Result<()> {
    for waits in [true, false] {
        let device = MockDevice::new();
        let context = Context::new(device.clone())?;
        let one = context.stream()?;
        let x = Array::from_slice(&one, &[3], &[5_u8, 6, 7])?;
        let mut by = Array::from_slice(&one, &[2], &[2, 0])?;
        one.synchronize()?;
        let taken = x.take(&one, &by, 0, ERROR)?;
        let two = context.strict_stream()?;
        if waits {
            two.wait(&one.record()?)?;
        }
        let written = by.view_mut().fill(&two, 1);
        match written {
            Ok(()) => assert!(waits),
            Err(error) => assert!(!waits && matches!(error, Error::Hazard { .. }), "{error}"),
        }
        assert_eq!(taken.to_vec(&one)?, [7, 5]);
    }
    Ok(())
}

/// A selection writes its count. A read of the count that is not ordered after the selection is a race. Until the
/// selection has run, the count has no value.
#[test]
fn a_race_on_a_count_is_found() -> Result<()> {
    for waits in [true, false] {
        let device = MockDevice::new();
        let context = Context::new(device.clone())?;
        let (one, two) = (context.stream()?, context.strict_stream()?);
        let x = Array::from_slice(&one, &[3], &[5_u8, 6, 7])?;
        let mask = x.map(&one, |x| x.not_equal(6))?;
        let (mut room, mut count) = (Array::uninit(&one, &[2])?, Array::<i64, _>::uninit(&one, &[])?);
        one.synchronize()?;
        x.view().extract_into(&one, &mask, &mut room.view_mut(), &mut count.view_mut())?;
        if waits {
            two.wait(&one.record()?)?;
        }
        match count.item(&two) {
            Ok(count) => assert!(waits && count == 2),
            Err(error) => assert!(!waits && matches!(error, Error::Hazard { .. }), "{error}"),
        }
        assert_eq!((count.item(&one)?, room.to_vec(&one)?), (2, vec![5, 7]));
        assert_eq!(codes(&device), []);
    }
    Ok(())
}

#[test]
fn a_gather_that_failed_changed_nothing() -> Result<()> {
    let (device, stream) = open()?;
    let mut x = Array::from_slice(&stream, &[2], &[1_u8, 2])?;
    let by = Array::from_slice(&stream, &[2], &[1, 0])?;
    let planned = Error::Driver { backend: "mock", operation: "put", code: 1, name: "planned".to_owned() };
    device.fail_next(Site::Gather, planned.clone());
    let values = Array::from_slice(&stream, &[2], &[8_u8, 9])?;
    let failed = x.view_mut().put(&stream, &by, &values, 0, ERROR, Repeats::None);
    assert_eq!(failed, Err(planned));
    assert_eq!(x.to_vec(&stream)?, [1, 2]);
    x.view_mut().put(&stream, &by, &values, 0, ERROR, Repeats::None)?;
    assert_eq!(x.to_vec(&stream)?, [9, 8]);
    assert_eq!("gather".parse(), Ok(Site::Gather));
    Ok(())
}

/// Two devices of a machine each report their own index errors.
#[test]
fn each_device_tells_of_its_own() -> Result<()> {
    let (device, stream) = open()?;
    let other = Context::new(device.sibling())?.stream()?;
    let x = Array::<u8, _>::zeros(&stream, &[2])?;
    let by = Array::from_slice(&stream, &[1], &[2])?;
    let _ = x.take(&stream, &by, 0, ERROR)?;
    let event = stream.record()?;
    while !event.query()? {}
    other.synchronize()?;
    assert!(matches!(stream.synchronize(), Err(Error::Index { .. })), "a query is no wait");
    Ok(())
}

/// Many elements may be gathered from an array that repeats one element. All operands of a scatter may
/// lie in one memory, like fields of one record.
#[test]
fn what_is_repeated_is_picked_from_and_one_memory_may_have_all_sides() -> Result<()> {
    let (device, stream) = open()?;
    let one = Array::full(&stream, &[1], 7_u8)?;
    let many = one.view().broadcast_to(&[1 << 31, 1 << 31])?;
    let ends = Array::from_slice(&stream, &[3], &[0, (1_i64 << 62) - 1, -(1 << 62)])?;
    assert_eq!(many.take_flat(&stream, &ends, ERROR)?.to_vec(&stream)?, [7; 3]);
    let line = one.view().broadcast_to(&[isize::MAX.unsigned_abs()])?;
    let last = Array::from_slice(&stream, &[2], &[i64::MAX - 1, i64::MIN + 1])?;
    assert_eq!(line.take(&stream, &last, 0, ERROR)?.to_vec(&stream)?, [7; 2]);
    let beyond = Array::from_slice(&stream, &[1], &[i64::MIN])?;
    assert_eq!(line.take(&stream, &beyond, 0, ERROR)?.to_vec(&stream).map_err(|error| error.without_location().to_string()),
        Err("mock: take: index -9223372036854775808 at position 0 is out of range for axis 0 of extent 9223372036854775807".into()));

    // Indices, values and the written elements lie in one allocation.
    let mut all = Array::from_slice(&stream, &[3, 4], &[3_i64, 2, 1, 0, 10, 20, 30, 40, 0, 0, 0, 0])?;
    let mut rows = all.view_mut().axis_chunks(0, 1)?;
    let (Some(indices), Some(values), Some(mut target)) = (rows.next(), rows.next(), rows.next()) else {
        panic!("three rows")
    };
    target.put_along_axis(&stream, &indices, &values, 1, ERROR, Repeats::None)?;
    assert_eq!(all.to_vec(&stream)?[8..], [40, 30, 20, 10]);
    assert_eq!(codes(&device), []);
    Ok(())
}

/// Reads an array of four elements, where a put gave values to some elements only.
type Reader = fn(&StreamHandle<MockDevice>, &mut Array<u32, MockDevice>) -> Result<()>;

fn four_of_which(put: &[i32], read: Reader) -> Result<Vec<(Code, usize)>> {
    let (device, stream) = open()?;
    let mut x = Array::<u32, _>::uninit(&stream, &[4])?;
    let by = Array::from_slice(&stream, &[put.len()], put)?;
    x.view_mut().put(&stream, &by, &Array::full(&stream, &[put.len()], 7)?, 0, ERROR, Repeats::Last)?;
    read(&stream, &mut x)?;
    stream.synchronize()?;
    drop(x);
    Ok(codes(&device))
}

/// If elements that a put left out are read, each way of reading finds exactly these, also after
/// copies. Elements that were put, or written later, have a value. In the twin of each case, all elements
/// are put.
#[test]
fn what_was_not_put_has_no_value() -> Result<()> {
    let missing = |at| Some((Code::Uninitialized, at));
    let cases: [(Reader, Option<(Code, usize)>); 12] = [
        (|stream, x| x.to_vec(stream).map(drop), missing(4)),
        (|stream, x| x.view().slice_axis(0, ..1)?.to_vec(stream).map(drop), None),
        (|stream, x| x.view().slice_axis(0, 2..3)?.to_vec(stream).map(drop), None),
        (|stream, x| x.view().slice_axis(0, 2..)?.to_vec(stream).map(drop), missing(12)),
        (|stream, x| x.view().map(stream, |x| x + 1).map(drop), missing(4)),
        (|stream, x| x.sum(stream, ..).map(drop), missing(4)),
        (|stream, x| x.take(stream, &Array::from_slice(stream, &[2], &[2, 0])?, 0, ERROR).map(drop), None),
        (
            |stream, x| x.take(stream, &Array::from_slice(stream, &[2], &[3, 0])?, 0, ERROR).map(drop),
            missing(12),
        ),
        // The second copy leaves out the first element, and its bytes count from the start of its own memory.
        (
            |stream, x| {
                let copy = x.view().flip(&[0])?.to_contiguous(stream, Order::C)?;
                copy.view().slice_axis(0, ..3)?.to_contiguous(stream, Order::C)?.to_vec(stream).map(drop)
            },
            missing(0),
        ),
        (
            |stream, x| {
                let copy = x.view().flip(&[0])?.to_contiguous(stream, Order::C)?;
                copy.view().slice_axis(0, 1..2)?.to_vec(stream).map(drop)
            },
            None,
        ),
        // Elements that are written after the put have a value, whether by a fill or by another put.
        (
            |stream, x| {
                x.view_mut().slice_axis(0, 1..2)?.fill(stream, 1)?;
                x.view_mut().slice_axis(0, 3..)?.fill(stream, 1)?;
                x.to_vec(stream).map(drop)
            },
            None,
        ),
        (
            |stream, x| {
                let by = Array::from_slice(stream, &[1], &[-3])?;
                x.view_mut().put(stream, &by, &Array::full(stream, &[1], 8)?, 0, ERROR, Repeats::None)?;
                x.to_vec(stream).map(drop)
            },
            missing(12),
        ),
    ];
    for (at, (read, due)) in cases.into_iter().enumerate() {
        assert_eq!(four_of_which(&[2, 0], read)?, due.into_iter().collect::<Vec<_>>(), "{at}");
        assert_eq!(four_of_which(&[1, 2, 3, 0], read)?, [], "{at}");
    }
    Ok(())
}

/// The findings are equal if the put runs last of all, on a device that runs everything as late as
/// possible. An index out of range puts nothing.
#[test]
fn a_put_that_runs_late_and_one_out_of_range_give_what_they_put() -> Result<()> {
    for (put, due) in [(&[0, 1][..], None), (&[0, 5], Some((Code::Uninitialized, 2)))] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let stream = Context::new(device.clone())?.stream()?;
        let mut x = Array::<u16, _>::uninit(&stream, &[2])?;
        let by = Array::from_slice(&stream, &[2], put)?;
        x.view_mut().put(&stream, &by, &Array::full(&stream, &[2], 7)?, 0, ERROR, Repeats::None)?;
        let read = x.to_vec(&stream);
        assert_eq!(read.is_err(), due.is_some(), "{read:?}");
        drop(x);
        assert_eq!(codes(&device), due.into_iter().collect::<Vec<_>>());
    }
    Ok(())
}

/// If a mask selects two of four elements, two of the four positions stay unwritten. If it selects all, none
/// does.
#[test]
fn room_that_a_mask_does_not_fill_has_no_value() -> Result<()> {
    for (least, due) in [(2, Some((Code::Uninitialized, 8))), (0, None)] {
        let (device, stream) = open()?;
        let x = Array::from_slice(&stream, &[4], &[0_u32, 1, 2, 3])?;
        let mask = x.map(&stream, |x| x.greater_equal(least))?;
        let (mut room, mut count) = (Array::uninit(&stream, &[4])?, Array::uninit(&stream, &[])?);
        x.view().extract_into(&stream, &mask, &mut room.view_mut(), &mut count.view_mut())?;
        assert_eq!(count.item(&stream)?, i64::from(4 - least));
        assert_eq!(room.view().slice_axis(0, ..2)?.to_vec(&stream)?, [least, least + 1]);
        assert_eq!(codes(&device), []);
        let _ = room.to_vec(&stream);
        assert_eq!(codes(&device), due.into_iter().collect::<Vec<_>>());
    }
    Ok(())
}
