//! Random programs of several chains of calls, which a recording may run side by side.

use devarray::{
    Array, ArrayView, ArrayViewMut, Order, Result, StreamHandle, backend::Compute, gather::OutOfRange, ix,
    math, prelude::*,
};
use devarray_conformance::Rng;

/// The kinds of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Functions, reductions, scans, and copies of whole rows.
    Computed,
    /// Strided copies, products, order and elements by index, too.
    All,
}

/// Chains of calls on the parts of `x`, which end in the parts of `y`. The steps of all chains come in any order; a
/// few read another chain, or what another has written.
pub(crate) fn chains<D: Compute>(
    on: &StreamHandle<D>,
    (seed, calls): (u64, Calls),
    x: &ArrayView<'_, f32, D>,
    y: &mut ArrayViewMut<'_, f32, D>,
    rate: &ArrayView<'_, f32, D>,
) -> Result<()> {
    let mut rng = Rng::new(seed);
    let chains = x.shape()[0];
    let mut now: Vec<Array<f32, D>> = (0..chains)
        .map(|chain| (&x.index(&ix![chain])?, rate).map(on, |(x, rate)| x * rate))
        .collect::<Result<_>>()?;
    for _ in 0..chains * (1 + rng.below(6)) {
        let chain = rng.below(chains);
        let of = &now[chain];
        let next = match rng.below(if calls == Calls::All { 12 } else { 8 }) {
            0 => (of, rate).map(on, |(x, rate)| x / (x.abs() + 1.0) + rate)?,
            1 => {
                let mean = of.mean(on, 1)?;
                (of, &mean.view().expand_dims(1)?).map(on, |(x, mean)| x - mean)?
            }
            2 => of.cumsum(on, 1)?.map(on, |x| x * 0.001)?,
            3 => math::softmax(on, of, 1)?,
            4 => {
                let place = of.argmax(on, 1)?;
                (of, &place.view().expand_dims(1)?).map(on, |(x, place)| x + place.cast::<f32>() * 0.0625)?
            }
            5 => {
                let total = of.sum(on, ..)?;
                (of, &total).map(on, |(x, total)| x - total * 0.001)?
            }
            6 => {
                let other = &now[rng.below(chains)];
                (of, other).map(on, |(x, other)| x * 0.5 - other)?
            }
            7 => {
                y.reborrow().index(&ix![chain])?.copy_from(on, of)?;
                let other = y.as_view().index(&ix![rng.below(chains)])?;
                (of, &other).map(on, |(x, other)| x + other * 0.25)?
            }
            8 => of
                .view()
                .transpose()
                .to_contiguous(on, Order::C)?
                .view()
                .transpose()
                .to_contiguous(on, Order::C)?,
            9 => of.sort(on, -1)?,
            10 => {
                let square = of.matmul(on, &of.transpose())?;
                square.map(on, |x| x / (x.abs() + 1.0))?.matmul(on, of)?
            }
            _ => {
                let places = Array::<i32, D>::full(on, &[of.shape()[1]], -1)?;
                let out_of_range = *rng.pick(&[OutOfRange::Wrap, OutOfRange::Error]);
                let last = of.take(on, &places, 1, out_of_range)?;
                (of, &last).map(on, |(x, last)| x - last * 0.5)?
            }
        };
        now[chain] = next;
    }
    for (chain, of) in now.iter().enumerate() {
        y.reborrow().index(&ix![chain])?.copy_from(on, of)?;
    }
    Ok(())
}

fn numbers(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.below(4_000) as f32 / 64.0 - 31.0).collect()
}

fn bits<D: Compute>(on: &StreamHandle<D>, of: &Array<f32, D>) -> Result<Vec<u32>> {
    Ok(of.to_vec(on)?.into_iter().map(f32::to_bits).collect())
}

/// Records chains, and compares several launches with the same calls. Calls `before` before each launch. Returns the
/// number of recorded calls.
pub(crate) fn compare<D: Compute>(
    s: &StreamHandle<D>,
    of: (u64, Calls),
    columns: &[usize],
    before: &mut dyn FnMut(usize),
) -> Result<usize> {
    let mut rng = Rng::new(of.0 ^ 0x5eed);
    let shape = [2 + rng.below(7), 1 + rng.below(5), *rng.pick(columns)];
    let [first, second] =
        [(); 2].map(|()| Array::from_slice(s, &shape, &numbers(&mut rng, shape.iter().product())));
    let (first, second) = (first?, second?);
    let mut y = Array::zeros(s, &shape)?;
    let recorded =
        s.record_work((&first, &mut y, 1.0_f32), |on, (x, mut y, rate)| chains(on, of, &x, &mut y, &rate))?;
    for launch in 0..4 {
        let (x, rate) = (if launch == 1 { &second } else { &first }, 1.0 + launch as f32 / 4.0);
        y.view_mut().fill(s, 0.0)?;
        before(launch);
        recorded.launch(s, (x, &mut y, rate))?;
        let found = bits(s, &y)?;
        let mut due = Array::zeros(s, &shape)?;
        let rate = Array::full(s, &[], rate)?;
        chains(s, of, &x.view(), &mut due.view_mut(), &rate.view())?;
        let due = bits(s, &due)?;
        let differs = (0..due.len()).filter(|&at| found[at] != due[at]).collect::<Vec<_>>();
        if let Some(first) = differs.first() {
            let (found, due) = (f32::from_bits(found[*first]), f32::from_bits(due[*first]));
            let count = differs.len();
            panic!(
                "{of:?}, {shape:?}, launch {launch}: {count} differ, first {first}: {found} and not {due}"
            );
        }
    }
    Ok(recorded.len())
}
