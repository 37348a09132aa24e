//! Nanoseconds per resulting layout, beside the views of the `ndarray` crate:
//! `cargo bench -p devarray --bench layout`.
//!
//! Each figure is the fastest of many batches in several rounds over the whole table, so that
//! neither an interruption nor a slow second of the machine counts. `ndarray` is measured with its
//! rank known at compile time, as fast as it gets, and with its rank known at run time, as ours is.

use std::{hint::black_box, time::Instant};

use devarray::{Array, Context, Layout, NdLayout, Order, ix, layout::Slice};
use devarray_mock::MockDevice;
use ndarray::{ArrayD, Axis, Ix4, Ix6, IxDyn, SliceInfo, SliceInfoElem, s};

const CALLS: u32 = 2_000;
const BATCHES: u32 = 30;
const ROUNDS: u32 = 10;

/// Nanoseconds per result of `call`, which makes `results` of them.
fn time(results: u32, mut call: impl FnMut()) -> f64 {
    let batch = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed().as_secs_f64()
    };
    (0..BATCHES).map(batch).fold(f64::INFINITY, f64::min) * 1e9 / f64::from(CALLS) / f64::from(results)
}

/// A name, and the nanoseconds of each library that can do it.
type Row = (&'static str, Vec<f64>);

macro_rules! keep {
    ($call:expr) => {
        || {
            let _ = black_box($call);
        }
    };
}

fn rank4() -> Vec<Row> {
    let mut rows = vec![];
    let shape = [8, 6, 4, 10];
    let ours = black_box(Layout::contiguous(&shape, Order::C).expect("small"));
    let array = black_box(ArrayD::<f32>::zeros(IxDyn(&shape)));
    let dynamic = array.view();
    let fixed = array.view().into_dimensionality::<Ix4>().expect("rank 4");
    rows.push((
        "permute, rank 4",
        vec![
            time(1, keep!(ours.permute(black_box(&[2, 0, 3, 1])))),
            time(1, keep!(fixed.permuted_axes(black_box([2, 0, 3, 1])))),
            time(1, keep!(dynamic.clone().permuted_axes(black_box(&[2, 0, 3, 1][..])))),
        ],
    ));
    let range = || black_box(1..5);
    rows.push((
        "slice, rank 4",
        vec![
            time(1, keep!(ours.index(&ix![range(), .., 2, ..; -2]))),
            time(1, keep!(fixed.slice(s![range(), .., 2, ..; -2]))),
            time(1, keep!(dynamic.slice(s![range(), .., 2, ..; -2]))),
        ],
    ));
    rows.push((
        "reshape, rank 4 to 4",
        vec![
            time(1, keep!(ours.reshape(black_box(&[4, 2, 24, 10]), Order::C))),
            time(1, keep!(fixed.into_shape_with_order(black_box([4, 2, 24, 10])))),
            time(1, keep!(dynamic.clone().into_shape_with_order(black_box(&[4, 2, 24, 10][..])))),
        ],
    ));
    rows.push((
        "split in 8, rank 4",
        vec![
            time(8, || ours.array_split(black_box(0), black_box(8)).expect("8 parts").for_each(drop_seen)),
            time(8, || fixed.axis_chunks_iter(Axis(black_box(0)), black_box(1)).for_each(drop_seen)),
            time(8, || dynamic.axis_chunks_iter(Axis(black_box(0)), black_box(1)).for_each(drop_seen)),
        ],
    ));
    rows
}

fn rank6() -> Vec<Row> {
    let mut rows = vec![];
    let shape = [8, 3, 4, 2, 5, 6];
    let ours = black_box(Layout::contiguous(&shape, Order::C).expect("small"));
    let array = black_box(ArrayD::<f32>::zeros(IxDyn(&shape)));
    let dynamic = array.view();
    let fixed = array.view().into_dimensionality::<Ix6>().expect("rank 6");
    rows.push((
        "permute, rank 6",
        vec![
            time(1, keep!(ours.permute(black_box(&[2, 0, 3, 1, 5, 4])))),
            time(1, keep!(fixed.permuted_axes(black_box([2, 0, 3, 1, 5, 4])))),
            time(1, keep!(dynamic.clone().permuted_axes(black_box(&[2, 0, 3, 1, 5, 4][..])))),
        ],
    ));
    let items = || -> [SliceInfoElem; 6] {
        let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        let part = SliceInfoElem::Slice { start: black_box(1), end: Some(5), step: 1 };
        [part, whole, whole, whole, SliceInfoElem::Slice { start: 0, end: None, step: -1 }, whole]
    };
    rows.push((
        "slice, rank 6",
        vec![
            time(1, keep!(ours.index(&ix![black_box(1..5), .., .., .., ..; -1, ..]))),
            time(1, keep!(fixed.slice(SliceInfo::<_, Ix6, Ix6>::try_from(items()).expect("rank 6")))),
            time(1, keep!(dynamic.slice(&items()[..]))),
        ],
    ));
    rows.push((
        "reshape, rank 6 to 6",
        vec![
            time(1, keep!(ours.reshape(black_box(&[2, 4, 12, 10, 2, 3]), Order::C))),
            time(1, keep!(fixed.into_shape_with_order(black_box([2, 4, 12, 10, 2, 3])))),
            time(1, keep!(dynamic.clone().into_shape_with_order(black_box(&[2, 4, 12, 10, 2, 3][..])))),
        ],
    ));
    rows.push((
        "split in 8, rank 6",
        vec![
            time(8, || ours.array_split(black_box(0), black_box(8)).expect("8 parts").for_each(drop_seen)),
            time(8, || fixed.axis_chunks_iter(Axis(black_box(0)), black_box(1)).for_each(drop_seen)),
            time(8, || dynamic.axis_chunks_iter(Axis(black_box(0)), black_box(1)).for_each(drop_seen)),
        ],
    ));
    rows
}

/// Measures the same on a view of an array in device memory, which the layout is a part of.
fn views() -> Vec<Row> {
    let context = Context::new(MockDevice::new()).expect("a simulator");
    let stream = context.stream().expect("a stream");
    let four = Array::<f32, _>::zeros(&stream, &[8, 6, 4, 10]).expect("small");
    let six = Array::<f32, _>::zeros(&stream, &[8, 3, 4, 2, 5, 6]).expect("small");
    let (four, six) = (black_box(four.view()), black_box(six.view()));
    let mut rows = vec![];
    let mut one = |name: &'static str, nanoseconds: f64| rows.push((name, vec![nanoseconds]));
    let range = || black_box(1..5);
    one("view permute, rank 4", time(1, keep!(four.permute(black_box(&[2, 0, 3, 1])))));
    one("view slice, rank 4", time(1, keep!(four.index(&ix![range(), .., 2, ..; -2]))));
    one("view reshape, rank 4", time(1, keep!(four.reshape(black_box(&[4, 2, 24, 10]), Order::C))));
    one(
        "view split, rank 4",
        time(8, || four.array_split(black_box(0), black_box(8)).expect("8").for_each(drop_seen)),
    );
    one("view permute, rank 6", time(1, keep!(six.permute(black_box(&[2, 0, 3, 1, 5, 4])))));
    one("view slice, rank 6", time(1, keep!(six.index(&ix![range(), .., .., .., ..; -1, ..]))));
    one("view reshape, rank 6", time(1, keep!(six.reshape(black_box(&[2, 4, 12, 10, 2, 3]), Order::C))));
    one(
        "view split, rank 6",
        time(8, || six.array_split(black_box(0), black_box(8)).expect("8").for_each(drop_seen)),
    );
    rows
}

/// Calls without a counterpart, at rank 6.
fn ours_alone() -> Vec<Row> {
    let ours = black_box(Layout::contiguous(&[8, 3, 4, 2, 5, 6], Order::C).expect("small"));
    let turned = black_box(ours.transpose());
    let mut rows = vec![];
    let mut one = |name: &'static str, nanoseconds: f64| rows.push((name, vec![nanoseconds]));
    one("clone", time(1, keep!(ours.clone())));
    one("of (check)", time(1, keep!(black_box(&ours).to_layout())));
    one("flip", time(1, keep!(ours.flip(black_box(&[0, 3])))));
    one("squeeze", time(1, keep!(ours.squeeze())));
    one("broadcast_to", time(1, keep!(ours.broadcast_to(black_box(&[8, 3, 4, 2, 5, 6])))));
    one("reshape of strided", time(1, keep!(turned.reshape(black_box(&[6, 5, 2, 4, 3, 8]), Order::C))));
    one("ravel", time(1, keep!(ours.ravel(Order::C))));
    one("dense_like K", time(1, keep!(turned.dense_like(Order::K))));
    one("is_c_contiguous", time(1, keep!(ours.is_c_contiguous())));
    one("injectivity", time(1, keep!(ours.injectivity())));
    let half = |first: usize| ours.slice_axis(1, Slice::from(first..).step_by(2)).expect("axis 1");
    let (even, odd) = (half(0), half(1));
    one("overlap of interleaved", time(1, keep!(even.overlap(black_box(&odd)))));
    rows
}

#[expect(clippy::needless_pass_by_value, reason = "the drop is part of what is timed")]
fn drop_seen<T>(part: T) {
    black_box(&part);
}

fn main() {
    let round = |_| [rank4(), rank6(), views(), ours_alone()].concat();
    let fastest = |best: Vec<Row>, next: Vec<Row>| -> Vec<Row> {
        let faster =
            |(best, next): (Row, Row)| (best.0, best.1.iter().zip(next.1).map(|(a, b)| a.min(b)).collect());
        best.into_iter().zip(next).map(faster).collect()
    };
    let rows = (0..ROUNDS).map(round).reduce(fastest).unwrap_or_default();
    println!(
        "{:<28}{:>12}{:>16}{:>16}",
        "ns per resulting layout", "devarray", "ndarray fixed", "ndarray dynamic"
    );
    for (name, nanoseconds) in rows {
        print!("{name:<28}");
        nanoseconds.iter().zip([12, 16, 16]).for_each(|(figure, width)| print!("{figure:>width$.1}"));
        println!();
    }
}
