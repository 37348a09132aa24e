//! Order, search and sums by index through arrays and views, on the simulator and on the CPU.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Bool, Context, Error, LayoutError, Result, StreamHandle,
    backend::{Capabilities, Capability},
    function::ElementType,
    gather::GatherOperation,
    order::{Call, Combining, IndexFault, OrderErrorKind, Side},
    prelude::*,
};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::{Code, FaultKind, FaultPlan, MockDevice, Site};

fn streams() -> [StreamHandle<AnyDevice>; 2] {
    [AnyDevice::from(MockDevice::new()), AnyDevice::from(HostDevice::builder().threads(2).build())]
        .map(|device| Context::new(device).unwrap().stream().unwrap())
}

/// Runs a test on both devices.
fn on_both(test: impl Fn(&StreamHandle<AnyDevice>) -> Result<()>) {
    for stream in streams() {
        test(&stream).unwrap();
        stream.synchronize().unwrap();
    }
}

fn told<D: Compute>(stream: &StreamHandle<D>) -> (GatherOperation, IndexFault, Option<usize>, u64, i64, u64) {
    match stream.synchronize() {
        Err(Error::Index { error, .. }) => {
            (error.operation, error.fault, error.axis, error.position, error.value, error.bound)
        }
        other => panic!("an index is wrong: {other:?}"),
    }
}

fn kind(error: &Error) -> OrderErrorKind {
    match error {
        Error::Order(error, _) => error.kind(),
        other => panic!("{other}"),
    }
}

#[test]
fn views_of_any_strides_are_ordered_along_any_axis_into_any_view() {
    on_both(|s| {
        let x = Array::from_slice(s, &[3, 4], &[5, 2, 9, 1, 5, 7, 0, 3, 4, 4, 8, 6])?;
        let turned = x.view().transpose().flip(&[0])?;
        assert_eq!(turned.to_vec(s)?, [1, 3, 6, 9, 0, 8, 2, 7, 4, 5, 5, 4]);
        assert_eq!(turned.sort(s, -1)?.to_vec(s)?, [1, 3, 6, 0, 8, 9, 2, 4, 7, 4, 5, 5]);
        assert_eq!(turned.argsort(s, 0)?.to_vec(s)?, [0, 1, 2, 2, 0, 3, 3, 3, 0, 1, 2, 1]);
        assert_eq!(turned.argsort_descending(s, 1)?.to_vec(s)?, [2, 1, 0, 0, 2, 1, 1, 2, 0, 0, 1, 2]);
        let mut wide = Array::full(s, &[4, 6], -1)?;
        turned.sort_descending_into(s, 0, &mut wide.view_mut().index(&devarray::ix![.., 1..; 2])?)?;
        assert_eq!(
            wide.to_vec(s)?,
            [-1, 9, -1, 7, -1, 8, -1, 5, -1, 5, -1, 6, -1, 2, -1, 3, -1, 4, -1, 1, -1, 0, -1, 4]
        );
        let (top, at) = turned.topk(s, 2, -1)?;
        assert_eq!((top.shape(), top.to_vec(s)?), (&[4, 2][..], vec![6, 3, 9, 8, 7, 4, 5, 5]));
        assert_eq!(at.to_vec(s)?, [2, 1, 0, 2, 1, 2, 0, 1]);
        let (least, _) = turned.bottomk(s, 1, 1)?;
        assert_eq!(least.to_vec(s)?, [1, 0, 2, 4]);
        Ok(())
    });
}

#[test]
fn positions_take_what_the_order_gives_to_the_bit() {
    on_both(|s| {
        let nan = f32::from_bits(0x7fc0_1234);
        let x = Array::from_slice(s, &[6], &[0.0_f32, -1.5, nan, -0.0, f32::INFINITY, 0.0])?;
        let sorted: Vec<u32> = x.sort(s, 0)?.to_vec(s)?.into_iter().map(f32::to_bits).collect();
        let at = x.argsort(s, 0)?;
        let taken = x.take_along_axis(s, &at, 0, devarray::gather::OutOfRange::Error)?.to_vec(s)?;
        assert_eq!(sorted, taken.into_iter().map(f32::to_bits).collect::<Vec<_>>());
        let bits = [-1.5_f32, 0.0, -0.0, 0.0, f32::INFINITY, nan].map(f32::to_bits);
        assert_eq!(sorted, bits);
        Ok(())
    });
}

