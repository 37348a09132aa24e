//! Host arrays: shapes, indices, iteration, the way to the device and back, and printed text
//! compared with NumPy's.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use std::panic::catch_unwind;

use devarray::{Array, Context, Error, HostArray, LayoutError, NdLayout, Order, StreamHandle};
use devarray_mock::MockDevice;
use num_complex::Complex;
use static_assertions::assert_impl_all;

assert_impl_all!(HostArray<f32>: Clone, Send, Sync, PartialEq, NdLayout, std::fmt::Debug, std::fmt::Display);
assert_impl_all!(HostArray<String>: Eq, std::hash::Hash);

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

fn counted(shape: &[usize]) -> HostArray<usize> {
    HostArray::new(shape, (0..shape.iter().product()).collect()).unwrap()
}

#[test]
fn shapes_fit_their_elements() {
    let a = counted(&[2, 3, 4]);
    assert_eq!((a.shape(), a.strides(), a.offset(), a.len()), (&[2, 3, 4][..], &[12, 4, 1][..], 0, 24));
    assert!(a.is_c_contiguous());
    assert!(counted(&[2, 0, 3]).into_vec().is_empty());
    assert_eq!(counted(&[]).into_vec(), [0]);
    let short = HostArray::new(&[2, 3], vec![0; 5]).unwrap_err();
    assert_eq!(short, LayoutError::LengthMismatch { expected: 6, found: 5 }.into());
    assert_eq!(HostArray::new(&[usize::MAX, 2], vec![0]).unwrap_err(), LayoutError::Overflow.into());
    assert_ne!(counted(&[2, 3]), counted(&[3, 2]));
}

#[test]
fn indices_count_in_c_order() {
    let mut a = counted(&[2, 3, 4]);
    let mut next = 0;
    for i in 0..2 {
        for j in 0..3 {
            for k in 0..4 {
                assert_eq!((a[[i, j, k]], a[&[i, j, k][..]], a[vec![i, j, k]]), (next, next, next));
                assert_eq!(a.get(&[i, j, k]), Some(&next));
                next += 1;
            }
        }
    }
    a[[1, 2, 3]] = 100;
    *a.get_mut(&[0, 0, 0]).unwrap() = 200;
    assert_eq!((a.as_slice()[23], a.as_slice()[0], counted(&[])[[]]), (100, 200, 0));
    for index in [&[2, 0, 0][..], &[0, 3, 0], &[0, 0, 4], &[0, 0], &[0, 0, 0, 0], &[], &[usize::MAX; 3]] {
        assert_eq!((a.get(index), a.clone().get_mut(index)), (None, None), "{index:?}");
        let message = |outcome: Result<(), Box<dyn std::any::Any + Send>>| {
            *outcome.unwrap_err().downcast::<String>().unwrap()
        };
        let expected = format!("index {index:?} is out of range for shape [2, 3, 4]");
        assert_eq!(message(catch_unwind(|| assert_eq!(a[index], 0))), expected);
        let mut b = a.clone();
        assert_eq!(message(catch_unwind(move || b[index] = 0)), expected);
    }
    assert_eq!(counted(&[3, 0]).get(&[0, 0]), None);
}

