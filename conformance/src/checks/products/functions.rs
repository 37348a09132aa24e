//! Functions of the elements of products, and chains that start from the elements of the result.

use devarray::{
    Array, ErasedArray, StreamHandle,
    backend::Compute,
    function::{ElementType, Function},
};

use super::{
    chains::Multiplied,
    values::{SHAPES, Shapes, each_type, of_each},
};
use crate::{
    Harness, Outcome, Rng,
    checks::shown::{Shown, Target, bits_are},
    computing::multiplying,
    violation::same,
};

/// A function gets each element of the product, rounded to its type, and other operands with any layouts;
/// bytes beside a result do not change.
pub fn mapped<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let of = SHAPES[rng.below(SHAPES.len())];
        each_type!(mapped_case, case, (&stream, &mut rng, of))?;
    }
    rounded(&stream)
}

fn mapped_case<T: Multiplied, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (a, b, product): Shapes,
) -> Outcome {
    let a = Shown::<T, D>::made(stream, rng, a, T::made)?;
    let b = Shown::<T, D>::made(stream, rng, b, T::made)?;
    let c = Shown::<T, D>::made(stream, rng, product, T::made)?;
    let (alpha, beta) = (T::made(rng), T::made(rng));
    let due = of_each(&a, &b, product, |at, row, column| {
        T::combined(alpha, T::element(row, column), beta, c.shown[at])
    });
    let what = format!("a function of {} {:?} @ {:?}", T::TYPE, a.pattern, b.pattern);
    let operands = c.view()?;
    let found =
        a.view()?.matmul_map(stream, &b.view()?, (&operands, alpha, beta), |y, (c, alpha, beta)| {
            alpha * y + beta * c
        })?;
    same(found.shape(), product, &what)?;
    bits_are(&found.to_vec(stream)?, &due, &what)?;
    let mut to = Target::new(stream, rng, product)?;
    let last = Array::from_slice(stream, &[], &[beta])?;
    let mut view = to.pattern.view_mut(&mut to.array)?;
    a.view()?.matmul_map_into(
        stream,
        &b.view()?,
        (alpha, &last, &operands),
        &mut view,
        |y, (alpha, beta, c)| alpha * y + beta * c,
    )?;
    to.holds(stream, &due, &format!("into a view, {what}"))
}

/// A function gets elements that are rounded to their type, and its result may have another type.
fn rounded<D: Compute>(stream: &StreamHandle<D>) -> Outcome {
    // 2048 + 1 is not an f16, and 256 + 1 not a bf16: ties go to even.
    for (of, row, ones) in [
        (ElementType::F16, [0x6800_u16, 0x3c00], [0x3c00_u16; 2]),
        (ElementType::BF16, [0x4380, 0x3f80], [0x3f80; 2]),
    ] {
        let a = ErasedArray::from_bytes(stream, &[1, 2], 2, bytemuck::cast_slice(&row))?;
        let b = ErasedArray::from_bytes(stream, &[2, 1], 2, bytemuck::cast_slice(&ones))?;
        let wide = Function::parse("cast(x0, f32)", &[of], &[]).map_err(devarray::Error::from)?;
        let found = a.view().matmul_apply(stream, of, &b.view(), &wide, &[], &[])?;
        let due = if of == ElementType::F16 { 2048.0_f32 } else { 256.0 };
        same(&found.view().to_bytes(stream)?, &due.to_ne_bytes(), &format!("a rounded {of}, widened"))?;
    }
    let row = Array::from_slice(stream, &[1, 2], &[100_i8, 100])?;
    let ones = Array::full(stream, &[2, 1], 1_i8)?;
    let found = row.matmul_map(stream, &ones, (1000_i64,), |y, (k,)| y.cast::<i64>() * k)?;
    same(&found.to_vec(stream)?, &[-56_000], "an integer that wrapped, widened")
}

/// A result may also be an operand of the function whose result replaces it, also if it has another type.
pub fn updated<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let of = SHAPES[rng.below(SHAPES.len())];
        each_type!(updated_case, case, (&stream, &mut rng, of))?;
    }
    let (a, b) = (Array::full(&stream, &[3, 2], 1.5_f32)?, Array::full(&stream, &[2, 2], -1.0_f32)?);
    let mut count = Array::full(&stream, &[3, 2], 7_u8)?;
    a.matmul_update(&stream, &b, (1_u8,), &mut count, |y, n, (one,)| y.lt(0.0).select(n + one, n))?;
    same(&count.to_vec(&stream)?, &[8; 6], "counts of a narrower type")
}

fn updated_case<T: Multiplied, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (a, b, product): Shapes,
) -> Outcome {
    let a = Shown::<T, D>::made(stream, rng, a, T::made)?;
    let b = Shown::<T, D>::made(stream, rng, b, T::made)?;
    let c: Vec<T> = (0..product.iter().product()).map(|_| T::made(rng)).collect();
    let (alpha, beta) = (T::made(rng), T::made(rng));
    let due =
        of_each(&a, &b, product, |at, row, column| T::combined(alpha, T::element(row, column), beta, c[at]));
    let mut to = Target::new(stream, rng, product)?;
    let start = Array::from_slice(stream, product, &c)?;
    to.pattern.view_mut(&mut to.array)?.copy_from(stream, &start)?;
    a.view()?.gemm(stream, alpha, &b.view()?, beta, &mut to.pattern.view_mut(&mut to.array)?)?;
    to.holds(stream, &due, &format!("gemm of {} {:?} @ {:?}", T::TYPE, a.pattern, b.pattern))
}

/// The first chain of an element may start from the result's element.
pub fn onto<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let of = SHAPES[rng.below(SHAPES.len())];
        each_type!(onto_case, case, (&stream, &mut rng, of))?;
    }
    let mut rng = Rng::new(harness.seed());
    let long: Shapes = (&[2, 9000], &[9000, 3], &[2, 3]);
    onto_case::<f32, D>(&stream, &mut rng, long)?;
    onto_case::<f64, D>(&stream, &mut rng, long)
}

fn onto_case<T: Multiplied, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (a, b, product): Shapes,
) -> Outcome {
    let a = Shown::<T, D>::made(stream, rng, a, T::made)?;
    let b = Shown::<T, D>::made(stream, rng, b, T::made)?;
    let c: Vec<T> = (0..product.iter().product()).map(|_| T::made(rng)).collect();
    let due = of_each(&a, &b, product, |at, row, column| T::element_onto(c[at], row, column));
    let mut to = Target::new(stream, rng, product)?;
    let start = Array::from_slice(stream, product, &c)?;
    to.pattern.view_mut(&mut to.array)?.copy_from(stream, &start)?;
    a.view()?.matmul_onto(stream, &b.view()?, &mut to.pattern.view_mut(&mut to.array)?)?;
    to.holds(stream, &due, &format!("onto what is there, {} {:?} @ {:?}", T::TYPE, a.pattern, b.pattern))
}