#[test]
fn what_is_counted_blocks_or_is_given_room() {
    on_both(|s| {
        let x = Array::from_slice(s, &[2, 4], &[3_u8, 1, 3, 2, 1, 3, 0, 3])?;
        let all = x.unique_all(s)?;
        assert_eq!(all.elements.to_vec(s)?, [0, 1, 2, 3]);
        assert_eq!(all.positions.to_vec(s)?, [6, 1, 3, 0]);
        assert_eq!(all.counts.to_vec(s)?, [1, 2, 1, 4]);
        assert_eq!(
            (all.inverse.shape(), all.inverse.to_vec(s)?),
            (&[2, 4][..], vec![3, 1, 3, 2, 1, 3, 0, 3])
        );
        assert_eq!(x.view().transpose().unique(s)?.to_vec(s)?, [0, 1, 2, 3]);
        let rows = x.nonzero(s)?;
        assert_eq!(rows.shape(), [7, 2]);
        assert_eq!(rows.to_vec(s)?, [0, 0, 0, 1, 0, 2, 0, 3, 1, 0, 1, 1, 1, 3]);

        let (mut room, mut count) = (Array::full(s, &[6], 77_u8)?, Array::zeros(s, &[])?);
        x.view().unique_into(s, &mut room.view_mut().slice_axis(0, 1..)?, &mut count)?;
        assert_eq!((room.to_vec(s)?, count.item(s)?), (vec![77, 0, 1, 2, 3, 77], 4));
        let mut room = Array::full(s, &[3, 2], -1)?;
        x.view().nonzero_into(s, &mut room, &mut count)?;
        assert_eq!(told(s), (GatherOperation::NonZero, IndexFault::Outside, Some(0), 3, 3, 3));
        assert_eq!((room.to_vec(s)?, count.item(s)?), (vec![0, 0, 0, 1, 0, 2], 7));

        let nothing = Array::<f64, _>::zeros(s, &[0, 3])?;
        assert_eq!(nothing.unique(s)?.shape(), [0]);
        assert_eq!(nothing.nonzero(s)?.shape(), [0, 2]);
        nothing.view().nonzero_into(s, &mut room, &mut count)?;
        assert_eq!(count.item(s)?, 0);
        let one = Array::from_slice(s, &[], &[f64::NAN])?;
        assert_eq!(one.nonzero(s)?.shape(), [1, 0]);
        assert_eq!(one.unique(s)?.shape(), [1]);
        Ok(())
    });
}

#[test]
fn counts_and_places() {
    on_both(|s| {
        let bins = Array::from_slice(s, &[3], &[10, 20, 20])?;
        let v = Array::from_slice(s, &[2, 2], &[5, 10, 20, 30])?;
        assert_eq!(bins.search_sorted(s, &v.view().transpose(), Side::Left)?.to_vec(s)?, [0, 1, 0, 3]);
        assert_eq!(v.histogram(s, &bins)?.to_vec(s)?, [1, 1]);
        let mut placed = Array::zeros(s, &[2, 2])?;
        bins.search_sorted_into(s, &v, Side::Right, &mut placed.view_mut().transpose())?;
        assert_eq!(placed.to_vec(s)?, [0, 3, 1, 3]);
        let x = Array::from_slice(s, &[2, 2], &[0_i8, 2, 2, 1])?;
        assert_eq!(x.bincount(s, 4)?.to_vec(s)?, [1, 1, 2, 0]);
        let weights = Array::from_slice(s, &[2, 2], &[true, true, false, true].map(Bool::from))?;
        assert_eq!(x.bincount_weighted(s, &weights, 3)?.to_vec(s)?, [1, 1, 1]);
        let none = Array::<u32, _>::zeros(s, &[0])?;
        assert_eq!(none.bincount(s, 2)?.to_vec(s)?, [0, 0]);
        Ok(())
    });
}

