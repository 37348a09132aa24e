//! A training step of a few ranks, called and launched.

use devarray::{
    Array, ArrayView, ArrayViewMut, Compute, Context, Result, StreamHandle,
    backend::Collects,
    collective::{Combination, Communicator},
    prelude::*,
};

use super::ranks_of::on_each;

/// A step of gradient descent with two exchanges; there are two calls or more before, between and behind them. It
/// knows nothing of recordings.
pub(crate) fn step<D: Compute + Collects>(
    on: &StreamHandle<D>,
    x: &ArrayView<'_, f32, D>,
    weights: &mut ArrayViewMut<'_, f32, D>,
    ranks: &mut Communicator<D>,
) -> Result<()> {
    let errors = (x, &weights.as_view()).map(on, |(x, w)| x * w - 0.5)?;
    let mut slopes = (&errors, x).map(on, |(error, x)| error * x)?;
    ranks.all_reduce_in_place(on, Combination::Mean, &mut slopes)?;
    let squares = slopes.view().map(on, |slope| slope * slope)?;
    let scale = (&squares, 1e-3).map(on, |(square, least)| square + least)?;
    let all = ranks.all_gather(on, &scale)?;
    let last = all.index(&devarray::ix![-1])?.to_contiguous(on, devarray::Order::C)?;
    weights.update(on, (&slopes, &last), |w, (slope, scale)| w - slope / scale * 0.01)
}

/// The samples of a rank.
pub(crate) fn samples<D: Collects>(on: &StreamHandle<D>, rank: usize, len: usize) -> Result<Array<f32, D>> {
    let numbers: Vec<f32> = (0..len).map(|k| ((k * 7 + rank * 13) % 101) as f32 / 50.0 - 1.0).collect();
    Array::from_slice(on, &[len], &numbers)
}

/// Launches give each rank the bits of calls, and what is between two exchanges is captured. The calls and the
/// launches of odd ranks change places, so that calls of one rank meet launches of another.
pub(crate) fn launches_equal_calls<D: Compute + Collects>(
    contexts: &[Context<D>],
    begin: impl Fn() + Sync,
    lens: &[usize],
) {
    let told = on_each(contexts, begin, |context, ranks| {
        let (stream, other) = (context.stream()?, context.stream()?);
        for &len in lens {
            let x = samples(&stream, ranks.rank(), len)?;
            let [mut called, mut launched] =
                [Array::full(&stream, &[len], 1.0)?, Array::full(&stream, &[len], 1.0)?];
            let recorded = stream
                .record_work((&x, &mut launched, &mut *ranks), |on, (x, mut weights, ranks)| {
                    step(on, &x, &mut weights, ranks)
                })?;
            for round in 0..6 {
                let on = if round % 3 == 2 { &other } else { &stream };
                for launches in [ranks.rank() % 2 == 0, ranks.rank() % 2 != 0] {
                    if launches {
                        recorded.launch(on, (&x, &mut launched, &mut *ranks))?;
                        assert!(recorded.is_captured(), "launch {round}");
                    } else {
                        step(on, &x.view(), &mut called.view_mut(), ranks)?;
                    }
                }
                let [called, launched] = [&called, &launched].map(|of| of.to_vec(on));
                let bits = |of: Vec<f32>| of.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                assert!(bits(called?) == bits(launched?), "launch {round} of {len} elements");
            }
        }
        Ok(())
    });
    told.into_iter().for_each(|outcome| outcome.unwrap());
}
