//! Branches of graphs on the fake: calls that do not conflict do not wait for each other, and share no memory.

use std::sync::Arc;

use devarray::{Array, ArrayView, ArrayViewMut, Context, StreamHandle, ix, prelude::*, product::Precision};
use devarray_cuda::{
    CudaDevice,
    driver::{Driver, Function},
};

use super::{
    branches_of::{Calls, compare},
    cublaslt,
    driver::table,
    graphs::Turns,
    state::Fake,
};

type On = StreamHandle<CudaDevice>;
type In<'r> = ArrayView<'r, f32, CudaDevice>;
type Out<'r> = ArrayViewMut<'r, f32, CudaDevice>;

fn open(driver: &Arc<Driver>) -> Context<CudaDevice> {
    Context::new(CudaDevice::open_with(driver, 0).unwrap()).unwrap()
}

fn close(fake: &Fake, context: Context<CudaDevice>) {
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// The nodes that each node of the only graph depends on.
fn edges(fake: &Fake) -> Vec<Vec<usize>> {
    fake.state(|state| state.graphs.only().into_iter().map(|(_, behind)| behind).collect())
}

#[test]
fn nodes_depend_on_what_they_conflict_with() {
    let fake = Fake::new();
    let context = open(&fake.driver());
    let s = context.stream().unwrap();
    let x = Array::from_slice(&s, &[100], &[2.0_f32; 100]).unwrap();
    let mut y = Array::<f32, _>::zeros(&s, &[100]).unwrap();
    let work = |on: &On, x: In<'_>, mut y: Out<'_>| {
        let twice = x.map(on, |x| x * 2.0)?;
        let more = x.map(on, |x| x + 1.0)?;
        let mut copy = Array::<f32, _>::uninit(on, &[100])?;
        copy.view_mut().copy_from(on, &twice.view())?;
        (&more, &copy).map_into(on, &mut y, |(more, copy)| more * copy)?;
        y.update(on, &twice, |y, twice| y + twice)
    };
    let recorded = s.record_work((&x, &mut y), |on, (x, y)| work(on, x, y)).unwrap();
    recorded.launch(&s, (&x, &mut y)).unwrap();
    assert_eq!(edges(&fake), [vec![], vec![], vec![0], vec![1, 2], vec![3]]);
    for turns in [Turns::Captured, Turns::Across, Turns::Backwards] {
        fake.state(|state| state.graphs.turns = turns);
        recorded.launch(&s, (&x, &mut y)).unwrap();
        assert_eq!(y.to_vec(&s).unwrap(), [16.0; 100], "{turns:?}");
    }
    // The twin: without its edges the graph gives something else.
    fake.state(|state| state.graphs.turns = Turns::Loose(2));
    recorded.launch(&s, (&x, &mut y)).unwrap();
    assert_ne!(y.to_vec(&s).unwrap(), [16.0; 100]);
    drop((recorded, x, y, s));
    close(&fake, context);
}

#[test]
fn calls_one_behind_the_other_are_captured_as_they_come() {
    let fake = Fake::new();
    let context = open(&fake.driver());
    let s = context.stream().unwrap();
    let mut sum = Array::<f32, _>::zeros(&s, &[100]).unwrap();
    let recorded = s
        .record_work((&mut sum,), |on, (mut sum,)| {
            (0..5).try_for_each(|_| sum.update(on, (), |x, ()| x + 1.0))
        })
        .unwrap();
    recorded.launch(&s, (&mut sum,)).unwrap();
    assert_eq!(edges(&fake), [vec![], vec![0], vec![1], vec![2], vec![3]]);
    let driver = context.device().driver();
    for function in [Function::StreamGetCaptureInfo, Function::StreamUpdateCaptureDependencies] {
        assert_eq!(driver.calls(function), 0, "{function:?}");
    }
    drop((recorded, sum, s));
    close(&fake, context);
}

const ROWS: usize = 4;
const LEN: usize = 70_001;

/// Rows, and the place of the largest element of each.
fn rows(s: &On) -> (Array<f32, CudaDevice>, Vec<i64>) {
    let places: Vec<i64> = (1..).take(ROWS).map(|row| row * 15_000).collect();
    let mut numbers = vec![1.0; ROWS * LEN];
    for (row, place) in numbers.chunks_mut(LEN).zip(&places) {
        row[usize::try_from(*place).unwrap()] = 2.0;
    }
    (Array::from_slice(s, &[ROWS, LEN], &numbers).unwrap(), places)
}

/// Each row is reduced by a call of its own, in two kernels.
#[test]
fn branches_share_no_memory_of_operations() {
    for in_order in [false, true] {
        let fake = Fake::new();
        // A driver that cannot tell the nodes leaves all in order.
        let functions = if in_order { table().without(Function::StreamGetCaptureInfo) } else { table() };
        let context = open(&fake.driver_of(functions));
        let s = context.stream().unwrap();
        let (x, due) = rows(&s);
        let mut places = Array::<i64, _>::zeros(&s, &[ROWS]).unwrap();
        let recorded = s
            .record_work((&x, &mut places), |on, (x, mut places)| {
                (0..ROWS).try_for_each(|row| {
                    let place = x.slice_axis(0, row..=row)?.argmax(on, 1)?;
                    places.reborrow().slice_axis(0, row..=row)?.copy_from(on, &place)
                })
            })
            .unwrap();
        let mut check = |is_due: bool, what: &str| {
            places.view_mut().fill(&s, 0).unwrap();
            recorded.launch(&s, (&x, &mut places)).unwrap();
            assert_eq!(places.to_vec(&s).unwrap() == due, is_due, "{what}, in order: {in_order}");
        };
        check(true, "as they were captured");
        let found = edges(&fake);
        let first = found.iter().filter(|behind| behind.is_empty()).count();
        assert_eq!(found.len(), 3 * ROWS, "parts, the whole, and a copy of each: {found:?}");
        assert_eq!(first, if in_order { 1 } else { ROWS }, "{found:?}");
        for turns in [Turns::Across, Turns::Backwards] {
            fake.state(|state| state.graphs.turns = turns);
            check(true, "in turns");
        }
        if in_order {
            // The twin: calls in order share memory, so they may not run side by side.
            fake.state(|state| state.graphs.turns = Turns::Loose(3));
            check(false, "without edges");
        }
        drop((recorded, x, places, s));
        close(&fake, context);
    }
}

/// Small reductions have memory in which they count. There is one for each that may run at a time, cleared once.
#[test]
fn reductions_side_by_side_count_apart() {
    for (is_chain, due) in [(false, ROWS), (true, 1)] {
        let fake = Fake::new();
        let context = open(&fake.driver());
        let s = context.stream().unwrap();
        let (x, _) = rows(&s);
        let mut sums = Array::<f32, _>::zeros(&s, &[ROWS]).unwrap();
        let recorded = s
            .record_work((&x, &mut sums), |on, (x, mut sums)| {
                let mut before = Array::<f32, _>::zeros(on, &[1])?;
                (0..ROWS).try_for_each(|row| {
                    let row_of = x.slice_axis(0, row..=row)?;
                    let total = if is_chain {
                        // Each call needs the one before it, which tells it nothing.
                        (&row_of, &before).map(on, |(x, before)| x + before * 0.0)?.sum(on, 1)?
                    } else {
                        // Equal reductions of arrays that lie alike, whose launches are remembered elsewhere.
                        row_of.map(on, |x| x * 1.0)?.sum(on, 1)?
                    };
                    before = total;
                    sums.reborrow().slice_axis(0, row..=row)?.copy_from(on, &before)
                })
            })
            .unwrap();
        let fills =
            || fake.state(|state| state.log.iter().filter(|of| **of == Function::MemsetD32Async).count());
        let before = fills();
        for _ in 0..2 {
            recorded.launch(&s, (&x, &mut sums)).unwrap();
            assert_eq!(sums.to_vec(&s).unwrap(), [(LEN + 1) as f32; ROWS]);
        }
        assert_eq!(fills() - before, due, "a chain: {is_chain}");
        drop((recorded, x, sums, s));
        close(&fake, context);
    }
}

/// The orders of nodes that a launch may have, on chains of many calls.
#[test]
fn chains_side_by_side_give_the_bits_of_their_calls() {
    let fake = Fake::new();
    let context = open(&fake.driver());
    let s = context.stream().unwrap();
    for case in 0..4 {
        compare(&s, (case, Calls::Computed), &[7, 300], &mut |launch| {
            let turns = [Turns::Captured, Turns::Captured, Turns::Across, Turns::Backwards];
            fake.state(|state| state.graphs.turns = turns[launch]);
        })
        .unwrap();
    }
    assert!(context.device().driver().calls(Function::StreamUpdateCaptureDependencies) > 5);
    drop(s);
    close(&fake, context);
}

/// Algorithms of a library use one memory in turns, which is large.
#[test]
fn products_of_a_library_come_behind_each_other_where_they_need_memory() {
    for (needs_bytes, due) in [(1 << 20, vec![vec![], vec![0]]), (0, vec![vec![], vec![]])] {
        let fake = Fake::new();
        fake.state(|state| (state.total_bytes, state.cublaslt.needs_bytes) = (1 << 28, needs_bytes));
        let driver = cublaslt::driver();
        let context = open(&driver);
        let s = context.stream().unwrap();
        let [a, b] = [1.0_f32, 2.0].map(|x| Array::full(&s, &[4, 4], x).unwrap());
        let mut both = Array::<f32, _>::zeros(&s, &[2, 4, 4]).unwrap();
        let recorded = s
            .record_work((&a, &b, &mut both), |on, (a, b, mut both)| {
                let [one, two] = [(&a, &b), (&b, &b)].map(|(a, b)| a.matmul_with(on, b, Precision::Fast));
                let mut first = both.reborrow().index(&ix![0])?;
                (&one?, &two?).map_into(on, &mut first, |(one, two)| one + two)
            })
            .unwrap();
        recorded.launch(&s, (&a, &b, &mut both)).unwrap();
        assert_eq!(edges(&fake)[..2], due[..], "{needs_bytes} bytes");
        fake.state(|state| state.graphs.turns = Turns::Backwards);
        recorded.launch(&s, (&a, &b, &mut both)).unwrap();
        assert_eq!(both.to_vec(&s).unwrap(), [[24.0; 16], [0.0; 16]].concat());
        drop((recorded, a, b, both, s));
        close(&fake, context);
    }
}