#[test]
fn elements_are_put_in_place_in_any_view_and_by_indices_of_any_type() {
    on_both(|s| {
        let mut y = Array::full(s, &[3, 4], 1_i32)?;
        let columns = Array::from_slice(s, &[3], &[-1_i64, 0, -1])?;
        let values = Array::from_slice(s, &[3], &[10, 20, 30])?;
        y.view_mut().transpose().put_add(s, 0, &columns, &values.expand_dims(1)?)?;
        assert_eq!(y.to_vec(s)?, [21, 1, 1, 41, 21, 1, 1, 41, 21, 1, 1, 41]);
        let bytes = Array::from_slice(s, &[2], &[2_u8, 0])?;
        y.view_mut().put_minimum(s, 0, &bytes, &Array::from_slice(s, &[2, 1], &[5, 7])?)?;
        assert_eq!(y.to_vec(s)?, [7, 1, 1, 7, 21, 1, 1, 41, 5, 1, 1, 5]);
        let wide = Array::from_slice(s, &[1], &[1_u64])?;
        y.view_mut().put_maximum(s, -2, &wide, &Array::full(s, &[], 9)?)?;
        assert_eq!(y.to_vec(s)?, [7, 1, 1, 7, 21, 9, 9, 41, 5, 1, 1, 5]);

        // 1 + (0.1 + 0.2) as a sum of two has one rounding more than adding in turns.
        let mut f = Array::full(s, &[1], 1.0_f32)?;
        let twice = Array::from_slice(s, &[2], &[0, 0])?;
        f.view_mut().put_add(s, 0, &twice, &Array::from_slice(s, &[2], &[0.1_f32, 0.2])?)?;
        assert_eq!(f.to_vec(s)?, [1.0_f32 + (0.1_f32 + 0.2)]);

        let x = Array::from_slice(s, &[4, 2], &[1, 2, 3, 4, 5, 6, 7, 8])?;
        let offsets = Array::from_slice(s, &[4], &[0_u16, 3, 3, 4])?;
        assert_eq!(x.segment_sum(s, &offsets)?.to_vec(s)?, [9_i64, 12, 0, 0, 7, 8]);
        let mut least = Array::full(s, &[2, 4], -1)?;
        let ends = Array::from_slice(s, &[3], &[0_i32, 2, 4])?;
        x.view().segment_minimum_into(s, &ends, &mut least.view_mut().slice_axis(1, ..2)?)?;
        assert_eq!(least.to_vec(s)?, [1, 2, -1, -1, 5, 6, -1, -1]);
        assert_eq!(x.segment_maximum(s, &ends)?.to_vec(s)?, [3, 4, 7, 8]);
        Ok(())
    });
}

