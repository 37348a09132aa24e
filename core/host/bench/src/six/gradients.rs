//! Conjugate gradients for the Laplacian of a grid, without a matrix.

use devarray::{Array, Compute, Result, StreamHandle, function::Operands as _, ix, math};
use ndarray::{Array2, Zip, s};

use super::{Stream, agreement, race, table};
use crate::data::Random;

const GRID: usize = 512;
const STEPS: usize = 200;

// devarray
fn ours<D: Compute>(on: &StreamHandle<D>, b: &Array<f64, D>) -> Result<Array<f64, D>> {
    let mut x = Array::zeros(on, b.shape())?;
    let mut r = b.try_clone(on)?;
    // The direction has a margin of zeros.
    let mut p = Array::zeros(on, &[GRID + 2, GRID + 2])?;
    p.view_mut().index(&ix![1..-1, 1..-1])?.copy_from(on, b)?;
    let mut square = math::dot(on, &r, &r)?;
    for _ in 0..STEPS {
        let here = p.index(&ix![1..-1, 1..-1])?;
        let (north, south) = (p.index(&ix![..-2, 1..-1])?, p.index(&ix![2.., 1..-1])?);
        let (west, east) = (p.index(&ix![1..-1, ..-2])?, p.index(&ix![1..-1, 2..])?);
        let ap = (&here, north, south, west, east).map(on, |(p, n, s, w, e)| p * 4.0 - (n + s + w + e))?;
        let along = math::dot(on, &here, &ap)?;
        x.update(on, (&here, &square, &along), |x, (p, square, along)| x + p * (square / along))?;
        r.update(on, (&ap, &square, &along), |r, (ap, square, along)| r - ap * (square / along))?;
        let next = math::dot(on, &r, &r)?;
        p.view_mut().index(&ix![1..-1, 1..-1])?.update(
            on,
            (&r, &next, &square),
            |p, (r, next, square)| r + p * (next / square),
        )?;
        square = next;
    }
    Ok(x)
}
// ndarray
fn theirs(b: &Array2<f64>) -> Array2<f64> {
    // All arrays have a margin of zeros, so that each is one row without gaps.
    let mut r = Array2::<f64>::zeros((GRID + 2, GRID + 2));
    r.slice_mut(s![1..-1, 1..-1]).assign(b);
    let (mut x, mut ap) = (Array2::zeros(r.raw_dim()), Array2::zeros(r.raw_dim()));
    let mut p = r.clone();
    let dot = |a: &Array2<f64>, b: &Array2<f64>| a.flatten().dot(&b.flatten());
    let mut square = dot(&r, &r);
    for _ in 0..STEPS {
        Zip::from(ap.slice_mut(s![1..-1, 1..-1]))
            .and(p.slice(s![1..-1, 1..-1]))
            .and(p.slice(s![..-2, 1..-1]))
            .and(p.slice(s![2.., 1..-1]))
            .and(p.slice(s![1..-1, ..-2]))
            .and(p.slice(s![1..-1, 2..]))
            .for_each(|ap, &p, &n, &s, &w, &e| *ap = p * 4.0 - (n + s + w + e));
        let alpha = square / dot(&p, &ap);
        x.scaled_add(alpha, &p);
        r.scaled_add(-alpha, &ap);
        let next = dot(&r, &r);
        let beta = next / square;
        Zip::from(&mut p).and(&r).for_each(|p, &r| *p = r + beta * *p);
        square = next;
    }
    x.slice(s![1..-1, 1..-1]).to_owned()
}
// end

pub(crate) fn compare(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let mut random = Random(2);
    let b: Vec<f64> = (0..GRID * GRID).map(|_| f64::from(random.unit())).collect();
    let ours_b = Array::from_slice(stream, &[GRID, GRID], &b)?;
    let theirs_b = Array2::from_shape_vec((GRID, GRID), b)?;
    let (found, due, seconds) = race(stream, || ours(stream, &ours_b), || theirs(&theirs_b))?;
    agreement::close("gradients", &found.to_vec(stream)?, due.as_slice().unwrap_or_default(), 1e-9)?;
    Ok(table::Row {
        name: "conjugate gradients, 512 x 512, 200 steps, f64",
        agreement: "within 1e-9",
        seconds,
        source: include_str!("gradients.rs"),
        markers: table::MARKERS,
    })
}
