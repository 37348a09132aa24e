//! Functions on arrays through the public API, on the simulator.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)] // helpers of tests; small numbers

use std::{
    cell::{Cell, RefCell},
    sync::mpsc,
    thread,
};

use devarray::{
    Array, Bool, Context, Error, LayoutError, NdLayout, Order, StreamHandle,
    function::{Expression, FunctionErrorKind, Operands},
    ix, math,
};
use devarray_mock::MockDevice;

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

fn numbers(stream: &StreamHandle<MockDevice>, shape: &[usize]) -> Array<f32, MockDevice> {
    let len = shape.iter().product::<usize>();
    let data: Vec<f32> = (0..u16::try_from(len).unwrap()).map(f32::from).collect();
    Array::from_slice(stream, shape, &data).unwrap()
}

#[test]
fn operators_take_literals_on_either_side() {
    let s = stream();
    let x = numbers(&s, &[4]);
    let y = x.map(&s, |x| 10.0 - x * 2.0 + 1.0 / (x + 1.0)).unwrap();
    let expected: Vec<f32> = (0..4_u8).map(f32::from).map(|x| 10.0 - x * 2.0 + 1.0 / (x + 1.0)).collect();
    assert_eq!(y.to_vec(&s).unwrap(), expected);
}

#[test]
fn operands_broadcast_and_may_have_any_strides() {
    let s = stream();
    let (x, row) = (numbers(&s, &[3, 4]), numbers(&s, &[4]));
    let column = numbers(&s, &[3, 1]);
    let got =
        (&x.flip(&[0, 1]).unwrap(), &row, &column, 100.0).map(&s, |(x, r, c, k)| x * k + r * c).unwrap();
    let expected: Vec<f32> =
        (0..12_u8).map(|k| f32::from(11 - k) * 100.0 + f32::from(k % 4) * f32::from(k / 4)).collect();
    assert_eq!(got.to_vec(&s).unwrap(), expected);
}

#[test]
fn a_result_keeps_the_order_of_its_input() {
    let s = stream();
    let x = numbers(&s, &[3, 4]);
    let y = x.transpose().map(&s, |x| x + 1.0).unwrap();
    assert!(y.is_f_contiguous() && y.shape() == [4, 3]);
    let back = y.transpose().to_vec(&s).unwrap();
    assert_eq!(back, (1..13_u8).map(f32::from).collect::<Vec<_>>());
}

#[test]
fn a_result_may_be_a_view_whose_gaps_are_left_alone() {
    let s = stream();
    let x = numbers(&s, &[2, 3]);
    let mut out = Array::full(&s, &[4, 6], -1.0_f32).unwrap();
    let mut view = out.view_mut().index(&ix![1..3, ..; -2]).unwrap();
    (&x,).map_into(&s, &mut view, |(x,)| x * x).unwrap();
    let got = out.to_vec(&s).unwrap();
    for (at, &value) in got.iter().enumerate() {
        let (row, column) = (at / 6, at % 6);
        let inside = (1..3).contains(&row) && column % 2 == 1;
        let x = (row.saturating_sub(1) * 3 + (5 - column) / 2) as f32;
        assert_eq!(value, if inside { x * x } else { -1.0 }, "{row} {column}");
    }
}

#[test]
fn in_place_and_with_others() {
    let s = stream();
    let mut x = numbers(&s, &[5]);
    x.view_mut().map_in_place(&s, |x| x * x).unwrap();
    let y = numbers(&s, &[1]);
    x.view_mut().update(&s, (&y, 2.0), |x, (y, k)| x - y * k - k).unwrap();
    assert_eq!(x.to_vec(&s).unwrap(), [-2.0, -1.0, 2.0, 7.0, 14.0]);
}

#[test]
fn truth_values_select() {
    let s = stream();
    let x = numbers(&s, &[4]);
    let small = math::less(&s, &x, 2.0).unwrap();
    assert_eq!(small.to_vec(&s).unwrap(), [true, true, false, false].map(Bool::from));
    let y = x.map(&s, |x| (x.less(2.0) | x.equal(3.0)).select(-x, 7.0)).unwrap();
    assert_eq!(y.to_vec(&s).unwrap(), [0.0, -1.0, 7.0, -3.0]);
}