#[test]
fn indices_without_a_place_and_empty_groups_are_told_at_a_wait() {
    use GatherOperation::{BinCount, PutAdd, SegmentMaximum, SegmentSum};
    use IndexFault::{EmptyGroup, Outside};
    on_both(|s| {
        let x = Array::from_slice(s, &[4], &[1_u64, u64::MAX, 0, 7])?;
        let counts = x.bincount(s, 2)?;
        assert_eq!(told(s), (BinCount, Outside, None, 1, i64::MAX, 2));
        assert_eq!(counts.to_vec(s)?, [1, 1]);
        let none = x.bincount(s, 0)?;
        assert_eq!((told(s), none.shape()), ((BinCount, Outside, None, 0, 1, 0), &[0][..]));

        let mut y = Array::zeros(s, &[2, 3])?;
        let by = Array::from_slice(s, &[3], &[0, -4, 3])?;
        y.view_mut().put_add(s, -1, &by, &Array::full(s, &[], 5)?)?;
        assert_eq!(told(s), (PutAdd, Outside, Some(1), 1, -4, 3));
        assert_eq!(y.to_vec(s)?, [5, 0, 0, 5, 0, 0]);
        let mut nothing = Array::<i32, _>::zeros(s, &[0])?;
        nothing.view_mut().put_add(s, 0, &by, &Array::full(s, &[], 5)?)?;
        assert_eq!(told(s), (PutAdd, Outside, Some(0), 0, 0, 0));

        let z = Array::from_slice(s, &[3], &[1.0_f32, 2.0, 4.0])?;
        let falls = Array::from_slice(s, &[4], &[0, 2, 1, 3])?;
        let sums = z.segment_sum(s, &falls)?;
        assert_eq!(told(s), (SegmentSum, Outside, Some(0), 2, 1, 3));
        assert_eq!(sums.to_vec(s)?, [3.0, 0.0, 6.0]);
        let empty = Array::from_slice(s, &[4], &[0, 2, 2, 3])?;
        let greatest = z.segment_maximum(s, &empty)?;
        assert_eq!(told(s), (SegmentMaximum, EmptyGroup, Some(0), 2, 2, 3));
        assert_eq!(greatest.to_vec(s)?, [2.0, 0.0, 4.0]);
        Ok(())
    });
}

#[test]
fn mistakes_are_refused_at_the_call_and_change_nothing() {
    on_both(|s| {
        let mut x = Array::from_slice(s, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
        let axis = |error: Error| matches!(error, Error::Layout(LayoutError::AxisOutOfRange { .. }, _));
        assert!(axis(x.sort(s, 2).unwrap_err()) && axis(x.median(s, -3).unwrap_err()));
        assert!(axis(
            x.view_mut().put_add(s, 5, &Array::full(s, &[1], 0)?, &Array::full(s, &[1], 0.0)?).unwrap_err()
        ));
        assert_eq!(kind(&x.topk(s, 4, 1).unwrap_err()), OrderErrorKind::Shape);
        assert_eq!(kind(&x.quantile(s, f64::NAN, 1).unwrap_err()), OrderErrorKind::Shape);
        let empty = Array::<f64, _>::zeros(s, &[2, 0])?;
        assert_eq!(kind(&empty.median(s, 1).unwrap_err()), OrderErrorKind::Empty);
        assert_eq!(empty.median(s, 0)?.shape(), [0]);
        let mut narrow = Array::<f32, _>::zeros(s, &[2, 2])?;
        let refused = x.view().sort_into(s, 1, &mut narrow).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::ShapeMismatch { .. }, _)), "{refused}");
        assert!(refused.location().is_some(), "the line of the program");
        let refused = x.topk(s, 9, 1).unwrap_err();
        assert_eq!(refused.location().map(|at| at.file()), Some(file!()));

        // A put whose values do not fit leaves a new result unchanged.
        let mut to = Array::full(s, &[2, 3], 9.0_f32)?;
        let (by, v) = (Array::full(s, &[2], 0_i32)?, Array::full(s, &[2, 2], 1.0_f32)?);
        let put = Call::Put { operation: Combining::Sum, axis: 1 };
        let f32s = |view| (ElementType::F32, view);
        let inputs = [
            f32s(x.as_erased().view()),
            (ElementType::I32, by.as_erased().view()),
            f32s(v.as_erased().view()),
        ];
        let mut out = to.view_mut().into_erased();
        put.apply_into(s, &inputs, &mut [Some(out.reborrow())], None)?;
        assert_eq!(to.to_vec(s)?, [3.0, 2.0, 3.0, 6.0, 5.0, 6.0]);
        let three = Array::full(s, &[2, 3], 1.0_f32)?;
        let inputs = [inputs[0].clone(), inputs[1].clone(), f32s(three.as_erased().view())];
        let mut out = to.view_mut().into_erased();
        let refused = put.apply_into(s, &inputs, &mut [Some(out.reborrow())], None).unwrap_err();
        assert_eq!(kind(&refused), OrderErrorKind::Shape);
        assert_eq!(to.to_vec(s)?, [3.0, 2.0, 3.0, 6.0, 5.0, 6.0]);
        let refused = Call::Histogram.apply(s, &[(ElementType::Bool, by.as_erased().view())]).unwrap_err();
        assert_eq!(kind(&refused), OrderErrorKind::Type);
        let refused = Call::Unique.apply(s, &[(ElementType::U8, by.as_erased().view())]).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::ElementSize { .. }, _)), "{refused}");
        let twice = Array::full(s, &[2], 1.0_f32)?;
        let other = Context::new(AnyDevice::from(MockDevice::new()))?.stream()?;
        assert!(matches!(
            twice.sort(&other, 0).unwrap_err(),
            Error::DeviceMismatch { operation: "sort", .. }
        ));
        Ok(())
    });
}

