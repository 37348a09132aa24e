//! Times gathers and puts on the simulator and in the loop of core that defines them. Prints nanoseconds
//! per element and the ratio of both times.
//!
//! `cargo run --release -p devarray-mock --example gathers -- 1`. A larger number N makes the sizes N times smaller.
//! Without a number the sizes are small: this tests that the example runs, and measures nothing.
#![allow(unsafe_code)] // calls core's loop on memory of its own

use std::time::Instant;

use devarray::{
    Array, Context, Layout, Order, StreamHandle,
    gather::{
        Direction, GatherMemory, GatherOperation, Gathering, Index, IndexedAxis, OutOfRange, Repeats,
        gather_on_host,
    },
};
use devarray_mock::{MockDevice, Schedule};

type Stream = StreamHandle<MockDevice>;

fn main() {
    let divide: usize = std::env::args().nth(1).map_or(1000, |text| text.parse().expect("a number"));
    println!("ns an element, and times core's loop; without the judge, with it\n");
    println!("| call | row, indices | elements | core | without | with |\n|---|---|---|---|---|---|");
    for len in [1 << 10, 1 << 16, 1 << 20].map(|len: usize| (len / divide).max(32)) {
        of_type::<i32>("i32", len, |at| i32::try_from(at).expect("small"));
        of_type::<u32>("u32", len, |at| u32::try_from(at).expect("small"));
        of_type::<i64>("i64", len, |at| i64::try_from(at).expect("small"));
    }
}

/// Shuffles the numbers below `len`, in the same way in every run.
fn shuffled(len: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..len).collect();
    let mut state = 1_u64;
    for at in (1..len).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from(state >> 33).expect("31 bits") % (at + 1);
        numbers.swap(at, other);
    }
    numbers
}

/// The least time of a call and the wait for it, in nanoseconds per element.
fn least(len: usize, mut call: impl FnMut()) -> f64 {
    call();
    let mut best = f64::INFINITY;
    // With small arrays, two tries show that the example works.
    let (tries, elements) = if len < 1 << 10 { (2, len) } else { (15, 1 << 16) };
    for _ in 0..tries {
        let rounds = elements.div_ceil(len);
        let start = Instant::now();
        (0..rounds).for_each(|_| call());
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let each = start.elapsed().as_secs_f64() * 1e9 / (rounds * len) as f64;
        best = best.min(each);
    }
    best
}

/// Times core's loop over indices along the first axis, with rows of `row` elements of 4 bytes.
fn on_host<I: Index>(direction: Direction, indices: &mut [I], row: usize) -> f64 {
    let len = indices.len();
    let (mut indexed, mut elements) = (vec![0_u32; len * row], vec![1_u32; len * row]);
    let shape = [len, row];
    let dense = Layout::contiguous(&shape, Order::C).expect("small");
    let along = Layout::new(&shape, &[0, 1], 0).expect("small");
    let column = Layout::new(&shape, &[1, 0], 0).expect("small");
    let memory = GatherMemory {
        indexed: indexed.as_mut_ptr().cast(),
        indices: indices.as_mut_ptr().cast(),
        mask: std::ptr::null(),
        elements: elements.as_mut_ptr().cast(),
    };
    let work = Gathering {
        operation: GatherOperation::Take,
        axis: Some(0),
        direction,
        out_of_range: OutOfRange::Error,
        repeats: Repeats::Last,
        width_bytes: 4,
        shape: &shape,
        indexed_axes: &[IndexedAxis { extent: len, stride: row.cast_signed() }],
        indexed: &along,
        indices: &column,
        index_type: I::TYPE,
        positions: &[1, 0],
        mask: None,
        elements: &dense,
    };
    least(len * row, || {
        // SAFETY: the layouts lie in the three vectors, which nothing else uses
        let error = unsafe { gather_on_host(&work, memory) };
        assert!(error.is_none());
    })
}

type Call<I> = fn(&Stream, &mut Array<u32, MockDevice>, &Array<u32, MockDevice>, &Array<I, MockDevice>);

fn take<I: Index>(
    stream: &Stream,
    to: &mut Array<u32, MockDevice>,
    from: &Array<u32, MockDevice>,
    by: &Array<I, MockDevice>,
) {
    from.view().take_into(stream, by, 0, OutOfRange::Error, &mut to.view_mut()).expect("in range");
}

fn put_last<I: Index>(
    stream: &Stream,
    to: &mut Array<u32, MockDevice>,
    from: &Array<u32, MockDevice>,
    by: &Array<I, MockDevice>,
) {
    to.view_mut().put(stream, by, from, 0, OutOfRange::Error, Repeats::Last).expect("in range");
}

fn put_none<I: Index>(
    stream: &Stream,
    to: &mut Array<u32, MockDevice>,
    from: &Array<u32, MockDevice>,
    by: &Array<I, MockDevice>,
) {
    to.view_mut().put(stream, by, from, 0, OutOfRange::Error, Repeats::None).expect("in range");
}

fn of_type<I: Index>(name: &str, len: usize, index: impl Fn(usize) -> I) {
    for row in [1, 16] {
        let mut by: Vec<I> = shuffled(len / row).into_iter().map(&index).collect();
        let calls: [(&str, Direction, Call<I>); 3] = [
            ("take", Direction::Gather, take),
            ("put, last", Direction::Scatter, put_last),
            ("put, none", Direction::Scatter, put_none),
        ];
        for (call, way, run) in calls {
            let core = on_host(way, &mut by, row);
            let times = [false, true].map(|judge| {
                let device = MockDevice::builder().schedule(Schedule::Eager).judge(judge).build();
                let stream = Context::new(device).and_then(|context| context.stream()).expect("a stream");
                let mut to = Array::zeros(&stream, &[len / row, row]).expect("memory");
                let from = Array::ones(&stream, &[len / row, row]).expect("memory");
                let by = Array::from_slice(&stream, &[len / row], &by).expect("memory");
                least(len, || {
                    run(&stream, &mut to, &from, &by);
                    stream.synchronize().expect("a wait");
                })
            });
            let [without, with] = times.map(|time| format!("{time:.1} ({:.1})", time / core));
            println!("| {call} | {row} {name} | {len} | {core:.1} | {without} | {with} |");
            assert!(times.into_iter().all(|time| time > 0.0));
        }
    }
}
