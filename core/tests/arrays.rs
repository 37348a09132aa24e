//! Arrays and views as a generic library uses them.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use devarray::{
    Array, Context, Device, Error, Layout, LayoutError, NdLayout, Order, Reshaped, Result, StreamHandle,
    layout::{IndexItem, Slice},
};
use devarray_mock::MockDevice;
use static_assertions::{assert_impl_all, assert_not_impl_any};

assert_impl_all!(Array<f32, MockDevice>: Send, Sync, NdLayout);
assert_impl_all!(StreamHandle<MockDevice>: Send, Sync, Clone);
assert_impl_all!(Context<MockDevice>: Send, Sync, Clone);
assert_not_impl_any!(Array<f32, MockDevice>: Clone, Copy);
assert_not_impl_any!(devarray::ArrayViewMut<'static, f32, MockDevice>: Clone, Copy);

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

/// A helper written against no backend.
fn double_transpose<D: Device>(
    context: &Context<D>,
    rows: usize,
    columns: usize,
    data: &[f32],
) -> Result<Vec<f32>> {
    let (s, t) = (context.stream()?, context.stream()?);
    let a = Array::from_slice(&s, &[rows, columns], data)?;
    let mut turned = Array::uninit(&t, &[columns, rows])?;
    turned.view_mut().copy_from(&t, &a.view().transpose())?;
    drop(a);
    turned.view().transpose().to_contiguous(&s, Order::F)?.to_vec(&t)
}

#[test]
fn generic_code_runs_on_a_backend() {
    let data: Vec<f32> = (0..35_u8).map(f32::from).collect();
    let context = Context::new(MockDevice::new()).unwrap();
    assert_eq!(double_transpose(&context, 5, 7, &data).unwrap(), data);
}

#[test]
fn every_transform_of_a_view_is_that_of_its_layout() {
    let s = stream();
    let data: Vec<i32> = (0..120).collect();
    let mut a = Array::from_slice(&s, &[2, 3, 4, 5], &data).unwrap();
    let layout = a.layout().clone();
    let items = [
        IndexItem::At(-1),
        IndexItem::Ellipsis,
        IndexItem::Slice(Slice::from(..).step_by(-2)),
        IndexItem::NewAxis,
    ];
    let views = [
        (a.view().permute(&[3, 0, -2, 1]), layout.permute(&[3, 0, -2, 1])),
        (a.view().swap_axes(0, -1), layout.swap_axes(0, -1)),
        (a.view().move_axes(&[0, 1], &[-1, 0]), layout.permute(&[1, 2, 3, 0])),
        (a.view().flip(&[1, -1]), layout.flip(&[1, -1])),
        (a.view().index(&items), layout.index(&items)),
        (a.view().slice_axis(2, 1..3), layout.slice_axis(2, 1..3)),
        (a.view().expand_dims(-1), layout.expand_dims(-1)),
        (a.view().reshape(&[6, -1], Order::C), layout.reshape(&[6, -1], Order::C)),
        (a.view().ravel(Order::C), layout.ravel(Order::C)),
        (a.view().broadcast_to(&[2, 2, 3, 4, 5]), layout.broadcast_to(&[2, 2, 3, 4, 5])),
        (Ok(a.view().transpose()), Ok(layout.transpose())),
    ];
    for (view, layout) in views {
        let (view, layout) = (view.unwrap(), layout.unwrap());
        assert_eq!(view.layout(), &layout);
        assert_eq!(
            (view.shape(), view.strides(), NdLayout::offset(&view)),
            (layout.shape(), layout.strides(), layout.offset())
        );
    }
    let view = a.view_mut().permute(&[3, 0, -2, 1]).unwrap().flip(&[0]).unwrap();
    assert_eq!(view.layout(), &layout.permute(&[3, 0, -2, 1]).unwrap().flip(&[0]).unwrap());
    assert_eq!(a.view().permute(&[9]).unwrap_err(), layout.permute(&[9]).unwrap_err().into());
}

#[test]
fn parts_of_a_split_are_written_alone() {
    let s = stream();
    let mut a = Array::zeros(&s, &[10]).unwrap();
    for (k, mut part) in a.view_mut().split(4).unwrap().enumerate() {
        part.fill(&s, k as u8 + 1).unwrap();
    }
    assert_eq!(a.to_vec(&s).unwrap(), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
    let mut b = Array::zeros(&s, &[2, 5]).unwrap();
    for (k, mut part) in b.view_mut().split_at(1, &[1, 3]).unwrap().enumerate() {
        part.fill(&s, k as u8 + 1).unwrap();
    }
    assert_eq!(b.to_vec(&s).unwrap(), [1, 2, 2, 3, 3, 1, 2, 2, 3, 3]);
    let sums: Vec<usize> = b.view().array_split(1, 2).unwrap().map(|part| part.shape()[1]).collect();
    assert_eq!(sums, [3, 2]);
}

#[test]
fn a_part_is_copied_to_another_part_of_the_same_array() {
    let s = stream();
    let mut a = Array::from_slice(&s, &[2, 3], &[1, 2, 3, 4, 5, 6]).unwrap();
    let mut columns = a.view_mut().split_at(1, &[1, 2]).unwrap();
    let (first, _, mut last) = (columns.next().unwrap(), columns.next(), columns.next().unwrap());
    last.copy_from(&s, &first.as_view()).unwrap();
    assert_eq!(a.to_vec(&s).unwrap(), [1, 2, 1, 4, 5, 4]);
}

#[test]
fn a_reshape_that_may_copy_says_so() {
    let s = stream();
    let a = Array::from_slice(&s, &[2, 3], &[1, 2, 3, 4, 5, 6]).unwrap();
    let view = a.view();
    assert!(matches!(view.reshape_or_copy(&s, &[3, 2], Order::C).unwrap(), Reshaped::View(_)));
    let copied = view.transpose().reshape_or_copy(&s, &[6], Order::C).unwrap();
    assert!(copied.is_copied());
    assert_eq!(copied.view().to_vec(&s).unwrap(), [1, 4, 2, 5, 3, 6]);
    let turned = view.transpose();
    assert!(!turned.ravel_or_copy(&s, Order::F).unwrap().is_copied());
    assert_eq!(turned.ravel_or_copy(&s, Order::C).unwrap().view().to_vec(&s).unwrap(), [1, 4, 2, 5, 3, 6]);
    let refused = view.reshape_or_copy(&s, &[4], Order::C).unwrap_err();
    let (from, to) = ([2, 3].into_iter().collect(), [4].into_iter().collect());
    assert_eq!(refused, LayoutError::SizeMismatch { from, to }.into());
}

#[test]
fn elements_of_every_size_are_filled_and_copied() {
    fn check<T: devarray::Element + PartialEq + std::fmt::Debug>(value: T, other: T) {
        let s = stream();
        let mut a = Array::full(&s, &[3, 5], value).unwrap();
        a.view_mut().slice_axis(1, Slice::from(..).step_by(2)).unwrap().fill(&s, other).unwrap();
        let expected: Vec<T> = (0..15).map(|k| if k % 5 % 2 == 0 { other } else { value }).collect();
        assert_eq!(a.to_vec(&s).unwrap(), expected);
        let turned: Vec<T> = (0..15).map(|k| expected[k % 3 * 5 + k / 3]).collect();
        assert_eq!(a.view().transpose().to_contiguous(&s, Order::C).unwrap().to_vec(&s).unwrap(), turned);
    }
    check(1_u8, 2);
    check(1_u16, 2);
    check([1_u8; 3], [2; 3]);
    check(1.5_f32, 2.5);
    check([1_u16; 3], [2; 3]);
    check(1_u64, 2);
    check([1_u32; 3], [2; 3]);
    check(1_u128, 2);
    check([1_u64; 3], [2; 3]);
    check([1_u8; 31], [2; 31]);
}

#[test]
fn mistakes_are_typed_and_change_nothing() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let s = context.stream().unwrap();
    let mut a = Array::full(&s, &[2, 3], 1_u32).unwrap();
    let b = Array::full(&s, &[3, 2], 2_u32).unwrap();
    let before = device.statistics().enqueued;
    let shapes = a.view_mut().copy_from(&s, &b.view()).unwrap_err();
    assert!(matches!(shapes, Error::Layout(LayoutError::ShapeMismatch { .. }, ..)), "{shapes}");
    let rank = a.view_mut().copy_from(&s, &b.view().expand_dims(0).unwrap()).unwrap_err();
    assert!(matches!(rank, Error::Layout(..)), "{rank}");
    let length = Array::from_slice(&s, &[2, 2], &[1_u8; 3]).unwrap_err();
    assert_eq!(length, LayoutError::LengthMismatch { expected: 4, found: 3 }.into());
    for shape in [&[usize::MAX, 2][..], &[1 << 61, 8], &[(1 << 61) + 1]] {
        let overflow = Array::<u64, _>::uninit(&s, shape).unwrap_err();
        assert_eq!(overflow, LayoutError::Overflow.into(), "{shape:?}");
    }
    let host = Layout::new(&[2, 3], &[0, 1], 0).unwrap();
    let aliased = a.view().copy_to_host(&s, &mut [0; 6], &host).unwrap_err();
    assert_eq!(aliased, LayoutError::AliasedDestination.into());
    let outside = Layout::new(&[2, 3], &[3, 1], 1).unwrap();
    let outside = a.view().copy_to_host(&s, &mut [0; 6], &outside).unwrap_err();
    assert_eq!(outside, LayoutError::OutOfBounds { start: 1, end: 7, len: 6 }.into());
    let size = Array::<u64, _>::from_erased(b.into_erased()).unwrap_err();
    assert!(matches!(size, Error::Layout(LayoutError::ElementSize { item_bytes: 4, .. }, ..)));
    assert_eq!(
        (device.statistics().enqueued.copies, device.statistics().enqueued.uploads),
        (before.copies, before.uploads)
    );
    assert_eq!(a.to_vec(&s).unwrap(), [1; 6]);
}

#[test]
fn contexts_do_not_mix() {
    let (one, two) = (Context::new(MockDevice::new()).unwrap(), Context::new(MockDevice::new()).unwrap());
    let (s, t) = (one.stream().unwrap(), two.stream().unwrap());
    let mut a = Array::zeros(&s, &[4]).unwrap();
    let b = Array::full(&t, &[4], 1_u8).unwrap();
    let mismatch = |operation| Error::DeviceMismatch { backend: "mock", operation };
    assert_eq!(a.view_mut().copy_from(&s, &b.view()), Err(mismatch("copy")));
    assert_eq!(a.view_mut().copy_from(&t, &b.view()), Err(mismatch("copy")));
    assert_eq!(a.view_mut().fill(&t, 1), Err(mismatch("fill")));
    assert_eq!(a.view_mut().copy_from_slice(&t, &[1; 4]), Err(mismatch("upload")));
    assert_eq!(a.to_vec(&t), Err(mismatch("download")));
    assert_eq!(s.wait(&t.record().unwrap()), Err(mismatch("wait")));
    assert_eq!(a.to_vec(&s).unwrap(), [0; 4]);
}

/// Two contexts of one backend stand for two devices; generic code may also cross backends.
#[test]
fn elements_cross_from_one_device_to_another() {
    let device = |ordinal| Context::new(MockDevice::builder().ordinal(ordinal).build()).unwrap();
    let (here, there) = (device(0), device(1));
    let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
    let data: Vec<u16> = (0..60).collect();
    let src = Array::from_slice(&t, &[5, 12], &data).unwrap();
    let mut dst = Array::zeros(&s, &[24, 5]).unwrap();
    let mut view = dst.view_mut().slice_axis(0, Slice::from(..).step_by(-2)).unwrap();
    view.copy_across(&s, &t, &src.view().transpose()).unwrap();
    let expected: Vec<u16> = (0..24)
        .rev()
        .flat_map(|i| (0..5).map(move |j| if i % 2 == 0 { j * 12 + i / 2 } else { 0 }))
        .collect();
    let rows = dst.to_vec(&s).unwrap();
    assert_eq!(rows, expected);
    assert!(dst.context().is_same(&here) && src.context().is_same(&there));
    let wrong = dst.view_mut().transpose().copy_across(&t, &s, &src.view()).unwrap_err();
    assert_eq!(wrong, Error::DeviceMismatch { backend: "mock", operation: "copy_across" });
}

#[test]
fn a_shared_array_goes_to_threads() {
    let context = Context::new(MockDevice::new()).unwrap();
    let s = context.stream().unwrap();
    let shared = Array::from_slice(&s, &[4], &[1, 2, 3, 4]).unwrap().into_shared();
    let threads: Vec<_> = (0..4)
        .map(|k| {
            let (shared, context) = (shared.clone(), context.clone());
            std::thread::spawn(move || {
                let s = context.stream().unwrap();
                shared.view().slice_axis(0, k..).unwrap().to_vec(&s).unwrap().iter().sum::<i32>()
            })
        })
        .collect();
    drop(shared);
    let sums: Vec<i32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(sums, [10, 9, 7, 4]);
}

#[test]
fn out_of_memory_is_typed_and_passes() {
    let device = MockDevice::builder().memory_limit_bytes(1 << 20).build();
    let context = Context::new(device).unwrap();
    let s = context.stream().unwrap();
    let a = Array::<u8, _>::zeros(&s, &[700 << 10]).unwrap();
    let error = Array::<u8, _>::zeros(&s, &[700 << 10]).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let Error::OutOfMemory { backend: "mock", requested_bytes, free_bytes, total_bytes, .. } = error else {
        panic!()
    };
    assert_eq!((requested_bytes, total_bytes), (700 << 10, Some(1 << 20)));
    assert!(free_bytes.unwrap() <= 324 << 10);
    drop(a);
    assert_eq!(Array::<u8, _>::zeros(&s, &[700 << 10]).unwrap().to_vec(&s).unwrap().len(), 700 << 10);
}
