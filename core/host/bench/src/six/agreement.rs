//! Checks that both sides of a program have the same result.

use std::fmt::Debug;

/// The reason why two results do not agree.
type Disagreement = Box<dyn std::error::Error>;

/// Fails unless all elements are equal.
pub(crate) fn equal<T: PartialEq + Debug>(program: &str, found: &[T], due: &[T]) -> Result<(), Disagreement> {
    same_len(program, found, due)?;
    match found.iter().zip(due).position(|(found, due)| found != due) {
        None => Ok(()),
        Some(at) => Err(format!("{program}: element {at} is {:?} and {:?}", found[at], due[at]).into()),
    }
}

/// Fails unless all elements differ by at most `tolerance` times the greatest magnitude. A NaN agrees with
/// nothing.
pub(crate) fn close<T: Copy + Into<f64>>(
    program: &str,
    found: &[T],
    due: &[T],
    tolerance: f64,
) -> Result<(), Disagreement> {
    same_len(program, found, due)?;
    let scale = due.iter().fold(0.0_f64, |scale, &due| scale.max(due.into().abs()));
    if !(scale.is_finite() && scale > 0.0) {
        return Err(format!("{program}: the greatest magnitude is {scale}").into());
    }
    for (at, (&found, &due)) in found.iter().zip(due).enumerate() {
        let (found, due) = (found.into(), due.into());
        let is_close = (found - due).abs() <= tolerance * scale;
        if !is_close {
            return Err(format!("{program}: element {at} is {found} and {due}, magnitude {scale}").into());
        }
    }
    Ok(())
}

fn same_len<T>(program: &str, found: &[T], due: &[T]) -> Result<(), Disagreement> {
    if found.len() == due.len() && !due.is_empty() {
        return Ok(());
    }
    Err(format!("{program}: {} and {} elements", found.len(), due.len()).into())
}