#[test]
fn iteration_is_in_c_order() {
    for shape in [&[2, 3, 4][..], &[], &[5], &[2, 0, 3], &[1, 2, 1, 2, 1, 2, 1, 2]] {
        let mut a = counted(shape);
        let mut indexed = a.indexed_iter();
        assert_eq!(indexed.len(), a.len());
        for (position, value) in a.iter().enumerate() {
            let (index, same) = indexed.next().unwrap();
            assert_eq!((same, *value, &a[&index]), (value, position, value));
            let counted_back = index.iter().zip(shape).fold(0, |before, (at, extent)| before * extent + at);
            assert_eq!(counted_back, position);
        }
        assert!(indexed.next().is_none() && indexed.next().is_none());
        a.iter_mut().for_each(|value| *value += 1);
        (&mut a).into_iter().for_each(|value| *value *= 2);
        a.as_mut_slice().iter_mut().for_each(|value| *value += 1);
        assert!((&a).into_iter().enumerate().all(|(k, value)| *value == 2 * k + 3));
        assert_eq!(Vec::from(a.clone()), a.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn to_the_device_and_back() {
    let s = stream();
    for shape in [&[2, 3, 4][..], &[], &[5], &[2, 0, 3]] {
        let host = HostArray::new(shape, counted(shape).iter().map(|&value| value as f32).collect()).unwrap();
        let mut a = Array::from_host_array(&s, &host).unwrap();
        assert_eq!((a.shape(), a.to_host(&s).unwrap()), (shape, host.clone()));
        let turned = a.view().transpose().to_host(&s).unwrap();
        assert!(turned.indexed_iter().all(|(mut index, value)| {
            index.reverse();
            host[&index] == *value
        }));
        let mut fortran = Array::zeros_like(&s, &host, Order::F).unwrap();
        fortran.view_mut().copy_from_host_array(&s, &host).unwrap();
        assert_eq!(fortran.to_host(&s).unwrap(), host);
        a.view_mut().fill(&s, 0.0).unwrap();
        assert!(a.to_host(&s).unwrap().iter().all(|value| *value == 0.0));
    }
    let mut a = Array::<usize, _>::zeros(&s, &[2, 3]).unwrap();
    let shape = a.view_mut().copy_from_host_array(&s, &counted(&[3, 2])).unwrap_err();
    assert!(matches!(shape, Error::Layout(LayoutError::ShapeMismatch { .. }, ..)), "{shape}");
    let mismatch = Error::DeviceMismatch { backend: "mock", operation: "download" };
    assert_eq!(a.to_host(&stream()).unwrap_err(), mismatch);
}

#[test]
fn text_of_other_elements() {
    let words = HostArray::new(&[2, 2], vec!["a", "long word", "ß", ""]).unwrap();
    assert_eq!(words.to_string(), "[[        a long word]\n [        ß          ]]");
    let numbers = HostArray::new(&[2], vec![Complex::new(1.0, 2.0), Complex::new(-0.5, 0.0)]).unwrap();
    assert_eq!(numbers.to_string(), "[   1+2i -0.5+0i]");
    assert_eq!(format!("{numbers:.2}"), "[ 1.00+2.00i -0.50+0.00i]");
    let halves = HostArray::new(&[2], [0.1, 3.0].map(half::bf16::from_f32).to_vec()).unwrap();
    assert_eq!(halves.to_string(), "[0.1 3. ]");
    assert_eq!(format!("{:?}", counted(&[2, 2])), "HostArray([[0 1]\n [2 3]], shape = [2, 2])");
    assert_eq!(format!("{:?}", counted(&[2, 0])), "HostArray([], shape = [2, 0])");
    let pi = HostArray::new(&[2], vec![std::f64::consts::PI, 2.5]).unwrap();
    assert_eq!((format!("{pi:.3}"), format!("{pi:.0}")), ("[3.142 2.5  ]".into(), "[3. 2.]".into()));
    assert_eq!(format!("{:.2}", HostArray::new(&[], vec![std::f64::consts::PI]).unwrap()), "3.14");
    // A word wider than formatted padding allows, and far more axes than arrays have.
    let word = "x".repeat(70_000);
    let wide = HostArray::new(&[2], vec![word.clone(), String::new()]).unwrap().to_string();
    assert!(wide == format!("[{word}\n {}]", " ".repeat(70_000)));
    let deep = HostArray::new(&vec![1; 30_000], vec![7]).unwrap().to_string();
    assert_eq!(deep, format!("{}7{}", "[".repeat(30_000), "]".repeat(30_000)));
}

/// Extents that would take for ever to walk.
#[test]
fn nothing_prints_at_once() {
    let huge = HostArray::new(&[1 << 60, 0, 3], Vec::<f64>::new()).unwrap();
    assert_eq!(huge.to_string(), "[]");
}