#[test]
fn positions_count_along_axes_of_the_result() {
    let s = stream();
    let x = Array::<i64, _>::zeros(&s, &[2, 3]).unwrap();
    let at = |axis| Expression::position(axis);
    let y = x.transpose().map(&s, |x| x + at(0) * 10 + at(1)).unwrap();
    assert_eq!(y.view().to_contiguous(&s, Order::C).unwrap().to_vec(&s).unwrap(), [0, 1, 10, 11, 20, 21]);
    let error = x.map(&s, |x| x + at(2)).unwrap_err();
    assert_eq!(error, Error::from(LayoutError::AxisOutOfRange { axis: 2, rank: 2 }));
}

#[test]
fn casts_are_explicit() {
    let s = stream();
    let x = numbers(&s, &[3]);
    let y = x.map(&s, |x| (x * 1.5).cast::<u8>() + 250).unwrap();
    assert_eq!(y.to_vec(&s).unwrap(), [250, 251, 253]);
    let bits: Array<u32, _> = x.map(&s, |x| x.bitcast()).unwrap();
    assert_eq!(bits.to_vec(&s).unwrap(), [0.0_f32, 1.0, 2.0].map(f32::to_bits));
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let s = stream();
    let (x, y) = (numbers(&s, &[3, 4]), numbers(&s, &[3]));
    let refused = math::add(&s, &x, &y).map(drop).unwrap_err();
    assert_eq!(refused.without_location().to_string(), "cannot broadcast shape [3] to [3, 4]");
    // The error names shapes of operands, not the shape to which some of them broadcast.
    let (wide, long) = (numbers(&s, &[1, 1, 2]), numbers(&s, &[1, 2, 3]));
    let refused = (&numbers(&s, &[2, 1]), &wide, &long).map(&s, |(x, y, z)| x + y + z).map(drop);
    let refused = refused.unwrap_err().without_location();
    assert_eq!(refused.to_string(), "cannot broadcast shape [1, 2, 3] to [1, 1, 2]");
    let mut small = numbers(&s, &[4]);
    let into = math::add_into(&s, &x, 1.0, &mut small.view_mut());
    assert!(matches!(into, Err(Error::Layout(LayoutError::ShapeMismatch { .. }, ..))));
}

#[test]
fn an_expression_that_escapes_its_closure_is_an_error() {
    let s = stream();
    let x = numbers(&s, &[3]);
    let mut kept = None;
    let _ = x.map(&s, |x| *kept.insert(x) + 1.0).unwrap();
    let Err(Error::Function(error)) = x.map(&s, |x| x + kept.unwrap()) else { panic!("accepted") };
    assert_eq!(error.kind(), FunctionErrorKind::Type);
    let Err(Error::Function(_)) = x.map(&s, |_| kept.unwrap()) else { panic!("accepted") };
    let _outside_of_any = kept.unwrap() + 1.0;
}

