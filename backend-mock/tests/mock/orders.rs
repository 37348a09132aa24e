//! Tests sorts, sums by index and products beside other work. Unordered work on the same elements is found, for each
//! operand of each call.
#![allow(unsafe_code)] // opens unchecked streams, to leave out the waits on purpose

use devarray::{Array, Context, Result, StreamHandle, order::Side};
use devarray_mock::{Code, MockDevice, Schedule};

type Stream = StreamHandle<MockDevice>;
type Elements = Array<u32, MockDevice>;

/// The arguments of the calls.
struct Given {
    /// A matrix of 4 by 4; each element is below 4.
    x: Elements,
    /// Another such matrix.
    y: Elements,
    /// Four numbers in ascending order, each both a row and an offset of rows.
    steps: Elements,
}

impl Given {
    fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            x: Array::from_slice(stream, &[4, 4], &[3, 1, 2, 0, 1, 1, 3, 2, 0, 0, 3, 1, 2, 3, 1, 2])?,
            y: Array::from_slice(stream, &[4, 4], &[2; 16])?,
            steps: Array::from_slice(stream, &[4], &[0, 1, 2, 3])?,
        })
    }
}

/// A call, and one of the arrays that it uses.
struct Case {
    name: &'static str,
    used: fn(&mut Given) -> &mut Elements,
    call: fn(&Stream, &mut Given) -> Result<()>,
}

macro_rules! cases {
    ($($name:literal $used:ident: |$stream:ident, $given:ident| $call:expr;)*) => {
        [$(Case {
            name: concat!($name, ", ", stringify!($used)),
            used: |given| &mut given.$used,
            call: |$stream, $given| $call.map(drop),
        }),*]
    };
}

fn cases() -> [Case; 18] {
    cases! {
        "sort" x: |s, given| given.x.sort(s, 0);
        "argsort" x: |s, given| given.x.argsort(s, 1);
        "topk" x: |s, given| given.x.topk(s, 2, 0);
        "search_sorted" steps: |s, given| given.steps.search_sorted(s, &given.x, Side::Left);
        "search_sorted" x: |s, given| given.steps.search_sorted(s, &given.x, Side::Right);
        "bincount" x: |s, given| given.x.bincount(s, 4);
        "bincount_weighted" y: |s, given| given.x.bincount_weighted(s, &given.y, 4);
        "histogram" steps: |s, given| given.x.histogram(s, &given.steps);
        "put_add" x: |s, given| given.y.view_mut().put_add(s, 0, &given.steps, &given.x);
        "put_add" y: |s, given| given.y.view_mut().put_add(s, 0, &given.steps, &given.x);
        "put_maximum" steps: |s, given| given.y.view_mut().put_maximum(s, 1, &given.steps, &given.x);
        "segment_sum" x: |s, given| given.x.segment_sum(s, &given.steps);
        "segment_sum" steps: |s, given| given.x.segment_sum(s, &given.steps);
        "matmul" x: |s, given| given.x.matmul(s, &given.y);
        "matmul" y: |s, given| given.x.matmul(s, &given.y);
        "matmul_into" y: |s, given| given.x.matmul_into(s, &given.x.transpose(), &mut given.y);
        "sort_into" y: |s, given| given.x.sort_into(s, 0, &mut given.y);
        "unique_into" x: |s, given| {
            let (mut rows, mut count) = (Array::zeros(s, &[16])?, Array::zeros(s, &[])?);
            given.x.view().unique_into(s, &mut rows, &mut count)
        };
    }
}

/// The findings if another stream fills an array that a call uses, before or after the call.
fn codes(case: &Case, fills_first: bool, waits: bool) -> Result<Vec<Code>> {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone())?;
    // SAFETY: the test uses elements on two streams without a wait, whose effect the simulator defines.
    let open = || unsafe { context.unchecked_stream() };
    let (one, two): (Stream, Stream) = (open()?, open()?);
    let mut given = Given::new(&one)?;
    one.synchronize()?;
    let fill = |given: &mut Given| (case.used)(given).view_mut().fill(&one, 1);
    let wait = |first: &Stream, second: &Stream| if waits { second.wait(&first.record()?) } else { Ok(()) };
    if fills_first {
        fill(&mut given)?;
        wait(&one, &two)?;
        (case.call)(&two, &mut given)?;
    } else {
        (case.call)(&two, &mut given)?;
        wait(&two, &one)?;
        fill(&mut given)?;
    }
    one.synchronize()?;
    two.synchronize()?;
    Ok(device.report().findings.iter().map(|finding| finding.code).collect())
}