/// On the simulator, elements without a value are found, races are found, faults strike the call,
/// and calls are counted.
#[test]
fn the_simulator_judges_calls() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let s = context.stream().unwrap();
    let x = Array::<i32, _>::uninit(&s, &[4]).unwrap();
    let sorted = x.sort(&s, 0).unwrap();
    s.synchronize().unwrap();
    let codes = || device.report().findings.iter().map(|finding| finding.code).collect::<Vec<_>>();
    assert_eq!(codes(), [Code::Uninitialized]);
    // The twin: elements with a value.
    let _ = sorted.sort(&s, 0).unwrap();
    s.synchronize().unwrap();
    assert_eq!(codes(), [Code::Uninitialized]);
    // An array that receives a partial put is read whole.
    let mut y = Array::<i32, _>::uninit(&s, &[4]).unwrap();
    let by = Array::from_slice(&s, &[1], &[0]).unwrap();
    y.view_mut().put_add(&s, 0, &by, &by).unwrap();
    s.synchronize().unwrap();
    assert_eq!(codes(), [Code::Uninitialized; 2]);
    assert_eq!((device.statistics().executed.orders.count, context.statistics().orders), (3, 3));
    assert!(context.statistics().ordered_bytes == 48);
}

#[test]
fn a_fault_hits_the_call_and_nothing_is_enqueued() {
    let plan = FaultPlan::new().nth(Site::Order, 0, FaultKind::Refused);
    let device = MockDevice::builder().faults(plan).build();
    let s = Context::new(device).unwrap().stream().unwrap();
    let x = Array::from_slice(&s, &[2], &[2, 1]).unwrap();
    assert!(x.sort(&s, 0).is_err());
    assert_eq!(x.sort(&s, 0).unwrap().to_vec(&s).unwrap(), [1, 2]);
}

#[test]
fn a_device_without_the_capability_says_so_by_name() {
    let mut capabilities = Capabilities::default();
    capabilities.extras = Capability::ALL.into();
    capabilities.extras = capabilities.extras.without(Capability::Orders);
    let device = MockDevice::builder().capabilities(capabilities).build();
    let s = Context::new(device).unwrap().stream().unwrap();
    let x = Array::from_slice(&s, &[2], &[2, 1]).unwrap();
    let refused = x.argsort(&s, 0).unwrap_err();
    assert!(matches!(
        refused,
        Error::Unsupported { operation: "argsort", capability: Capability::Orders, .. }
    ));
    assert_eq!(x.to_vec(&s).unwrap(), [2, 1]);
}

#[test]
fn operations_of_other_streams_wait_for_calls() {
    on_both(|s| {
        let (a, b) = (s.context().stream()?, s.context().stream()?);
        let mut y = Array::zeros(&a, &[2])?;
        let by = Array::from_slice(&a, &[3], &[0, 1, 0])?;
        for _ in 0..5 {
            y.view_mut().put_add(&a, 0, &by, &by)?;
            y.view_mut().put_add(&b, 0, &by, &Array::full(&b, &[], 1)?)?;
            let sorted = y.sort(&a, 0)?;
            let _ = sorted.sort_descending(&b, 0)?;
        }
        assert_eq!(y.to_vec(&b)?, [10, 10]);
        Ok(())
    });
}
