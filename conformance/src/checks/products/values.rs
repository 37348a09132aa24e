//! The value of each element, for any shapes, layouts and batch.

use devarray::{Array, ArrayView, Element, StreamHandle, backend::Compute};

use super::chains::Multiplied;
use crate::{
    Harness, Outcome, Rng, Violation,
    checks::shown::{Shown, Target, bits_are},
    computing::multiplying,
    violation::same,
};

/// The shapes of two operands, and of their product.
pub(super) type Shapes = (&'static [usize], &'static [usize], &'static [usize]);

/// Squares, edges of tiles, rows and columns, batches that broadcast.
pub(super) const SHAPES: &[Shapes] = &[
    (&[1, 1], &[1, 1], &[1, 1]),
    (&[2, 3], &[3, 4], &[2, 4]),
    (&[7, 5], &[5, 9], &[7, 9]),
    (&[33, 17], &[17, 65], &[33, 65]),
    (&[64, 64], &[64, 64], &[64, 64]),
    (&[3, 130], &[130, 2], &[3, 2]),
    (&[3], &[3], &[]),
    (&[5], &[5, 4], &[4]),
    (&[6, 5], &[5], &[6]),
    (&[9, 2, 3], &[3, 2], &[9, 2, 2]),
    (&[2, 1, 4, 3], &[5, 3, 2], &[2, 5, 4, 2]),
    (&[4, 2, 3], &[3], &[4, 2]),
    (&[3], &[2, 2, 3, 5], &[2, 2, 5]),
    (&[129, 1], &[1, 31], &[129, 31]),
];

/// Calls a function with one of the types, chosen by the number of a case.
macro_rules! each_type {
    ($run:ident, $case:expr, $arguments:tt) => {
        match $case % 9 {
            0 => $run::<f32, D> $arguments,
            1 => $run::<f64, D> $arguments,
            2 => $run::<i8, D> $arguments,
            3 => $run::<i16, D> $arguments,
            4 => $run::<i32, D> $arguments,
            5 => $run::<i64, D> $arguments,
            6 => $run::<u8, D> $arguments,
            7 => $run::<u32, D> $arguments,
            _ => $run::<u64, D> $arguments,
        }
    };
}

pub(super) use each_type;

/// Each element of a product, for any shapes and layouts, is the value of its chain; bytes beside a result do
/// not change.
pub fn shapes<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let of = SHAPES[rng.below(SHAPES.len())];
        each_type!(shapes_case, case, (&stream, &mut rng, of))?;
    }
    Ok(())
}

fn shapes_case<T: Multiplied, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (a, b, product): Shapes,
) -> Outcome {
    let a = Shown::<T, D>::made(stream, rng, a, T::made)?;
    let b = Shown::<T, D>::made(stream, rng, b, T::made)?;
    let due = elements(&a, &b, product);
    let what = format!("{} {:?} @ {:?}", T::TYPE, a.pattern, b.pattern);
    let found = a.view()?.matmul(stream, &b.view()?)?;
    same(found.shape(), product, &what)?;
    bits_are(&found.to_vec(stream)?, &due, &what)?;
    let mut to = Target::new(stream, rng, product)?;
    a.view()?.matmul_into(stream, &b.view()?, &mut to.pattern.view_mut(&mut to.array)?)?;
    to.holds(stream, &due, &format!("into a view, of {what}"))
}

/// The product by its definition.
fn elements<T: Multiplied, D: Compute>(a: &Shown<T, D>, b: &Shown<T, D>, product: &[usize]) -> Vec<T> {
    of_each(a, b, product, |_, row, column| T::element(row, column))
}

/// A value for each element, computed from its number, row and column.
pub(super) fn of_each<T: Element, R, D: Compute>(
    a: &Shown<T, D>,
    b: &Shown<T, D>,
    product: &[usize],
    mut element: impl FnMut(usize, &[T], &[T]) -> R,
) -> Vec<R> {
    let extents = |of: &Shown<T, D>| of.pattern.picture().shape;
    let (mut left, mut right, mut shape) = (extents(a), extents(b), product.to_vec());
    if right.len() == 1 {
        right.push(1);
        shape.push(1);
    }
    if left.len() == 1 {
        left.insert(0, 1);
        shape.insert(shape.len() - 1, 1);
    }
    let [m, n] = [shape[shape.len() - 2], shape[shape.len() - 1]];
    let depth = left[left.len() - 1];
    let batch = &shape[..shape.len() - 2];
    let mut due = Vec::new();
    for number in 0..batch.iter().product() {
        let [from_a, from_b] = [&left, &right].map(|of| place(number, batch, &of[..of.len() - 2]));
        for row in 0..m {
            let row: Vec<T> = (0..depth).map(|k| a.shown[(from_a * m + row) * depth + k]).collect();
            for column in 0..n {
                let column: Vec<T> = (0..depth).map(|k| b.shown[(from_b * depth + k) * n + column]).collect();
                due.push(element(due.len(), &row, &column));
            }
        }
    }
    due
}

