//! Calls on slices: refusals, and results that are shorter or longer than the input.

use devarray_function::Computable;
use devarray_layout::Bool;
use devarray_order::{
    Combining, OrderErrorKind, bincount, bincount_weighted, histogram, median, nonzero, put, quantile,
    search_sorted, segments, sort, top_k, unique, unique_all,
};

#[test]
fn nothing_in_is_nothing_out() {
    let none: [f32; 0] = [];
    assert!(sort(&none, true).is_empty() && unique(&none).is_empty() && nonzero(&none).is_empty());
    assert_eq!(bincount(&[] as &[u8], 2), Ok(vec![0, 0]));
    assert_eq!(histogram(&none, &[0.0, 1.0]), Ok(vec![0]));
    assert_eq!(median(&none).map_err(|error| error.kind()), Err(OrderErrorKind::Empty));
    assert_eq!(segments::<_, _, f32>(&none, &[0, 0], Combining::Sum), Ok(vec![0.0]));
    assert_eq!(put(&mut [] as &mut [f32], &[] as &[i32], &none, Combining::Sum), Ok(()));
}

/// The place before all equal elements, and the place after them. NaN is above every number.
#[test]
fn elements_are_put_in_where_they_still_ascend() {
    let ascending = [-1.0, 0.0, 2.0, 2.0, 4.0, f64::NAN];
    let v = [2.0, -5.0, f64::INFINITY, f64::NAN, -0.0];
    for right in [false, true] {
        let goes_before = |bin: f64, x: f64| match (bin.is_nan(), x.is_nan()) {
            (true, _) => right && x.is_nan(),
            (false, true) => true,
            _ => bin < x || right && bin == x,
        };
        let due = v.map(|x| ascending.iter().filter(|&&bin| goes_before(bin, x)).count());
        assert_eq!(search_sorted(&ascending, &v, right), due, "right: {right}");
    }
}

#[test]
fn mistakes_are_told_not_panics() {
    let kind = |error: devarray_order::OrderError| error.kind();
    assert_eq!(top_k(&[1, 2], 3, true).map_err(kind), Err(OrderErrorKind::Shape));
    assert_eq!(quantile(&[1.0], -0.5).map_err(kind), Err(OrderErrorKind::Shape));
    assert_eq!(histogram(&[1.0], &[1.0]).map_err(kind), Err(OrderErrorKind::Shape));
    assert_eq!(
        segments::<_, _, f32>(&[1, 2], &[0, 2], Combining::Sum).map_err(kind),
        Err(OrderErrorKind::Type)
    );
    assert_eq!(
        segments::<_, _, i64>(&[1, 2], &[] as &[i32], Combining::Sum).map_err(kind),
        Err(OrderErrorKind::Shape)
    );
    assert_eq!(bincount_weighted::<_, _, i64>(&[1], &[1_u8], 2).map_err(kind), Err(OrderErrorKind::Type));
    assert_eq!(put(&mut [1.0], &[0_u8], &[1.0], Combining::Sum).map_err(kind), Err(OrderErrorKind::Type));
    assert_eq!(put(&mut [1.0], &[0, 0], &[1.0; 3], Combining::Sum).map_err(kind), Err(OrderErrorKind::Shape));
    let mut y = [1, 1];
    assert_eq!(put(&mut y, &[0, 5, 1], &[1, 1, 1], Combining::Sum).map_err(kind), Err(OrderErrorKind::Index));
    assert_eq!(y, [2, 2], "everything else is put");
}

#[test]
fn moved_elements_keep_their_bits_and_computed_ones_have_the_canonical_nan() {
    let signalling = f32::from_bits(0xff80_0001);
    let x = [signalling, 0.0, -0.0, f32::NAN];
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&sort(&x, false)), [0, 1 << 31, 0xff80_0001, 0x7fc0_0000]);
    assert_eq!(bits(&unique(&x)), [0, 0xff80_0001]);
    let mut y = [signalling, signalling];
    put(&mut y, &[0], &[1.0], Combining::Minimum).expect("a place");
    assert_eq!(bits(&y), [0x7fc0_0000, 0xff80_0001]);
    let least = segments::<_, _, f32>(&x, &[0, 1, 3], Combining::Minimum).expect("elements");
    assert_eq!(bits(&least), [0x7fc0_0000, 1 << 31]);
}

#[test]
fn any_byte_but_zero_is_true() {
    let x: [Bool; 4] = bytemuck::cast([2_u8, 0, 1, 255]);
    assert_eq!(bytemuck::cast_slice::<Bool, u8>(&sort(&x, false)), [0, 2, 1, 255]);
    let found = unique_all(&x);
    assert_eq!((found.firsts, found.inverse, found.counts), (vec![1, 0], vec![1, 0, 1, 1], vec![1, 3]));
    assert_eq!(nonzero(&x), [0, 2, 3]);
    assert_eq!(segments::<_, _, i64>(&x, &[0, 4], Combining::Sum), Ok(vec![3]));
    assert_eq!(Bool::TYPE.len_bytes(), 1);
}