#[test]
fn a_closure_that_panics_leaves_nothing_behind() {
    let s = stream();
    let x = numbers(&s, &[3]);
    let panicking = || x.map(&s, |x| if true { panic!("on purpose") } else { x });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err());
    assert_eq!(x.map(&s, |x| x + 1.0).unwrap().to_vec(&s).unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn functions_inside_functions_do_not_mix() {
    let s = stream();
    let (x, y) = (numbers(&s, &[2]), numbers(&s, &[2]));
    let mut inner = None;
    let outer = x
        .map(&s, |x| {
            inner = Some(y.map(&s, |y| y * 3.0).unwrap());
            x + 1.0
        })
        .unwrap();
    assert_eq!(outer.to_vec(&s).unwrap(), [1.0, 2.0]);
    assert_eq!(inner.unwrap().to_vec(&s).unwrap(), [0.0, 3.0]);
}

#[test]
fn sixteen_arrays_fit_and_seventeen_are_an_error() {
    let s = stream();
    let x = numbers(&s, &[2]);
    let a = || &x;
    let all = (a(), a(), a(), a(), a(), a(), a(), a(), a(), a(), a(), a(), a(), a(), a(), a());
    let sum = all.map(&s, |(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)| {
        a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p
    });
    assert_eq!(sum.unwrap().to_vec(&s).unwrap(), [0.0, 16.0]);
    let mut y = numbers(&s, &[2]);
    let one_more = y.view_mut().update(&s, all, |y, (a, ..)| y + a);
    let Err(Error::Function(error)) = one_more else { panic!("accepted") };
    assert_eq!(error.kind(), FunctionErrorKind::Size);
}

#[test]
fn empty_arrays_and_scalars_alone() {
    let s = stream();
    let x = Array::<f32, _>::zeros(&s, &[0, 3]).unwrap();
    let y = (&x, &numbers(&s, &[3])).map(&s, |(x, y)| x + y).unwrap();
    assert_eq!(y.shape(), [0, 3]);
    let z = (2.0_f32,).map(&s, |(k,)| k * 3.0).unwrap();
    assert_eq!((z.shape(), z.to_vec(&s).unwrap()), (&[][..], vec![6.0]));
}

/// A closure is asked at each call: it may write something else, and earlier functions are found
/// again.
#[test]
fn a_closure_may_write_something_else_each_time() {
    let s = stream();
    let x = numbers(&s, &[3]);
    // More functions than a thread remembers, three times over, in two orders.
    let calls = Cell::new(0_u8);
    for nth in (0..40).chain((0..40).rev()).chain([7, 7, 8]) {
        calls.set(nth);
        let impure = |x: Expression<f32>| {
            let literal = f32::from(calls.get());
            if calls.get().is_multiple_of(2) { x * literal } else { x + literal }
        };
        let k = f32::from(nth);
        let expected = [0.0, 1.0, 2.0].map(|x| if nth % 2 == 0 { x * k } else { x + k });
        assert_eq!(x.map(&s, impure).unwrap().to_vec(&s).unwrap(), expected, "call {nth}");
    }
    // Equal nodes with another result, or with inputs of other types, are other functions.
    let second = |pick: bool| x.map(&s, |x| [x + 1.0, x * 2.0][usize::from(pick)]).unwrap();
    assert_eq!(second(false).to_vec(&s).unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(second(true).to_vec(&s).unwrap(), [0.0, 2.0, 4.0]);
    let narrow = Array::from_slice(&s, &[2], &[200_u8, 100]).unwrap();
    let wide = Array::from_slice(&s, &[2], &[200_u16, 100]).unwrap();
    assert_eq!((&narrow, &narrow).map(&s, |(x, y)| x + y).unwrap().to_vec(&s).unwrap(), [144, 200]);
    assert_eq!((&wide, &wide).map(&s, |(x, y)| x + y).unwrap().to_vec(&s).unwrap(), [400, 200]);
}

/// Writes a function when its thread ends, after this library's own values of the thread are gone.
struct AtTheEnd(Array<f32, MockDevice>, StreamHandle<MockDevice>, mpsc::Sender<devarray::Result<Vec<f32>>>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let Self(array, stream, told) = self;
        let added = array.map(stream, |x| x + 1.0).and_then(|added| added.to_vec(stream));
        told.send(added).unwrap();
    }
}

thread_local!(static LAST: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) });

#[test]
fn a_function_written_when_a_thread_ends_is_an_error_or_right() {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        // This is destroyed after the values that are created later.
        LAST.with(|_| ());
        let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
        let array = Array::from_slice(&stream, &[3], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(array.map(&stream, |x| x * 2.0).unwrap().to_vec(&stream).unwrap(), [2.0, 4.0, 6.0]);
        LAST.set(Some(AtTheEnd(array, stream, tell)));
    });
    thread.join().unwrap();
    match told.recv().unwrap() {
        Ok(added) => assert_eq!(added, [2.0, 3.0, 4.0]),
        Err(refused) => assert!(refused.to_string().contains("the thread ends"), "{refused}"),
    }
}
