//! Findings in programs that compute: values that were never written, missing waits, failing calls.
#![allow(unsafe_code)] // opens unchecked streams, to make the mistakes that are to be found
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, ErasedArray, Error, Layout, LayoutError, Order, Result, StreamHandle,
    function::{
        DeviceFunction, ElementType, Function, Operands, ReduceOperation, Reduction, Scan, ScanOperation,
    },
    gather::OutOfRange,
};
use devarray_mock::{Code, Explore, MockDevice, Site, Wrong};

fn codes(device: &MockDevice) -> Vec<Code> {
    device.finish();
    device.report().findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_function_of_what_was_never_given_a_value_is_found() {
    for written in [false, true] {
        let device = MockDevice::new();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        let mut x = Array::<u32, _>::uninit(&stream, &[8]).unwrap();
        x.view_mut().slice_axis(0, ..7).unwrap().fill(&stream, 1).unwrap();
        if written {
            x.view_mut().slice_axis(0, 7..).unwrap().fill(&stream, 1).unwrap();
        }
        let y = x.map(&stream, |x| x + 1).unwrap();
        drop(y.to_vec(&stream).unwrap());
        assert_eq!(codes(&device).contains(&Code::Uninitialized), !written, "{}", device.report());
    }
}

#[test]
fn a_function_of_the_part_that_has_values_is_not() {
    let device = MockDevice::new();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let mut x = Array::<u32, _>::uninit(&stream, &[8]).unwrap();
    x.view_mut().index(&devarray::ix![..; 2]).unwrap().fill(&stream, 1).unwrap();
    drop(x.index(&devarray::ix![..; 2]).unwrap().map(&stream, |x| x + 1).unwrap().to_vec(&stream).unwrap());
    assert_eq!(codes(&device), []);
}

/// One memory is adopted twice, which the borrow checker cannot see. An operation that reads bytes that it writes is
/// refused; on an unchecked stream, it is a finding.
#[test]
fn what_reads_what_it_writes_is_refused_or_found_unless_it_is_a_function_in_place() {
    type Bytes = ErasedArray<MockDevice>;
    type Call = fn(&StreamHandle<MockDevice>, &Bytes, &mut Bytes) -> Result<()>;
    let map: Call = |stream, from, to| {
        let next = Function::parse("x0 + 1", &[ElementType::U8], &[])?;
        next.apply_into(stream, &[from.view()], &[], &mut to.view_mut())
    };
    let calls: [(Call, bool); 4] = [
        (map, true),
        (
            |stream, from, to| {
                let running = Scan::new(ScanOperation::Maximum, 0);
                let identity = Function::parse("x0", &[ElementType::U8], &[])?;
                identity.scan_into(stream, &[from.view()], &[], running, &mut to.view_mut())
            },
            false,
        ),
        (
            |stream, from, to| {
                let indices = Array::from_slice(stream, &[8], &[7_i64, 6, 5, 4, 3, 2, 1, 0])?;
                let (from, mut to) = (from.view(), to.view_mut());
                let from = devarray::ArrayView::<u8, _>::from_erased(from)?;
                let mut to = devarray::ArrayViewMut::<u8, _>::from_erased(to.reborrow())?;
                from.take_into(stream, &indices, 0, OutOfRange::Error, &mut to)
            },
            false,
        ),
        (|stream, from, to| to.view_mut().copy_from(stream, &from.view()), false),
    ];
    for (call, may_be_in_place, checked) in calls.into_iter().flat_map(|(c, p)| [(c, p, true), (c, p, false)])
    {
        for (start, is_wrong) in [(8, false), (0, !may_be_in_place), (1, true), (7, true)] {
            let device = MockDevice::new();
            let context = Context::new(device.clone()).unwrap();
            // SAFETY: all work is on this one stream.
            let unchecked = || unsafe { context.unchecked_stream() };
            let stream = if checked { context.stream() } else { unchecked() }.unwrap();
            let released = Array::<u8, _>::zeros(&stream, &[16]).unwrap().release(&stream).unwrap();
            let window = |start: usize| {
                let layout = Layout::new(&[8], &[1], start).unwrap();
                // SAFETY: inside the memory, which is not freed; the test examines whether both share bytes.
                unsafe { ErasedArray::adopt(&stream, released.address(), &layout, 1, ()) }.unwrap()
            };
            let answer = call(&stream, &window(0), &mut window(start));
            let refused = Err(Error::from(LayoutError::SharedMemory));
            assert_eq!(answer, if is_wrong && checked { refused } else { Ok(()) }, "{start}");
            let due = if is_wrong && !checked { vec![Code::Overlap] } else { vec![] };
            assert_eq!(codes(&device), due, "{start}: {}", device.report());
        }
    }
}

/// Other code lends one memory twice: for the elements that a mask selects, and for their count.
#[test]
fn a_count_among_the_elements_that_are_written_is_refused() {
    for (start, is_wrong) in [(3, false), (0, true), (2, true)] {
        let device = MockDevice::new();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        let x = Array::from_slice(&stream, &[3], &[5_i64, 6, 7]).unwrap();
        let mask = x.map(&stream, |x| x.not_equal(6)).unwrap();
        let released = Array::<i64, _>::zeros(&stream, &[4]).unwrap().release(&stream).unwrap();
        let window = |shape: &[usize], start: usize| {
            let layout = Layout::contiguous(shape, Order::C).unwrap();
            let layout = Layout::new(shape, layout.strides(), start).unwrap();
            // SAFETY: inside the memory, which is not freed; the test examines whether both share bytes.
            unsafe { Array::<i64, _>::adopt(&stream, released.address(), &layout, ()) }.unwrap()
        };
        let (mut room, mut count) = (window(&[3], 0), window(&[], start));
        let answer = x.view().extract_into(&stream, &mask, &mut room.view_mut(), &mut count.view_mut());
        assert_eq!(answer, if is_wrong { Err(LayoutError::SharedMemory.into()) } else { Ok(()) }, "{start}");
        if !is_wrong {
            assert_eq!((room.to_vec(&stream), count.item(&stream)), (Ok(vec![5, 7, 0]), Ok(2)));
        }
        assert_eq!(codes(&device), []);
    }
}

/// Enqueues a copy on one stream and a function on another, in either order.
fn relay(device: MockDevice, waits: bool, function_first: bool) {
    let context = Context::new(device).unwrap();
    // SAFETY: deliberately not ordered if `waits` is false; the simulator defines the effect.
    let one = unsafe { context.unchecked_stream() }.unwrap();
    // SAFETY: as above.
    let two = unsafe { context.unchecked_stream() }.unwrap();
    let x = Array::full(&one, &[16], 1_u32).unwrap();
    let mut y = Array::full(&one, &[16], 2_u32).unwrap();
    let mut z = Array::full(&one, &[16], 3_u32).unwrap();
    one.synchronize().unwrap();
    let compute = |y: &mut Array<u32, MockDevice>| (&x, 5).map_into(&two, &mut y.view_mut(), |(x, k)| x * k);
    if function_first {
        compute(&mut y).unwrap();
        if waits {
            one.wait(&two.record().unwrap()).unwrap();
        }
        z.view_mut().copy_from(&one, &y.view()).unwrap();
    } else {
        z.view_mut().copy_from(&one, &y.view()).unwrap();
        if waits {
            two.wait(&one.record().unwrap()).unwrap();
        }
        compute(&mut y).unwrap();
    }
    // The arrays' own stream frees them.
    one.wait(&two.record().unwrap()).unwrap();
    let due = if function_first { 5 } else { 2 };
    let found = z.to_vec(&one).unwrap();
    assert!(!waits || found == [due; 16], "{found:?}");
}

#[test]
fn a_race_of_a_function_and_a_copy_is_found_and_the_wait_ends_it() {
    for function_first in [false, true] {
        let failure = Explore::new().run(|device| relay(device, false, function_first)).unwrap_err();
        let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
        assert_eq!(finding.code, Code::Race, "{failure}");
        assert!(failure.to_string().contains("map"), "the function is named: {failure}");
        assert!(Explore::new().run(|device| relay(device, true, function_first)).is_ok());
    }
}

fn refused(site: Site) -> Error {
    Error::Driver { backend: "mock", operation: site.name(), code: 1, name: "planned".to_owned() }
}

/// Makes a call into existing elements that fails once, and compares the elements before and after.
fn fails_once(
    site: Site,
    call: impl Fn(&StreamHandle<MockDevice>, &ErasedArray<MockDevice>, &mut ErasedArray<MockDevice>) -> Result<()>,
) {
    let device = MockDevice::new();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let x = ErasedArray::from_bytes(&stream, &[2, 2], 1, &[1, 2, 3, 4]).unwrap();
    let mut y = ErasedArray::from_bytes(&stream, &[2], 8, &[9; 16]).unwrap();
    stream.synchronize().unwrap();
    device.fail_next(site, refused(site));
    assert_eq!(call(&stream, &x, &mut y).unwrap_err(), refused(site));
    assert_eq!(y.view().to_bytes(&stream).unwrap(), [9; 16], "{site:?}");
    call(&stream, &x, &mut y).unwrap();
    let sums = [3_u64, 7].map(u64::to_le_bytes).concat();
    assert_eq!(y.view().to_bytes(&stream).unwrap(), sums, "{site:?}");
    assert_eq!(codes(&device), []);
}

#[test]
fn a_call_that_failed_changed_nothing_and_says_which_it_was() {
    let sum = Reduction::new(ReduceOperation::Sum).axes(&[1]);
    fails_once(Site::Reduce, |stream, x, y| {
        let identity = Function::parse("x0", &[ElementType::U8], &[])?;
        identity.reduce_into(stream, &[x.view()], &[], &sum, &mut y.view_mut())
    });
    fails_once(Site::Map, |stream, x, y| {
        let pair = Function::parse("cast(x0 + x1, u64)", &[ElementType::U8; 2], &[])?;
        let column = |at: isize| x.view().slice_axis(1, at..at + 1)?.squeeze_axes(&[1]);
        pair.apply_into(stream, &[column(0)?, column(1)?], &[], &mut y.view_mut())
    });
}
