//! Products that need not be exact: they are within their bound, and exact if nothing else is allowed.

use devarray::{
    Array, Element, Error, StreamHandle, backend::Compute, function::ElementType, product::Precision,
};

use super::{
    chains::Multiplied,
    values::{SHAPES, Shapes, of_each},
};
use crate::{
    Harness, Outcome, Rng,
    checks::{
        functions::{half_bits, half_value},
        shown::{Shown, bits_are},
    },
    computing::multiplying,
    violation::{ensure, same},
};

/// With `Precision::Fast`, each element is within the bound, for all kinds of shapes, layouts and types; for
/// types without a fast form it is the exact value. A device may report that a library is missing.
pub fn fast<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = multiplying(harness)? else { return Ok(()) };
    for (case, mut rng) in harness.rngs().enumerate() {
        let of = SHAPES[rng.below(SHAPES.len())];
        let (s, rng) = (&stream, &mut rng);
        match case % 5 {
            0 => bounded(s, rng, of, ElementType::F32, (f32::to_bits, f32::from_bits)),
            1 => half(s, rng, of, ElementType::F16),
            2 => half(s, rng, of, ElementType::BF16),
            3 => exact::<f64, D>(s, rng, of),
            _ => exact::<i32, D>(s, rng, of),
        }?;
    }
    Ok(())
}

fn half<D: Compute>(stream: &StreamHandle<D>, rng: &mut Rng, shapes: Shapes, of: ElementType) -> Outcome {
    #[expect(clippy::cast_possible_truncation, reason = "the bits of a half")]
    let bits = |value: f32| half_bits(of, value.into()) as u16;
    bounded(stream, rng, shapes, of, (bits, |bits: u16| half_value(of, bits.into())))
}

/// A product of elements, whose bits `bits` gives and whose values `value` gives.
fn bounded<W: Element, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (a, b, product): Shapes,
    of: ElementType,
    (bits, value): (impl Fn(f32) -> W, impl Fn(W) -> f32),
) -> Outcome {
    // No number is so small that a product of two, or a sum that cancels, underflows.
    let mut number = |rng: &mut Rng| {
        let magnitude = 0.25 + rng.below(1000) as f32 / 256.0;
        bits(if rng.below(2) == 0 { magnitude } else { -magnitude })
    };
    let a = Shown::<W, D>::made(stream, rng, a, &mut number)?;
    let b = Shown::<W, D>::made(stream, rng, b, &mut number)?;
    let (left, right) = (a.view()?, b.view()?);
    let found = left.as_erased().matmul_with(stream, of, right.as_erased(), Precision::Fast);
    if let Err(Error::Library { operation, reason, .. }) = &found {
        return ensure(*operation == "matmul" && !reason.is_empty(), || format!("{operation}: {reason:?}"));
    }
    let found = Array::<W, D>::from_erased(found?)?;
    let what = format!("{of} {:?} @ {:?}", a.pattern, b.pattern);
    same(found.shape(), product, &what)?;
    let due = of_each(&a, &b, product, |_, row, column| {
        let products = row.iter().zip(column).map(|(&a, &b)| f64::from(value(a)) * f64::from(value(b)));
        let (sum, magnitude) = products.fold((0.0, 0.0), |(sum, of), each| (sum + each, of + each.abs()));
        (sum, magnitude * Precision::Fast.gamma(of, row.len()))
    });
    let found = found.to_vec(stream)?.into_iter().map(&value).zip(due);
    for (at, (found, (due, bound))) in found.enumerate() {
        let difference = (f64::from(found) - due).abs();
        ensure(difference <= bound, || {
            format!("{what}: element {at} is {found}, {difference:e} from {due}, where {bound:e} is the most")
        })?;
    }
    Ok(())
}

fn exact<T: Multiplied, D: Compute>(
    stream: &StreamHandle<D>,
    rng: &mut Rng,
    (a, b, product): Shapes,
) -> Outcome {
    let a = Shown::<T, D>::made(stream, rng, a, T::made)?;
    let b = Shown::<T, D>::made(stream, rng, b, T::made)?;
    let due = of_each(&a, &b, product, |_, row, column| T::element(row, column));
    let found = a.view()?.matmul_with(stream, &b.view()?, Precision::Fast)?;
    bits_are(&found.to_vec(stream)?, &due, &format!("{}, which has no fast form", T::TYPE))
}
