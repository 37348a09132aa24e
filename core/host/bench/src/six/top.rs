//! Finds the greatest elements of one long row, and of each of many rows.

use devarray::{Array, Compute, Result, StreamHandle};
use ndarray::{Array1, Array2, ArrayView1};

use super::{Stream, agreement, race, table};
use crate::data::Random;

const K: usize = 100;
const LONG: usize = 1 << 22;
const ROWS: usize = 1_000;
const COLUMNS: usize = 10_000;

// devarray, one row
fn ours_of_one<D: Compute>(on: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    let (greatest, _positions) = x.topk(on, K, 0)?;
    Ok(greatest)
}
// devarray, rows
fn ours_of_rows<D: Compute>(on: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    let (greatest, _positions) = x.topk(on, K, 1)?;
    Ok(greatest)
}
// ndarray, one row
fn theirs_of_one(x: ArrayView1<'_, f32>) -> Array1<f32> {
    let mut row = x.to_vec();
    row.select_nth_unstable_by(K, |a, b| b.total_cmp(a));
    row.truncate(K);
    row.sort_unstable_by(|a, b| b.total_cmp(a));
    Array1::from(row)
}
// ndarray, rows
fn theirs_of_rows(x: &Array2<f32>) -> Array2<f32> {
    let mut greatest = Array2::zeros((x.nrows(), K));
    for (row, mut greatest) in x.rows().into_iter().zip(greatest.rows_mut()) {
        let mut row = row.to_vec();
        row.select_nth_unstable_by(K, |a, b| b.total_cmp(a));
        row.truncate(K);
        row.sort_unstable_by(|a, b| b.total_cmp(a));
        greatest.assign(&ArrayView1::from(&row));
    }
    greatest
}
// end

pub(crate) fn compare_one(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let x = normal(LONG);
    let ours_x = Array::from_slice(stream, &[LONG], &x)?;
    let theirs_x = Array1::from(x);
    let (found, due, seconds) =
        race(stream, || ours_of_one(stream, &ours_x), || theirs_of_one(theirs_x.view()))?;
    agreement::equal("top of one row", &found.to_vec(stream)?, due.as_slice().unwrap_or_default())?;
    Ok(row("top 100 of 4,194,304, f32", seconds, ["// devarray, one row", "// ndarray, one row"]))
}

pub(crate) fn compare_rows(stream: &Stream) -> Result<table::Row, Box<dyn std::error::Error>> {
    let x = normal(ROWS * COLUMNS);
    let ours_x = Array::from_slice(stream, &[ROWS, COLUMNS], &x)?;
    let theirs_x = Array2::from_shape_vec((ROWS, COLUMNS), x)?;
    let (found, due, seconds) = race(stream, || ours_of_rows(stream, &ours_x), || theirs_of_rows(&theirs_x))?;
    agreement::equal("top of rows", &found.to_vec(stream)?, due.as_slice().unwrap_or_default())?;
    Ok(row(
        "top 100 of each of 1,000 rows of 10,000, f32",
        seconds,
        ["// devarray, rows", "// ndarray, rows"],
    ))
}

fn normal(len: usize) -> Vec<f32> {
    let mut random = Random(4);
    (0..len).map(|_| random.normal()).collect()
}

fn row(name: &'static str, seconds: [f64; 2], markers: [&'static str; 2]) -> table::Row {
    table::Row { name, agreement: "equal", seconds, source: include_str!("top.rs"), markers }
}