/// The number of the operand's matrix that is multiplied for this number of the batch.
fn place(mut number: usize, batch: &[usize], of: &[usize]) -> usize {
    let (mut place, mut step) = (0, 1);
    for (axis, &extent) in batch.iter().enumerate().rev() {
        let at = number % extent;
        number /= extent;
        let Some(own) = (axis + of.len()).checked_sub(batch.len()).map(|axis| of[axis]) else { continue };
        place += if own == 1 { 0 } else { at * step };
        step *= own;
    }
    place
}

/// A row has the same value alone, in a batch, from transposed and from sliced operands, and in any part of a
/// result.
pub fn one_value<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    for mut rng in harness.rngs() {
        let [m, k, n] = [1 + rng.below(70), 1 + rng.below(200), 1 + rng.below(70)];
        let mut matrix = |rows: usize, columns: usize| -> Result<Array<f32, D>, Violation> {
            let data: Vec<f32> = (0..rows * columns).map(|_| f32::made(&mut rng)).collect();
            Ok(Array::from_slice(&stream, &[rows, columns], &data)?)
        };
        let (a, b) = (matrix(m, k)?, matrix(k, n)?);
        let whole = a.matmul(&stream, &b)?.to_vec(&stream)?;
        let bits = |found: Array<f32, D>, due: &[f32], what: &str| {
            bits_are(&found.to_vec(&stream)?, due, &format!("{what}, of {m} x {k} x {n}"))
        };
        let row = rng.below(m);
        let alone: ArrayView<'_, f32, D> = a.slice_axis(0, row..=row)?;
        bits(alone.matmul(&stream, &b)?, &whole[row * n..(row + 1) * n], "a row alone")?;
        let left = n.div_ceil(2);
        let some = b.slice_axis(1, ..left)?;
        let due: Vec<f32> = whole.chunks(n).flat_map(|row| &row[..left]).copied().collect();
        bits(a.matmul(&stream, &some)?, &due, "the first columns")?;
        let turned = b.view().transpose().matmul(&stream, &a.view().transpose())?;
        bits(turned.view().transpose().to_contiguous(&stream, devarray::Order::C)?, &whole, "transposed")?;
        let batch = a.view().broadcast_to(&[3, m, k])?;
        bits(batch.matmul(&stream, &b)?, &whole.repeat(3), "three in a batch")?;
    }
    Ok(())
}

/// Longer products are the sum of chains of 4,096.
pub fn long<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    let mut rng = Rng::new(harness.seed());
    for (case, k) in [4095, 4096, 4097, 8192, 12_289, 20_000].into_iter().enumerate() {
        for (m, n) in [(1, 1), (2, 3)] {
            each_type!(long_case, case % 2, (&stream, &mut rng, [m, k, n]))?;
        }
    }
    Ok(())
}

fn long_case<T: Multiplied, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    [m, k, n]: [usize; 3],
) -> Outcome {
    let a = Shown::<T, D>::made(stream, rng, &[m, k], T::made)?;
    let b = Shown::<T, D>::made(stream, rng, &[k, n], T::made)?;
    let what = format!("{} of {m} x {k} x {n}", T::TYPE);
    let found = a.view()?.matmul(stream, &b.view()?)?.to_vec(stream)?;
    bits_are(&found, &elements(&a, &b, &[m, n]), &what)
}

/// NaN is the canonical one, chains give infinities and zeros, and subnormals are kept.
pub fn special<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    let (least, nan) = (f32::from_bits(1), f32::from_bits(0xffc1_2345));
    let canonical = f32::from_bits(0x7fc0_0000);
    let tiny = f32::from_bits(0x0010_0000);
    for (row, column, due) in [
        ([1.0, nan], [1.0, 1.0], canonical),
        ([f32::INFINITY, 1.0], [0.0, 1.0], canonical),
        ([f32::INFINITY, f32::INFINITY], [1.0, -1.0], canonical),
        ([f32::INFINITY, 1.0], [-1.0, 1.0], -f32::INFINITY),
        ([-0.0, -0.0], [1.0, 1.0], 0.0),
        ([-1.0, 0.0], [least, -0.0], -least),
        ([tiny, tiny], [0.5, 0.25], f32::from_bits(0x000c_0000)),
        // A product that was rounded first would lose its last bits.
        ([1.0, 1.0 + f32::EPSILON], [-1.0 - 2.0 * f32::EPSILON, 1.0 + f32::EPSILON], f32::EPSILON.powi(2)),
        ([3e38, -3e38], [2.0, 2.0], f32::INFINITY),
    ] {
        let (a, b) =
            (Array::from_slice(&stream, &[1, 2], &row)?, Array::from_slice(&stream, &[2, 1], &column)?);
        let found = a.matmul(&stream, &b)?.to_vec(&stream)?;
        bits_are(&found, &[due], &format!("{row:?} times {column:?}"))?;
        let wide = a.view().broadcast_to(&[40, 1, 2])?;
        bits_are(&wide.matmul(&stream, &b)?.to_vec(&stream)?, &[due; 40], "the same in a batch")?;
    }
    Ok(())
}
