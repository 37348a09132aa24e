//! The heat equation on a plate whose margin keeps its temperature.

use std::mem;

use devarray::{Array, Compute, Result, StreamHandle, function::Operands as _, ix};
use ndarray::{Array2, Zip, s};

use super::{Stream, agreement, race, table};
use crate::data::Random;

const SIDE: usize = 1024;
const STEPS: usize = 200;

// devarray
fn ours<D: Compute>(on: &StreamHandle<D>, plate: &Array<f32, D>) -> Result<Array<f32, D>> {
    let (mut u, mut v) = (plate.try_clone(on)?, plate.try_clone(on)?);
    for _ in 0..STEPS {
        let here = u.index(&ix![1..-1, 1..-1])?;
        let (north, south) = (u.index(&ix![..-2, 1..-1])?, u.index(&ix![2.., 1..-1])?);
        let (west, east) = (u.index(&ix![1..-1, ..-2])?, u.index(&ix![1..-1, 2..])?);
        let mut to = v.view_mut().index(&ix![1..-1, 1..-1])?;
        (here, north, south, west, east)
            .map_into(on, &mut to, |(u, n, s, w, e)| u + (n + s + w + e - u * 4.0) * 0.2)?;
        mem::swap(&mut u, &mut v);
    }
    Ok(u)
}
// ndarray
fn theirs(plate: &Array2<f32>) -> Array2<f32> {
    let (mut u, mut v) = (plate.clone(), plate.clone());
    for _ in 0..STEPS {
        Zip::from(v.slice_mut(s![1..-1, 1..-1]))
            .and(u.slice(s![1..-1, 1..-1]))
            .and(u.slice(s![..-2, 1..-1]))
            .and(u.slice(s![2.., 1..-1]))
            .and(u.slice(s![1..-1, ..-2]))
            .and(u.slice(s![1..-1, 2..]))
            .for_each(|v, &u, &n, &s, &w, &e| *v = u + (n + s + w + e - u * 4.0) * 0.2);
        mem::swap(&mut u, &mut v);
    }
    u
}
// end

pub(crate) fn compare(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let mut random = Random(5);
    let plate: Vec<f32> = (0..SIDE * SIDE).map(|_| 100.0 * random.unit()).collect();
    let ours_plate = Array::from_slice(stream, &[SIDE, SIDE], &plate)?;
    let theirs_plate = Array2::from_shape_vec((SIDE, SIDE), plate)?;
    let (found, due, seconds) = race(stream, || ours(stream, &ours_plate), || theirs(&theirs_plate))?;
    // Neither side fuses a multiplication with an addition, and both sides compute in the order of the source.
    agreement::equal("heat", &found.to_vec(stream)?, due.as_slice().unwrap_or_default())?;
    Ok(table::Row {
        name: "heat equation, 1024 x 1024, 200 steps, f32",
        agreement: "equal",
        seconds,
        source: include_str!("heat.rs"),
        markers: table::MARKERS,
    })
}
