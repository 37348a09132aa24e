//! Time to plan a copy, to start staging it, and to carry it out on the host.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use devarray::{
    Layout, Order,
    backend::Capabilities,
    copy::{Plan, copy_bytes},
};

/// A dense destination and a source of the same shape in another order. No two of the axes merge.
fn reversed(rank: usize) -> (Layout, Layout) {
    let shape: Vec<usize> = (0..rank).map(|axis| 3 + axis).collect();
    let layout = |order| Layout::contiguous(&shape, order).expect("few elements");
    (layout(Order::C), layout(Order::F))
}

fn planning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    let capabilities = Capabilities::default();
    for rank in [1, 2, 4, 6, 8] {
        let (dst, src) = reversed(rank);
        let plan =
            || Plan::new(black_box(&dst), black_box(&src), 4, &capabilities).expect("a dense destination");
        group.bench_function(BenchmarkId::new("reversed", rank), |bencher| bencher.iter(plan));
        let dense =
            || Plan::new(black_box(&dst), black_box(&dst), 4, &capabilities).expect("a dense destination");
        group.bench_function(BenchmarkId::new("dense", rank), |bencher| bencher.iter(dense));
    }
    let (dst, src) = reversed(6);
    let plan = Plan::new(&dst, &src, 4, &capabilities).expect("a dense destination");
    group.bench_function("pack/6", |bencher| bencher.iter(|| black_box(&plan).pack()));
    group.bench_function("first block/6", |bencher| bencher.iter(|| black_box(&plan).blocks(4096).next()));
}

fn host(criterion: &mut Criterion) {
    const SIDE: usize = 1024;
    let mut group = criterion.benchmark_group("host");
    let square = |strides: [isize; 2]| Layout::new(&[SIDE, SIDE], &strides, 0).expect("few elements");
    let side = SIDE.cast_signed();
    let dense = square([side, 1]);
    let sources = [
        ("linear", square([side, 1])),
        ("rows", square([side + 64, 1])),
        ("every second column", square([2 * side, 2])),
        ("transpose", square([1, side])),
    ];
    for item_bytes in [1, 4, 12, 16] {
        for (name, layout) in &sources {
            let plan =
                Plan::new(&dense, layout, item_bytes, &Capabilities::default()).expect("a dense destination");
            let src = vec![1; plan.src_span().end];
            let mut dst = vec![0; plan.dst_span().end];
            group.throughput(Throughput::Bytes(u64::try_from(plan.len_bytes()).expect("few bytes")));
            group.bench_function(BenchmarkId::new(*name, item_bytes), |bencher| {
                bencher.iter(|| copy_bytes(black_box(&plan), &src, &mut dst).expect("room for the spans"));
            });
        }
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    planning(&mut criterion);
    host(&mut criterion);
    criterion.final_summary();
}
