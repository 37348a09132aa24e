//! Rows of sparse matrices multiplied by vectors, and by the columns of matrices.

use devarray::{
    Array, StreamHandle,
    backend::Compute,
    function::ElementType,
    gather::{GatherOperation, IndexError},
    math,
    order::{Call, DeviceCall, IndexFault},
};

use super::{
    combined::canonical,
    naive::{Ordered, Shown, Target, bits_are, number},
    told::tells,
};
use crate::{
    Harness, Outcome, Rng, checks::reductions::total, computing::ordering, harness::no_background_errors,
    violation::same,
};

/// Each row is the sum of its products, rounded one by one, whatever columns it has. A column or an offset
/// that is out of range is reported, and everything else is done.
pub fn sparse<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = ordering(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let (len, rows) = (rng.below(60), rng.below(9));
        let mut offsets: Vec<u32> =
            (0..=rows).map(|_| u32::try_from(rng.below(len + 1)).unwrap_or(0)).collect();
        offsets.sort_unstable();
        let shapes = [&[7][..], &[5, 1], &[3, 4], &[1, 3, 2]];
        let x = Shown::<f32, D>::new(&stream, &mut rng, shapes[case % 4])?;
        rows_are(&stream, &mut rng, &x, &offsets, len)?;
    }
    // Rows that are divided into lanes and segments, next to short ones.
    let mut rng = Rng::new(harness.seed());
    let x = Shown::<f32, D>::made(&stream, &mut rng, &[900], |rng| rng.below(2000) as f32 / 7.0 - 100.3)?;
    rows_are(&stream, &mut rng, &x, &[0, 3, 900, 900, 2500, 40_000, 40_007], 40_010)?;

    let bytes = Array::from_slice(&stream, &[3], &[200_u8, 255, 1])?;
    let columns = Array::from_slice(&stream, &[3], &[1_u8, 0, 1])?;
    let ends = Array::from_slice(&stream, &[2], &[0_u64, 3])?;
    let found = math::csr_dot(&stream, &bytes, &columns, &ends, &bytes)?;
    same(&found.to_vec(&stream)?, &[200 * 255 + 255 * 200 + 255_u64], "products of bytes")?;
    told(&stream)?;
    no_background_errors(&context)
}

/// Checks the rows of a matrix of random values and columns.
fn rows_are<D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    x: &Shown<f32, D>,
    offsets: &[u32],
    len: usize,
) -> Outcome {
    let x_shape = x.pattern.picture().shape.clone();
    let (extent, inner) = (x_shape[0], x_shape[1..].iter().product::<usize>());
    let columns: Vec<i64> = (0..len).map(|_| number(rng.below(2 * extent)) - number(extent)).collect();
    let values = Shown::<f32, D>::made(stream, rng, &[len], f32::made)?;
    let place = |k: usize| usize::try_from(columns[k].rem_euclid(number(extent))).unwrap_or(0);
    let mut due = Vec::new();
    for row in offsets.windows(2) {
        let all = usize::try_from(row[0]).unwrap_or(0)..usize::try_from(row[1]).unwrap_or(0);
        for c in 0..inner {
            let products: Vec<f32> =
                all.clone().map(|k| values.shown[k] * x.shown[place(k) * inner + c]).collect();
            due.push(canonical(0.0 + total(&products, |a, b| a + b).unwrap_or(0.0)));
        }
    }
    let by = Shown::<i64, D>::line(stream, rng, &columns)?;
    let ends = Shown::<u32, D>::line(stream, rng, offsets)?;
    let mut shape = x_shape.to_vec();
    shape[0] = offsets.len() - 1;
    let mut to = Target::<f32, D>::new(stream, rng, &shape)?;
    let (values, by, ends, view) = (values.view()?, by.view()?, ends.view()?, x.view()?);
    let what = format!("rows at {offsets:?} of columns {columns:?} times {:?}", x.pattern);
    let found = math::csr_dot(stream, &values, &by, &ends, &view)?;
    bits_are(&found.to_vec(stream)?, &due, &what)?;
    let inputs = [
        (ElementType::F32, values.into_erased()),
        (ElementType::I64, by.into_erased()),
        (ElementType::U32, ends.into_erased()),
        (ElementType::F32, view.into_erased()),
    ];
    let into = to.pattern.view_mut(&mut to.array)?;
    Call::CsrDot.apply_into(stream, &inputs, &mut [Some(into.into_erased())], None)?;
    to.holds(stream, &due, &what)
}

/// Columns and offsets that are out of range.
fn told<D: Compute>(stream: &StreamHandle<D>) -> Outcome {
    let due = |fault, position, value, bound| IndexError {
        operation: GatherOperation::CsrDot,
        fault,
        axis: Some(0),
        position,
        value,
        bound,
    };
    let values = Array::from_slice(stream, &[4], &[1.0_f32, 2.0, 4.0, 8.0])?;
    let x = Array::from_slice(stream, &[3], &[1.0_f32, 10.0, 100.0])?;
    let (inside, outside) = ([0_i32, -3, 2, 1], [0_i32, 3, -3, -4]);
    let columns = [inside, outside].map(|columns| Array::from_slice(stream, &[4], &columns));
    let [inside, outside] = columns;
    let (inside, outside) = (inside?, outside?);
    let ends = |ends: &[i64]| Array::from_slice(stream, &[ends.len()], ends);
    let found = math::csr_dot(stream, &values, &outside, &ends(&[0, 2, 4])?, &x)?;
    tells(stream, due(IndexFault::Outside, 1, 3, 3))?;
    same(&found.to_vec(stream)?, &[1.0, 4.0], "rows beside columns without a place")?;
    // This also holds for values that belong to no row.
    let found = math::csr_dot(stream, &values, &outside, &ends(&[2, 3])?, &x)?;
    tells(stream, due(IndexFault::Outside, 1, 3, 3))?;
    same(&found.to_vec(stream)?, &[4.0], "a row between columns without a place")?;
    let found = math::csr_dot(stream, &values, &outside, &ends(&[0, 3, 2, 4])?, &x)?;
    tells(stream, due(IndexFault::Offset, 2, 2, 4))?;
    same(&found.to_vec(stream)?, &[5.0, 0.0, 4.0], "rows beside an offset that falls")?;
    let found = math::csr_dot(stream, &values, &inside, &ends(&[0, 2, 5])?, &x)?;
    tells(stream, due(IndexFault::Offset, 2, 5, 4))?;
    same(&found.to_vec(stream)?, &[3.0, 0.0], "a row beside an offset that is outside")
}
