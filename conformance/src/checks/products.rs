//! Matrix products.
//!
//! `chains` computes the expected elements one by one, by their definition.

mod chains;
mod fast;
mod functions;
mod values;

use devarray::{
    Array, Error, LayoutError,
    backend::Compute,
    product::{ProductErrorKind, product_shape},
};
pub use fast::fast;
pub use functions::{mapped, onto, updated};
pub use values::{long, one_value, shapes, special};

use crate::{
    Harness, Outcome,
    computing::multiplying,
    harness::no_background_errors,
    violation::{ensure, same},
};

/// A product waits for work that writes its operands, later work waits for it, and a strict stream
/// refuses it if it is not ordered.
pub fn ordered<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = multiplying(harness)? else { return Ok(()) };
    let two = context.stream()?;
    for round in 0..8_i64 {
        let data: Vec<i64> = (0..60 * 60).map(|at| (at * 37 + round) % 100).collect();
        let mut x = Array::<i64, D>::zeros(&one, &[60, 60])?;
        x.view_mut().copy_from_slice(&one, &data)?;
        let ones = Array::full(&one, &[60], 1_i64)?;
        let sums = x.matmul(&two, &ones)?;
        x.view_mut().fill(&one, 0)?;
        let due: Vec<i64> = data.chunks(60).map(|row| row.iter().sum()).collect();
        same(&sums.to_vec(&one)?, &due, "products of what another stream wrote")?;
    }
    let strict = context.strict_stream()?;
    let x = Array::full(&one, &[5, 5], 2_i64)?;
    let refused = x.matmul(&strict, &x).err();
    ensure(matches!(refused, Some(Error::Hazard { .. })), || {
        format!("multiplied while it is written: {refused:?}")
    })?;
    no_background_errors(&context)
}

/// Operands that do not fit are refused, and nothing is enqueued; sums of no products are zero.
pub fn refused<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = multiplying(harness)? else { return Ok(()) };
    let x = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let before = context.statistics().products;
    let shape = |found: devarray::Result<()>, what: &str| {
        let is_due =
            matches!(&found, Err(Error::Product(error, _)) if error.kind() == ProductErrorKind::Shape);
        ensure(is_due, || format!("{what}: {found:?}"))
    };
    shape(x.matmul(&stream, &x).map(drop), "rows of other lengths than columns")?;
    shape(x.matmul(&stream, &Array::full(&stream, &[], 1.0_f32)?).map(drop), "an operand without axes")?;
    let batches = Array::<f32, D>::zeros(&stream, &[4, 3, 2])?;
    let others = Array::<f32, D>::zeros(&stream, &[3, 2, 3])?;
    shape(batches.matmul(&stream, &others).map(drop), "batches that do not broadcast")?;
    let mut narrow = Array::<f32, D>::zeros(&stream, &[2, 1])?;
    let found = x.matmul_into(&stream, &x.view().transpose(), &mut narrow);
    let is_due = matches!(&found, Err(Error::Layout(LayoutError::ShapeMismatch { .. }, _)));
    ensure(is_due, || format!("a result of another shape: {found:?}"))?;
    let elsewhere = harness.context()?.stream()?;
    let other = x.matmul(&elsewhere, &x.view().transpose()).map(drop);
    ensure(matches!(other, Err(Error::DeviceMismatch { .. })), || format!("another context: {other:?}"))?;
    // A call that has nothing to do is not enqueued either, and sums of nothing are +0.
    let none = Array::<f32, D>::zeros(&stream, &[0, 3])?;
    same(&none.matmul(&stream, &x.view().transpose())?.to_vec(&stream)?, &[], "a product without rows")?;
    let due = product_shape(&[3, 0], &[0, 2]).map(|shape| shape.to_vec());
    let zeros = none.view().transpose().matmul(&stream, &Array::<f32, D>::zeros(&stream, &[0, 2])?)?;
    same(&[zeros.shape().to_vec()], &[due.unwrap_or_default()], "the shape of a product without products")?;
    let bits: Vec<u32> = zeros.to_vec(&stream)?.into_iter().map(f32::to_bits).collect();
    same(&bits, &[0; 6], "the bits of sums of nothing")?;
    same(&[context.statistics().products], &[before], "products that were enqueued")?;
    same(&x.to_vec(&stream)?, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "elements after refusals")
}
