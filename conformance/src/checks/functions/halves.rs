//! The meaning of operations on `f16` and `bf16`.

use devarray::{backend::Compute, function::ElementType};

use super::value::{half_bits, half_value};
use crate::{
    Harness, Outcome,
    computing::{Line, computing, gives},
    patterns::elements,
};

/// Each operation on `f16` and `bf16` is rounded to the type, inside a longer expression too.
pub fn halves<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    for of in [ElementType::F16, ElementType::BF16] {
        let line = |salt| -> Line {
            let bits: Vec<u16> = elements(salt, 2000);
            Line { of, bits: bits.iter().map(|&bits| u64::from(bits)).collect() }
        };
        let round = |value: f32| half_value(of, half_bits(of, f64::from(value)));
        let inputs = [line(1), line(2)];
        let each = |right: &dyn Fn(f32, f32) -> f32| -> Line {
            let pairs = inputs[0].bits.iter().zip(&inputs[1].bits);
            let value = |(&a, &b): (&u64, &u64)| right(half_value(of, a), half_value(of, b));
            Line { of, bits: pairs.map(value).map(|value| half_bits(of, f64::from(value))).collect() }
        };
        gives(&stream, "x0 + x1", &inputs, &[], &each(&|a, b| a + b))?;
        gives(&stream, "x0 / x1", &inputs, &[], &each(&|a, b| a / b))?;
        gives(&stream, "x0 * x1 + x0", &inputs, &[], &each(&|a, b| round(a * b) + a))?;
        gives(&stream, "(x0 - x1) * (x0 + x1)", &inputs, &[], &each(&|a, b| round(a - b) * round(a + b)))?;
        gives(&stream, "sqrt(abs(x0)) - x1", &inputs, &[], &each(&|a, b| round(a.abs().sqrt()) - b))?;
        gives(
            &stream,
            "rsqrt(abs(x0)) + x1 * 0.0",
            &inputs,
            &[],
            &each(&|a, b| round(round(1.0 / round(a.abs().sqrt())) + round(b * 0.0))),
        )?;
        let doubles: Vec<f64> = inputs[0].bits.iter().map(|&bits| f64::from(half_value(of, bits))).collect();
        gives(&stream, "cast(x0, f64)", &inputs[..1], &[], &Line::of(&doubles))?;
        // Rounded once on the way back, also values between two numbers of `f32`.
        let near: Vec<f64> = doubles.iter().map(|x| x * (1.0 + 1e-12) + x * 0.000_488_281_25).collect();
        let due: Vec<u64> = near.iter().map(|&x| half_bits(of, x)).collect();
        gives(&stream, &format!("cast(x0, {of})"), &[Line::of(&near)], &[], &Line::new(of, &due))?;
    }
    Ok(())
}
