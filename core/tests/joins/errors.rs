//! Joins and pads that are refused.

use devarray::{Array, Context, Error, LayoutError, Pad, Result, Statistics};
use devarray_mock::MockDevice;

use super::{Owned, View, counted, stream};

fn layout_error<T: std::fmt::Debug>(result: Result<T>) -> LayoutError {
    match result.unwrap_err() {
        Error::Layout(error, ..) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn what_numpy_refuses_is_refused_and_nothing_is_enqueued() {
    let stream = stream();
    let (a, b) = (Owned::zeros(&stream, &[2, 3]).unwrap(), Owned::zeros(&stream, &[2, 4]).unwrap());
    let (scalar, empty) = (Owned::zeros(&stream, &[]).unwrap(), Owned::zeros(&stream, &[2, 0]).unwrap());
    let mut small = Owned::zeros(&stream, &[2, 2]).unwrap();
    let ((), work) = counted(&stream, || {
        let concatenate = |parts: &[View<'_>], axis| layout_error(Array::concatenate(&stream, parts, axis));
        let mismatch = |expected: &[usize], found: &[usize]| LayoutError::ShapeMismatch {
            expected: expected.into(),
            found: found.into(),
        };
        assert_eq!(concatenate(&[], 0), LayoutError::NothingToJoin);
        assert_eq!(layout_error(Owned::stack(&stream, &[], 0)), LayoutError::NothingToJoin);
        assert_eq!(concatenate(&[scalar.view()], 0), LayoutError::AxisOutOfRange { axis: 0, rank: 0 });
        assert_eq!(concatenate(&[a.view()], -3), LayoutError::AxisOutOfRange { axis: -3, rank: 2 });
        assert_eq!(concatenate(&[a.view(), b.view()], 0), mismatch(&[2, 3], &[2, 4]));
        let rank = LayoutError::RankMismatch { expected: 2, found: 0 };
        assert_eq!(concatenate(&[a.view(), scalar.view()], 0), rank);
        let stacked = Array::stack(&stream, &[a.view(), b.view()], 0);
        assert_eq!(layout_error(stacked), mismatch(&[2, 3], &[2, 4]));
        let stacked = Array::stack(&stream, &[a.view()], 3);
        assert_eq!(layout_error(stacked), LayoutError::AxisOutOfRange { axis: 3, rank: 3 });
        let into = small.view_mut().concatenate_from(&stream, &[a.view(), b.view()], 1);
        assert_eq!(layout_error(into), mismatch(&[2, 2], &[2, 7]));

        let widths = LayoutError::RankMismatch { expected: 2, found: 3 };
        assert_eq!(layout_error(a.pad(&stream, &[(1, 1); 3], Pad::Edge)), widths);
        let unpadded = a.pad(&stream, &[], Pad::Edge);
        assert_eq!(layout_error(unpadded), LayoutError::RankMismatch { expected: 2, found: 0 });
        for mode in [Pad::Edge, Pad::Reflect, Pad::Wrap] {
            let refused = empty.pad(&stream, &[(0, 0), (0, 1)], mode);
            assert_eq!(layout_error(refused), LayoutError::EmptyAxis { axis: 1 });
        }
        for widths in [[(0, 0), (usize::MAX, 0)], [(0, 0), (usize::MAX / 4, 0)], [(1 << 40, 0), (1 << 40, 0)]]
        {
            for mode in [Pad::Constant(1), Pad::Edge, Pad::Reflect, Pad::Wrap] {
                assert_eq!(layout_error(a.pad(&stream, &widths, mode)), LayoutError::Overflow);
            }
        }
        let into = a.view().pad_into(&stream, &[(0, 0)], Pad::Edge, &mut small.view_mut());
        assert_eq!(layout_error(into), mismatch(&[2, 2], &[2, 3]));

        let rolled = a.roll(&stream, &[1, 2], &[0]);
        assert_eq!(layout_error(rolled), LayoutError::RankMismatch { expected: 1, found: 2 });
        let rolled = a.roll(&stream, &[1], &[2]);
        assert_eq!(layout_error(rolled), LayoutError::AxisOutOfRange { axis: 2, rank: 2 });
        assert_eq!(layout_error(a.tile(&stream, &[usize::MAX])), LayoutError::Overflow);
        let repeated = scalar.repeat(&stream, 2, 0);
        assert_eq!(layout_error(repeated), LayoutError::AxisOutOfRange { axis: 0, rank: 0 });
        assert_eq!(layout_error(a.repeat(&stream, usize::MAX, 1)), LayoutError::Overflow);

        let erased = a.view().as_erased().pad(&stream, &[(1, 1)], Pad::Constant(&[1, 2]));
        assert!(matches!(layout_error(erased), LayoutError::ElementSize { item_bytes: 2, .. }));
    });
    assert_eq!(work, Statistics::default());
    let stranger = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let foreign = Owned::zeros(&stranger, &[2, 3]).unwrap();
    let mixed = Array::concatenate(&stream, &[a.view(), foreign.view()], 0);
    assert!(matches!(mixed, Err(Error::DeviceMismatch { .. })));
    assert!(matches!(foreign.tile(&stream, &[2]), Err(Error::DeviceMismatch { .. })));
}
