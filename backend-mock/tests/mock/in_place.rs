//! Tests functions whose result replaces an input, through two adoptions of one memory. They are correct if each
//! index reaches the same bytes in both arrays, even if the layouts differ otherwise.
#![allow(unsafe_code)] // adopts one memory twice, on streams whose program sees to order
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, Layout, Result, StreamHandle, function::Operands as _};
use devarray_mock::{Code, MockDevice, Schedule};

/// The bytes of an element.
const ITEM: u64 = 4;

/// A view of the memory: the number of the element at its address, its shape, strides and offset.
type Window<'a> = (usize, &'a [usize], &'a [isize], usize);

struct Case<'a> {
    name: &'a str,
    read: Window<'a>,
    written: Window<'a>,
}

/// Pairs of views with the same elements at the same indices.
const SAME: [Case<'static>; 10] = [
    Case { name: "one layout", read: (0, &[2, 3], &[3, 1], 4), written: (0, &[2, 3], &[3, 1], 4) },
    Case { name: "an inner axis of 1", read: (0, &[3, 1], &[2, 1], 0), written: (0, &[3, 1], &[2, 7], 0) },
    Case { name: "an outer axis of 1", read: (0, &[1, 4], &[4, 1], 1), written: (0, &[1, 4], &[-9, 1], 1) },
    Case {
        name: "only axes of 1",
        read: (0, &[1, 1, 1], &[0, 5, -3], 7),
        written: (0, &[1, 1, 1], &[1, 1, 1], 7),
    },
    Case {
        name: "a step that no array could take",
        read: (0, &[2, 1], &[3, isize::MAX], 0),
        written: (0, &[2, 1], &[3, isize::MIN], 0),
    },
    Case { name: "an axis fewer", read: (0, &[3], &[2], 1), written: (0, &[1, 3], &[11, 2], 1) },
    Case { name: "two axes fewer", read: (0, &[], &[], 5), written: (0, &[1, 1], &[2, 4], 5) },
    Case { name: "two addresses", read: (3, &[2, 2], &[4, 1], 1), written: (0, &[2, 2], &[4, 1], 4) },
    Case {
        name: "two addresses, both backwards",
        read: (0, &[3, 1, 2], &[-4, 9, -1], 11),
        written: (2, &[3, 1, 2], &[-4, -8, -1], 9),
    },
    Case { name: "nothing", read: (0, &[0, 3], &[3, 1], 0), written: (1, &[0, 3], &[1, 7], 2) },
];

/// Pairs of views that share elements at different indices, or share only some elements.
const OTHER: [Case<'static>; 5] = [
    Case { name: "a step further", read: (0, &[3, 1], &[2, 1], 0), written: (0, &[3, 1], &[2, 1], 2) },
    Case { name: "another step", read: (0, &[2, 1], &[2, 1], 0), written: (0, &[2, 1], &[4, 1], 0) },
    Case { name: "transposed", read: (0, &[2, 2], &[2, 1], 0), written: (0, &[2, 2], &[1, 2], 0) },
    Case { name: "backwards", read: (0, &[4], &[-1], 3), written: (0, &[4], &[1], 0) },
    Case { name: "one offset, two addresses", read: (1, &[3], &[1], 2), written: (0, &[3], &[1], 2) },
];

/// Computes `x += 1` in a case, on the numbers from 0 on. Returns the answer, the numbers and the findings.
fn added(case: &Case<'_>, schedule: Schedule) -> (Result<()>, Vec<u32>, Vec<Code>) {
    let device = MockDevice::builder().schedule(schedule).build();
    let context = Context::new(device.clone()).unwrap();
    // SAFETY: all work is on this one stream.
    let stream: StreamHandle<_> = unsafe { context.unchecked_stream() }.unwrap();
    let numbers: Vec<u32> = (0..16).collect();
    let released = Array::from_slice(&stream, &[16], &numbers).unwrap().release(&stream).unwrap();
    stream.synchronize().unwrap();
    let adopted = |(start, shape, strides, offset): Window<'_>| {
        let layout = Layout::new(shape, strides, offset).unwrap();
        let address = released.address() + start as u64 * ITEM;
        // SAFETY: inside the memory, which is allocated until `reclaim`. The overlap is what is
        // tested, and the simulator defines its effect.
        unsafe { Array::<u32, _>::adopt(&stream, address, &layout, ()) }.unwrap()
    };
    let (read, mut written) = (adopted(case.read), adopted(case.written));
    // An array with the shape of the result, to which operands with fewer axes are broadcast.
    let ones = Array::full(&stream, written.shape(), 1_u32).unwrap();
    let answer = (&read, &ones).map_into(&stream, &mut written.view_mut(), |(x, one)| x + one);
    drop((read, written, ones));
    stream.synchronize().unwrap();
    // SAFETY: it is the buffer that was released, and nobody uses it.
    let whole = unsafe { Array::<u32, _>::reclaim(&stream, released) }.unwrap();
    let values = whole.to_vec(&stream).unwrap();
    drop(whole);
    let codes = device.report().findings.iter().map(|finding| finding.code).collect();
    (answer, values, codes)
}

/// The numbers of the elements that a window reaches.
fn reached((start, shape, strides, offset): Window<'_>) -> Vec<usize> {
    let layout = Layout::new(shape, strides, offset).unwrap();
    let mut all = vec![layout.offset()];
    for (&extent, &stride) in shape.iter().zip(strides) {
        let steps = (0..extent.cast_signed()).map(|at| if at == 0 { 0 } else { at * stride });
        let steps: Vec<isize> = steps.collect();
        all = all.iter().flat_map(|at| steps.iter().map(|step| at.wrapping_add_signed(*step))).collect();
    }
    all.into_iter().map(|at| at + start).collect()
}

#[test]
fn a_function_in_place_is_right_whatever_strides_no_step_takes() {
    for case in &SAME {
        let mut due: Vec<u32> = (0..16).collect();
        reached(case.written).into_iter().for_each(|at| due[at] += 1);
        for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy, Schedule::Random] {
            assert_eq!(added(case, schedule), (Ok(()), due.clone(), vec![]), "{}", case.name);
        }
    }
}

/// The twin: a different step, element or address is found.
#[test]
fn a_function_that_reads_what_it_writes_elsewhere_is_found() {
    for case in &OTHER {
        let (answer, _, codes) = added(case, Schedule::Lazy);
        assert_eq!((answer, codes), (Ok(()), vec![Code::Overlap]), "{}", case.name);
    }
}
