//! Large host layouts of every order, direction and density go to device layouts of every order and
//! come back: element by element, whether the host or the device reorders them.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, Layout};
use devarray_mock::MockDevice;

const SHAPE: [usize; 3] = [20, 50, 40];

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A host layout whose axes are nested in an order, elements `step` apart, some axes walked
/// backwards.
fn nested(order: [usize; 3], step: usize, backwards: [bool; 3]) -> Layout {
    let (mut strides, mut offset, mut stride) = ([0; 3], 0, step);
    for axis in order.into_iter().rev() {
        strides[axis] = if backwards[axis] { -stride.cast_signed() } else { stride.cast_signed() };
        offset += if backwards[axis] { stride * (SHAPE[axis] - 1) } else { 0 };
        stride *= SHAPE[axis];
    }
    Layout::new(&SHAPE, &strides, offset).unwrap()
}

/// The position of each element, in C order of the indices; shares no arithmetic with the library.
fn positions(layout: &Layout) -> Vec<usize> {
    let mut found = vec![layout.offset().cast_signed()];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        let steps = |at: isize| (0..extent.cast_signed()).map(move |step| at + step * stride);
        found = found.into_iter().flat_map(steps).collect();
    }
    found.into_iter().map(isize::cast_unsigned).collect()
}

/// Uploads and downloads, with the device array's axes in `on` order. Returns the number of copies
/// on the device that the upload took.
fn there_and_back(from: &Layout, on: [usize; 3], is_writable: bool) -> u64 {
    let context = Context::new(MockDevice::builder().judge(false).build()).unwrap();
    let stream = context.stream().unwrap();
    let at = positions(from);
    let values: Vec<u32> = (0..).map(|k: u32| k.wrapping_mul(0x9e37_79b9)).take(from.span().end).collect();
    let mut inverse = [0; 3];
    for (place, &axis) in on.iter().enumerate() {
        inverse[axis] = place.cast_signed();
    }
    let mut a = Array::<u32, _>::zeros(&stream, &on.map(|axis| SHAPE[axis])).unwrap();
    let mut view = a.view_mut().permute(&inverse).unwrap();
    view.copy_from_host(&stream, &values, from).unwrap();
    let copies = context.statistics().copies;
    let expected: Vec<u32> = at.iter().map(|&at| values[at]).collect();
    assert!(view.as_view().to_vec(&stream).unwrap() == expected, "{from:?} to {on:?}");
    if is_writable {
        let mut back = vec![7; values.len()];
        view.as_view().copy_to_host(&stream, &mut back, from).unwrap();
        let mut expected = vec![7; values.len()];
        at.iter().for_each(|&at| expected[at] = values[at]);
        assert!(back == expected, "{on:?} to {from:?}");
    }
    copies
}

#[test]
fn every_order_of_the_host_meets_every_order_of_the_device() {
    for host in ORDERS {
        for on in ORDERS {
            let copies = there_and_back(&nested(host, 1, [false; 3]), on, true);
            // If both sides are dense in one order, the copy goes straight through; otherwise the
            // device reorders the elements.
            assert_eq!(copies > 0, host != on, "{host:?} to {on:?}");
        }
    }
}

#[test]
fn steps_and_reversed_axes_on_the_host() {
    for host in ORDERS {
        for axis in 0..3 {
            let mut backwards = [false; 3];
            backwards[axis] = true;
            there_and_back(&nested(host, 1, backwards), [0, 1, 2], true);
            there_and_back(&nested(host, 3, backwards), [1, 2, 0], true);
        }
    }
}

#[test]
fn sources_that_repeat_elements() {
    let windows = Layout::new(&SHAPE, &[1, 20, 2], 3).unwrap(); // of one row, which they share
    let repeated = Layout::new(&SHAPE, &[1, 20, 0], 0).unwrap();
    for on in ORDERS {
        there_and_back(&windows, on, false);
        there_and_back(&repeated, on, false);
    }
}
