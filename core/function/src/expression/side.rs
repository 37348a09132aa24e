//! Sides of an operator.

use super::Expression;

/// A side of an operator: an expression, or a Rust number as a literal.
///
/// A number has the type `T` of the expression. Next to floats of any type, even if the type is a
/// parameter, it may be an `f64`, which is rounded to `T` once, or an `i32`, which must be exact in `T`:
/// Rust gives `0.5` and `1` these types if nothing else decides. A number that does not fit, such as
/// `1e300` next to an `f32`, makes the function an error. [`lit`](super::lit) gives a number of any type.
///
/// ```
/// use devarray::{Array, Compute, Context, Result, StreamHandle, function::{Float, lit}};
///
/// fn smooth<T: Float, D: Compute>(stream: &StreamHandle<D>, x: &Array<T, D>) -> Result<Array<T, D>> {
///     x.map(stream, |x| x * 0.5 + 1 - lit(3) * x * x)
/// }
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2], &[0.0_f32, 1.0])?;
/// assert_eq!(smooth(&stream, &x)?.to_vec(&stream)?, [1.0, -1.5]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no side of an operator on `Expression<{T}>`",
    note = "a literal has the type of the expression; beside floats it may also be an `f64` or an `i32`: `x * 0.5`, `x + 1`",
    note = "where the type is a parameter, `lit(1)` with `devarray::function::lit` is a literal of any type, also as the first value of `select`",
    note = "an expression of another type is converted before, by `cast`"
)]
pub trait IntoExpression<T> {
    /// Makes the expression.
    fn into_expression(self) -> Expression<T>;
}
