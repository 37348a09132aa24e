//! Trains a network of two layers: forward and backward passes, a softmax and its cross-entropy.

use devarray::{
    Array, Compute, Result, StreamHandle,
    function::{Operands as _, ReduceOperation, Reduction},
    math,
};
use ndarray::{Array1, Array2, Axis, Zip, linalg::general_mat_mul};

use super::{Stream, agreement, race, table};
use crate::data::Random;

const BATCH: usize = 256;
const INPUTS: usize = 784;
const HIDDEN: usize = 128;
const CLASSES: usize = 10;
const STEPS: usize = 50;
const RATE: f32 = 0.1;

// devarray
fn ours<D: Compute>(
    on: &StreamHandle<D>,
    [x, classes]: [&Array<f32, D>; 2],
    [first, second]: [&Array<f32, D>; 2],
) -> Result<(Vec<f32>, Array<f32, D>)> {
    let (mut w1, mut b1) = (first.try_clone(on)?, Array::zeros(on, &[HIDDEN])?);
    let (mut w2, mut b2) = (second.try_clone(on)?, Array::zeros(on, &[CLASSES])?);
    let (share, sum) = (1.0 / BATCH as f32, Reduction::new(ReduceOperation::Sum));
    let mut losses = Vec::new();
    for _ in 0..STEPS {
        let hidden = x.matmul_map(on, &w1, &b1, |y, bias| (y + bias).maximum(0.0))?;
        let scores = hidden.matmul_map(on, &w2, &b2, |y, bias| y + bias)?;
        let logs = math::log_softmax(on, &scores, -1)?;
        let loss: f32 = (&logs, classes).reduce_item(on, &sum, |(log, class)| -log * class)?;
        losses.push(loss * share);
        let slopes = (&logs, classes, share).map(on, |(log, class, share)| (log.exp() - class) * share)?;
        let hidden_slopes = slopes
            .matmul_map(on, &w2.view().transpose(), &hidden, |slope, y| y.gt(0.0).select(slope, 0.0))?;
        hidden.view().transpose().matmul_update(on, &slopes, (), &mut w2, |slope, w, ()| w - slope * RATE)?;
        x.view()
            .transpose()
            .matmul_update(on, &hidden_slopes, (), &mut w1, |slope, w, ()| w - slope * RATE)?;
        b2.update(on, &slopes.sum(on, 0)?, |bias, slope| bias - slope * RATE)?;
        b1.update(on, &hidden_slopes.sum(on, 0)?, |bias, slope| bias - slope * RATE)?;
    }
    Ok((losses, w1))
}
// ndarray
fn theirs([x, classes]: [&Array2<f32>; 2], [first, second]: [&Array2<f32>; 2]) -> (Vec<f32>, Array2<f32>) {
    let (mut w1, mut b1) = (first.clone(), Array1::<f32>::zeros(HIDDEN));
    let (mut w2, mut b2) = (second.clone(), Array1::<f32>::zeros(CLASSES));
    let share = 1.0 / BATCH as f32;
    let mut losses = Vec::new();
    for _ in 0..STEPS {
        let hidden = (x.dot(&w1) + &b1).mapv_into(|y| y.max(0.0));
        let mut logs = hidden.dot(&w2) + &b2;
        for mut row in logs.rows_mut() {
            let greatest = row.fold(f32::NEG_INFINITY, |greatest, &score| greatest.max(score));
            let below = greatest + row.fold(0.0, |sum, score| sum + (score - greatest).exp()).ln();
            row -= below;
        }
        losses.push(-(&logs * classes).sum() * share);
        let slopes = (logs.mapv_into(f32::exp) - classes) * share;
        let mut hidden_slopes = slopes.dot(&w2.t());
        Zip::from(&mut hidden_slopes).and(&hidden).for_each(|slope, &y| {
            if y <= 0.0 {
                *slope = 0.0;
            }
        });
        general_mat_mul(-RATE, &hidden.t(), &slopes, 1.0, &mut w2);
        general_mat_mul(-RATE, &x.t(), &hidden_slopes, 1.0, &mut w1);
        b2.scaled_add(-RATE, &slopes.sum_axis(Axis(0)));
        b1.scaled_add(-RATE, &hidden_slopes.sum_axis(Axis(0)));
    }
    (losses, w1)
}
// end

pub(crate) fn compare(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let mut random = Random(6);
    let mut numbers = |len: usize, scale: f32| (0..len).map(|_| scale * random.normal()).collect::<Vec<_>>();
    let x = numbers(BATCH * INPUTS, 1.0);
    let (first, second) = (numbers(INPUTS * HIDDEN, 0.05), numbers(HIDDEN * CLASSES, 0.1));
    let mut classes = vec![0.0; BATCH * CLASSES];
    for sample in 0..BATCH {
        classes[sample * CLASSES + (random.next() % CLASSES as u64) as usize] = 1.0;
    }
    let theirs_of = |rows, columns, values: &[f32]| Array2::from_shape_vec((rows, columns), values.to_vec());
    let ours_of = |rows, columns, values: &[f32]| Array::from_slice(stream, &[rows, columns], values);
    let theirs_data = [theirs_of(BATCH, INPUTS, &x)?, theirs_of(BATCH, CLASSES, &classes)?];
    let theirs_start = [theirs_of(INPUTS, HIDDEN, &first)?, theirs_of(HIDDEN, CLASSES, &second)?];
    let ours_data = [ours_of(BATCH, INPUTS, &x)?, ours_of(BATCH, CLASSES, &classes)?];
    let ours_start = [ours_of(INPUTS, HIDDEN, &first)?, ours_of(HIDDEN, CLASSES, &second)?];
    let (found, due, seconds) = race(
        stream,
        || ours(stream, ours_data.each_ref(), ours_start.each_ref()),
        || theirs(theirs_data.each_ref(), theirs_start.each_ref()),
    )?;
    agreement::close("network: losses", &found.0, &due.0, 1e-4)?;
    agreement::close(
        "network: weights",
        &found.1.to_vec(stream)?,
        due.1.as_slice().unwrap_or_default(),
        1e-4,
    )?;
    Ok(table::Row {
        name: "network 784-128-10, batch of 256, 50 steps, f32",
        agreement: "within 1e-4",
        seconds,
        source: include_str!("network.rs"),
        markers: table::MARKERS,
    })
}