#[test]
fn a_call_that_waits_has_no_race() -> Result<()> {
    for case in cases() {
        for fills_first in [true, false] {
            assert_eq!(codes(&case, fills_first, true)?, [], "{}, fills first: {fills_first}", case.name);
        }
    }
    Ok(())
}

/// The twin: the same calls without the wait.
#[test]
fn a_call_that_does_not_wait_races() -> Result<()> {
    for case in cases() {
        for fills_first in [true, false] {
            let found = codes(&case, fills_first, false)?;
            assert_eq!(found, [Code::Race], "{}, fills first: {fills_first}", case.name);
        }
    }
    Ok(())
}

/// Start and end of the bytes of each finding of a program, all of bytes without a value.
fn missing(program: impl FnOnce(&Stream) -> Result<()>) -> Result<Vec<(usize, usize)>> {
    let device = MockDevice::new();
    program(&Context::new(device.clone())?.stream()?)?;
    let findings = device.report().findings;
    assert!(findings.iter().all(|finding| finding.code == Code::Uninitialized), "{findings:?}");
    Ok(findings.into_iter().map(|finding| (finding.bytes.start, finding.bytes.end)).collect())
}

/// Finds 3 distinct elements in room for 10, into new memory or over zeros.
fn distinct(stream: &Stream, is_new: bool) -> Result<Elements> {
    let x = Array::from_slice(stream, &[5], &[7_u32, 1, 7, 4, 1])?;
    let mut rows = if is_new { Array::uninit(stream, &[10])? } else { Array::zeros(stream, &[10])? };
    let mut count = Array::uninit(stream, &[])?;
    x.view().unique_into(stream, &mut rows, &mut count)?;
    assert_eq!(count.item(stream)?, 3);
    Ok(rows)
}

/// The rows behind the counted ones never got a value, also where they are copied to.
#[test]
fn only_counted_rows_get_a_value() -> Result<()> {
    let found = missing(|stream| distinct(stream, true)?.to_vec(stream).map(drop))?;
    assert_eq!(found, [(12, 40)]);
    let found = missing(|stream| {
        let rows = distinct(stream, true)?;
        let mut copied = Array::zeros(stream, &[10])?;
        copied.view_mut().copy_from(stream, &rows.flip(&[0])?)?;
        copied.slice_axis(0, 7..)?.to_vec(stream)?;
        copied.map(stream, |x| x + 1).map(drop)
    })?;
    assert_eq!(found, [(0, 28)]);
    // 4 positions of 2 axes, in room for 6.
    let found = missing(|stream| {
        let x = Array::from_slice(stream, &[2, 3], &[1_u8, 0, 1, 1, 0, 1])?;
        let (mut rows, mut count) = (Array::uninit(stream, &[6, 2])?, Array::uninit(stream, &[])?);
        x.view().nonzero_into(stream, &mut rows, &mut count)?;
        rows.slice_axis(0, ..4)?.to_vec(stream)?;
        rows.to_vec(stream).map(drop)
    })?;
    assert_eq!(found, [(64, 96)]);
    Ok(())
}

/// The twin: nothing is found in the counted rows, in rows that had a value, or that get one later.
#[test]
fn counted_rows_and_others_with_a_value_are_right() -> Result<()> {
    let found = missing(|stream| {
        assert_eq!(distinct(stream, true)?.slice_axis(0, ..3)?.to_vec(stream)?, [1, 4, 7]);
        assert_eq!(distinct(stream, false)?.to_vec(stream)?, [1, 4, 7, 0, 0, 0, 0, 0, 0, 0]);
        let mut rows = distinct(stream, true)?;
        rows.view_mut().slice_axis(0, 3..)?.fill(stream, 9)?;
        assert_eq!(rows.to_vec(stream)?, [1, 4, 7, 9, 9, 9, 9, 9, 9, 9]);
        Ok(())
    })?;
    assert_eq!(found, []);
    Ok(())
}
