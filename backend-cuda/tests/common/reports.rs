//! Random recordings of calls that may find an index without a place: each launch tells what its calls would tell.

use devarray::{
    Array, ArrayView, ArrayViewMut, Error, Result, StreamHandle,
    backend::Compute,
    gather::{OutOfRange, Repeats},
    ix,
};
use devarray_conformance::Rng;

const COLUMNS: usize = 40;

/// Makes a call for each row of indices; the kind of call by `seed`. Gathers alone, or operations of order, too.
fn calls<D: Compute>(
    on: &StreamHandle<D>,
    (seed, orders): (u64, bool),
    x: &ArrayView<'_, i32, D>,
    by: &ArrayView<'_, i32, D>,
    y: &mut ArrayViewMut<'_, i32, D>,
) -> Result<()> {
    let mut rng = Rng::new(seed);
    for row in 0..by.shape()[0] {
        let by = by.index(&ix![row])?;
        match rng.below(if orders { 6 } else { 2 }) {
            0 => {
                let taken = x.take(on, &by, 0, OutOfRange::Error)?;
                y.update(on, &taken, |y, x| y * 3 + x)?;
            }
            1 => y.put(on, &by, x, 0, OutOfRange::Error, Repeats::Last)?,
            2 => {
                let counts = by.bincount(on, COLUMNS)?;
                y.update(on, &counts, |y, count| y + count.cast::<i32>())?;
            }
            3 => y.put_add(on, 0, &by, x)?,
            kind => {
                let mut count = Array::<i64, D>::zeros(on, &[])?;
                let len = 1 + rng.below(COLUMNS);
                if kind == 4 {
                    by.unique_into(on, &mut Array::<i32, D>::zeros(on, &[len])?, &mut count)?;
                } else {
                    by.nonzero_into(on, &mut Array::<i64, D>::zeros(on, &[len, 1])?, &mut count)?;
                }
                y.update(on, &count, |y, count| y + count.cast::<i32>())?;
            }
        }
    }
    Ok(())
}

/// The indices, positions and lines of all errors that waits tell.
fn told<D: Compute>(s: &StreamHandle<D>) -> Vec<(i64, u64, u64, Option<u32>)> {
    std::iter::from_fn(|| match s.synchronize() {
        Ok(()) => None,
        Err(Error::Index { error, call, .. }) => {
            Some((error.value, error.position, error.bound, call.location().map(|at| at.line())))
        }
        Err(other) => panic!("{other}"),
    })
    .collect()
}

/// Compares a recording of a random program with its calls: launches on two streams follow each other, with other
/// indices each, before anything is waited for. Returns the number of errors.
pub(crate) fn compare<D: Compute>(
    s: &StreamHandle<D>,
    of: (u64, bool),
    check: impl Fn(bool),
) -> Result<usize> {
    let mut rng = Rng::new(of.0 ^ 0x5eed);
    let x = Array::<i32, D>::arange(s, 0, i32::try_from(COLUMNS).unwrap(), 1)?;
    let most_rows = *rng.pick(&[5, 150]);
    let rows = 2 + rng.below(most_rows);
    let launches = 1 + rng.below(6);
    let index = |rng: &mut Rng, wrong: usize| match rng.below(wrong) {
        0 => *rng.pick(&[-41, 40, 41, i32::MAX, i32::MIN]),
        _ => i32::try_from(rng.below(COLUMNS)).unwrap(),
    };
    let indices: Vec<Array<i32, D>> = (0..launches)
        .map(|_| {
            let wrong = *rng.pick(&[1 << 40, 8 * COLUMNS, COLUMNS / 2]);
            let all: Vec<i32> = (0..rows * COLUMNS).map(|_| index(&mut rng, wrong)).collect();
            Array::from_slice(s, &[rows, COLUMNS], &all)
        })
        .collect::<Result<_>>()?;
    let mut by = Array::<i32, D>::zeros(s, &[rows, COLUMNS])?;
    let [mut y, mut due] = [Array::<i32, D>::zeros(s, &[COLUMNS])?, Array::zeros(s, &[COLUMNS])?];
    let recorded = s.record_work((&x, &by, &mut y), |on, (x, by, mut y)| calls(on, of, &x, &by, &mut y))?;
    let other = s.context().stream()?;
    let streams = [s, &other];
    let on: Vec<_> = (0..launches).map(|_| *rng.pick(&streams)).collect();
    for (on, of_launch) in on.iter().zip(&indices) {
        by.copy_from(on, of_launch)?;
        recorded.launch(on, (&x, &by, &mut y))?;
    }
    check(recorded.is_captured());
    let found = streams.map(told);
    for (on, of_launch) in on.iter().zip(&indices) {
        calls(on, of, &x.view(), &of_launch.view(), &mut due.view_mut())?;
    }
    assert_eq!(found, streams.map(told), "{of:?}: {rows} rows, {launches} launches");
    assert_eq!(y.to_vec(s)?, due.to_vec(s)?, "{of:?}: {rows} rows, {launches} launches");
    Ok(found.iter().map(Vec::len).sum())
}
