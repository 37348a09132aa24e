//! Shape errors and index errors carry the line of the program's call, through every layer of the
//! library: typed and erased arrays, views, joins, reductions, gathers, host memory.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::panic::Location;

use devarray::{
    Array, ArrayView, CallSite, Context, ErasedArray, Error, HostArray, Layout, LayoutError, MappedArray,
    Order, Pad, Result, StreamHandle,
    function::{DeviceFunction, Function, Operands},
    gather::{OutOfRange, Repeats},
    math, random,
};
use devarray_mock::MockDevice;

type Stream = StreamHandle<MockDevice>;

const ERROR: OutOfRange = OutOfRange::Error;

fn stream() -> Stream {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

/// The line that an error reports.
#[track_caller]
fn line_of(error: &Error, what: &str) -> u32 {
    let at = error.location().unwrap_or_else(|| panic!("{what}: no line: {error}"));
    assert_eq!(at.file(), Location::caller().file(), "{what}: {error}");
    let (text, bare) = (error.to_string(), error.clone().without_location());
    assert_eq!(text, format!("{bare}, at {at}"), "{what}");
    assert_eq!(bare.location(), None);
    assert_eq!(*error, bare, "the line is no part of what went wrong");
    at.line()
}

/// Each call fails with a shape error of its own line; the calls follow each other.
macro_rules! fail {
    ($($call:expr;)*) => {
        let mut last = line!();
        $(
            let error: Error = $call.map(drop).expect_err(stringify!($call)).into();
            assert!(matches!(error, Error::Layout(..)), "{}: {error}", stringify!($call));
            let line = line_of(&error, stringify!($call));
            assert!((last + 1..last + 3).contains(&line), "{}: {error}, not after {last}", stringify!($call));
            last = line;
        )*
        assert!(last < line!() + 100);
    };
}

#[test]
fn calls_on_arrays_and_views_tell_their_line() {
    let s = &stream();
    let (shape, data) = ([2, 3], [0, 1, 2, 3, 4, 5]);
    let mut a = Array::from_slice(s, &shape, &data).unwrap();
    let b = Array::<i32, _>::zeros(s, &[3, 2]).unwrap();
    let mut host = vec![0; 5];
    fail! {
        Array::<u64, MockDevice>::zeros(s, &[usize::MAX, 2]);
        Array::<u64, MockDevice>::full(s, &[usize::MAX, 2], 7);
        Array::from_slice(s, &[4], &data);
        Array::<f64, MockDevice>::arange(s, 0.0, f64::NAN, 1.0);
        a.permute(&[0, 0]);
        a.swap_axes(0, 2);
        a.flip(&[5]);
        a.slice_axis(4, ..1);
        a.expand_dims(7);
        a.squeeze_axes(&[0]);
        a.reshape(&[4, 2], Order::C);
        a.broadcast_to(&[5]);
        a.split(0);
        a.array_split(9, 5);
        a.diagonal(0, 0, 0);
        a.axis_iter(4);
        a.axis_chunks(0, 0);
        a.unstack(3);
        a.sliding_windows(0, 9);
        a.to_contiguous(s, Order::C).and_then(|a| a.view().permute(&[1]).map(drop));
        a.view().reshape(&[7], Order::C);
        a.view().transpose().ravel(Order::C);
        a.view_mut().permute(&[0]);
        a.view_mut().slice_axis(9, ..);
        a.view_mut().copy_from(s, &b.view());
        a.view_mut().copy_from_slice(s, &[1]);
        a.view().copy_to_slice(s, &mut host);
        a.view().reinterpret::<u64>();
        a.to_host(s).and_then(|_| a.view().flip(&[3]).map(drop));
    }
}

#[test]
fn erased_arrays_tell_their_line() {
    let s = &stream();
    let erased = Array::from_slice(s, &[2, 3], &[0, 1, 2, 3, 4, 5]).unwrap().into_erased();
    let mut other = Array::<i32, _>::zeros(s, &[3]).unwrap().into_erased();
    let wide = Layout::contiguous(&[9], Order::C).unwrap();
    fail! {
        erased.permute(&[0]);
        erased.view().reshape(&[4], Order::C);
        erased.view_of(&wide);
        ArrayView::<u8, _>::from_erased(erased.view());
        other.view_mut().copy_from(s, &erased.view());
        other.view_mut().slice_axis(3, ..);
        ErasedArray::from_bytes(s, &[3], 4, &[0; 3]);
    }
}

#[test]
fn joins_reductions_and_functions_tell_their_line() {
    let s = &stream();
    let a = Array::<f32, _>::zeros(s, &[2, 3]).unwrap();
    let b = Array::<f32, _>::zeros(s, &[4]).unwrap();
    let mut to = Array::<f32, _>::zeros(s, &[5]).unwrap();
    let add = Function::parse("x0 + x1", &[devarray::function::ElementType::F32; 2], &[]).unwrap();
    fail! {
        Array::concatenate(s, &[a.view(), b.view()], 0);
        Array::stack(s, &[a.view(), b.view()], 0);
        to.view_mut().concatenate_from(s, &[a.view(), b.view()], 0);
        ErasedArray::concatenate(s, &[a.as_erased().view(), b.as_erased().view()], 0);
        a.view().pad(s, &[(0, 1); 3], Pad::Constant(0.0));
        a.view().roll(s, &[1], &[7]);
        a.view().repeat(s, 2, 5);
        a.sum(s, 2);
        a.view().max(s, -3);
        a.mean(s, &[0, 0][..]);
        a.argmax(s, 5);
        a.cumsum(s, 4);
        (&a, &b).map(s, |(x, y)| x + y);
        (&a,).map_into(s, &mut to.view_mut(), |(x,)| x + 1.0);
        add.apply(s, &[a.as_erased().view(), b.as_erased().view()], &[]);
        math::dot(s, &a, &b);
        math::softmax(s, &a, 2);
        random::uniform::<f32, MockDevice>(s, &[usize::MAX, 2], random::Key::new(7));
    }
}

#[test]
fn gathers_and_puts_tell_their_line() {
    let s = &stream();
    let a = Array::<f32, _>::zeros(s, &[2, 3]).unwrap();
    let by = Array::from_slice(s, &[2], &[0, 1]).unwrap();
    let mask = Array::full(s, &[4], devarray::Bool::TRUE).unwrap();
    let mut to = Array::<f32, _>::zeros(s, &[5]).unwrap();
    fail! {
        a.take(s, &by, 2, ERROR);
        a.view().take_into(s, &by, 0, ERROR, &mut to.view_mut());
        a.take_along_axis(s, &by, 0, ERROR);
        a.compress(s, &mask, 0);
        a.extract(s, &mask);
        to.view_mut().put(s, &by, &a, 0, ERROR, Repeats::Last);
    }
}

#[test]
fn host_memory_tells_its_line() {
    let s = &stream();
    let context = s.context();
    let mut a = Array::<u8, _>::zeros(s, &[4]).unwrap();
    let mapped = MappedArray::<u8, _>::zeros(&context, &[4]).unwrap();
    let pinned = || context.pinned::<u8>(3).unwrap();
    let mut short = [0; 3];
    fail! {
        HostArray::new(&[4], vec![1]);
        MappedArray::<u8, _>::from_slice(&context, &[3], &[0; 4]);
        MappedArray::<u64, _>::zeros(&context, &[usize::MAX, 2]);
        mapped.reshape(&[3], Order::C);
        a.view_mut().upload(s, pinned()).map_err(Error::from);
        a.view().download(s, pinned()).map_err(Error::from);
    }
    let line = line!() + 1;
    let copied = s.scope(|scope| scope.download(&a.view(), &mut short)).unwrap();
    assert_eq!(line_of(&copied.unwrap_err(), "a scope"), line);
}

/// The error of a layout's method becomes an error in the program's own line.
#[test]
fn errors_of_layouts_get_the_line_where_they_become_errors() {
    fn turned(layout: &Layout) -> Result<(Layout, u32)> {
        let turned = layout.permute(&[0, 0])?; // this line
        Ok((turned, 0))
    }
    let layout = Layout::contiguous(&[2, 3], Order::C).unwrap();
    assert_eq!(line_of(&turned(&layout).unwrap_err(), "a layout"), line!() - 4);
    assert_eq!(line_of(&LayoutError::NeedsCopy.into(), "into"), line!());
    let pure = layout.permute(&[0, 0]).unwrap_err();
    assert_eq!(pure.to_string(), "axis 0 is repeated", "layouts are values: no line");
    // The twin: a function that hides the caller knows no line, and reports none of the library's.
    let convert: fn(LayoutError) -> Error = Error::from;
    let hidden = convert(pure);
    assert_eq!((hidden.location(), hidden.to_string()), (None, "axis 0 is repeated".to_owned()));
    assert_eq!(CallSite::UNKNOWN, CallSite::here());
}

/// The errors of order and products report the line of their call.
#[test]
fn order_and_products_tell_their_line() {
    let s = &stream();
    let mut a = Array::<f32, _>::zeros(s, &[2, 3]).unwrap();
    let mut to = Array::<f32, _>::zeros(s, &[5]).unwrap();
    let (by, two) = (Array::full(s, &[1], 0).unwrap(), Array::<f32, _>::zeros(s, &[2]).unwrap());
    let table = Array::full(s, &[1, 1], 0).unwrap();
    let zeros = Array::<f32, _>::zeros(s, &[4, 4]).unwrap();
    macro_rules! refused {
        ($($call:expr;)*) => {
            let mut last = line!();
            $(
                let error: Error = $call.map(drop).expect_err(stringify!($call));
                let line = line_of(&error, stringify!($call));
                assert_eq!(line, last + 1, "{}: {error}", stringify!($call));
                last = line;
            )*
            assert!(last > line!());
        };
    }
    refused! {
        a.sort(s, 2);
        a.view().sort_into(s, 1, &mut to);
        a.argsort(s, 5);
        a.topk(s, 9, 1);
        a.quantile(s, 2.0, 1);
        a.median(s, 4);
        a.histogram(s, &by.view().map(s, |x| x.cast::<f32>()).unwrap());
        a.search_sorted(s, &two, devarray::order::Side::Left);
        by.bincount_weighted(s, &two, 3);
        a.view_mut().put_add(s, 5, &by, &two);
        a.view_mut().put_add(s, 0, &by, &two);
        a.view_mut().put_minimum(s, 0, &table, &two);
        a.view_mut().put_maximum(s, 1, &by, &zeros);
        a.segment_sum(s, &table);
        a.view().segment_minimum(s, &table);
        a.view().segment_maximum_into(s, &table, &mut to);
        math::csr_dot(s, &two, &by, &by, &two);
        math::csr_dot(s, &two, &Array::full(s, &[2], 0).unwrap(), &table, &two);
        a.matmul(s, &two);
        a.view().matmul_into(s, &zeros, &mut to);
        a.matmul_map(s, &two, &two, |y, x| y + x);
        a.matmul_onto(s, &zeros, &mut to);
        a.matmul_with(s, &two, devarray::product::Precision::Fast);
        a.vecdot(s, &two);
        a.tensordot(s, &zeros, &[0], &[0]);
        a.einsum(s, "ii");
        a.einsum_with(s, &zeros, "ij,jk");
    }
}

/// An index error names the call that enqueued the operation, not the wait, whichever call reports
/// it.
#[test]
fn index_errors_tell_the_line_of_the_operation() {
    let s = &stream();
    let context = s.context();
    let x = Array::<u8, _>::zeros(s, &[3]).unwrap();
    let by = Array::from_slice(s, &[1], &[9]).unwrap();
    let table = Array::<u8, _>::zeros(s, &[3, 1]).unwrap();
    let by_axis = Array::from_slice(s, &[1, 1], &[9]).unwrap();
    let mut y = Array::<u8, _>::zeros(s, &[3]).unwrap();
    let one = Array::<u8, _>::zeros(s, &[1]).unwrap();
    macro_rules! tell {
        ($($call:expr;)*) => {
            let mut last = line!();
            $(
                let _kept = $call.unwrap();
                let error = s.synchronize().expect_err(stringify!($call));
                assert!(matches!(error, Error::Index { .. }), "{error}");
                let line = line_of(&error, stringify!($call));
                assert_eq!(line, last + 1, "{error}");
                last = line;
            )*
            assert!(last > line!());
        };
    }
    tell! {
        x.take(s, &by, 0, ERROR);
        x.view().take(s, &by, 0, ERROR);
        x.take_flat(s, &by, ERROR);
        table.take_along_axis(s, &by_axis, 0, ERROR);
        x.view().take_into(s, &by, 0, ERROR, &mut y.view_mut().slice_axis(0, ..1).unwrap());
        y.view_mut().put(s, &by, &one, 0, ERROR, Repeats::Last);
        y.view_mut().put_flat(s, &by, &one, ERROR, Repeats::None);
    }
    let (wide, halves) =
        (Array::from_slice(s, &[1], &[9_u64]).unwrap(), Array::full(s, &[1], 0.5_f32).unwrap());
    let (falling, short) =
        (Array::from_slice(s, &[2], &[4, 0]).unwrap(), Array::full(s, &[1], 9_u64).unwrap());
    let (mut rest, mut sums) =
        (Array::<f32, _>::zeros(s, &[3]).unwrap(), Array::<f32, _>::zeros(s, &[1]).unwrap());
    tell! {
        by.bincount(s, 3);
        by.bincount_weighted(s, &halves, 3);
        rest.view_mut().put_add(s, 0, &by, &halves);
        rest.view_mut().put_add(s, 0, &wide, &halves);
        rest.view_mut().put_minimum(s, 0, &by, &halves);
        rest.view_mut().put_maximum(s, 0, &by, &halves);
        rest.segment_sum(s, &falling);
        rest.view().segment_minimum(s, &falling);
        rest.segment_maximum(s, &falling);
        rest.view().segment_sum_into(s, &falling, &mut sums);
        rest.view().segment_minimum_into(s, &falling, &mut sums);
        rest.view().segment_maximum_into(s, &falling, &mut sums);
        math::csr_dot(s, &halves, &by, &falling.view().slice_axis(0, 1..).unwrap(), &rest);
        math::csr_dot(s, &halves, &Array::full(s, &[1], 0_i64).unwrap(), &falling, &rest);
        math::csr_dot(s, &halves, &short.view().reshape(&[1], Order::C).unwrap(), &falling, &rest);
    }
    let gone = context.stream().unwrap();
    let line = line!() + 1;
    drop(x.take(&gone, &by, 0, ERROR).unwrap());
    drop(gone);
    assert_eq!(line_of(&context.take_errors()[0], "the list"), line);
}
