//! A case to measure: `NAME:DTYPE:SHAPE:STEPS`.

use std::{fmt, str::FromStr};

use thiserror::Error;

use crate::{
    limits,
    steps::{Step, parse_steps},
};

/// The element types by name, with the size of an element in bytes.
const DTYPES: [(&str, usize); 15] = [
    ("bool", 1),
    ("u8", 1),
    ("i8", 1),
    ("u16", 2),
    ("i16", 2),
    ("f16", 2),
    ("bf16", 2),
    ("u32", 4),
    ("i32", 4),
    ("f32", 4),
    ("u64", 8),
    ("i64", 8),
    ("f64", 8),
    ("c64", 8),
    ("c128", 16),
];

/// A copy to measure: `steps` are made on a C-contiguous array of `shape`, and the result is copied
/// into a new C-contiguous array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// The text that was written.
    pub text: String,
    /// Element type by name.
    pub dtype: &'static str,
    /// The number of bytes in an element.
    pub item_bytes: usize,
    /// The shape of the array before the steps.
    pub shape: Vec<usize>,
    /// The steps that make the view.
    pub steps: Vec<Step>,
}

/// A case that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("case {text:?}: {cause}")]
#[non_exhaustive]
pub struct CaseError {
    /// The case as it was written.
    pub text: String,
    /// The mistake in it.
    pub cause: String,
}

impl Case {
    /// The name before the first colon.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.split(':').next().unwrap_or_default()
    }
}

impl FromStr for Case {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        parse(text).map_err(|cause| CaseError { text: text.to_owned(), cause })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse(text: &str) -> Result<Case, String> {
    // Slices contain colons too: only the first three separate parts.
    let mut parts = text.splitn(4, ':');
    let mut part = || parts.next().map(str::trim).ok_or("it is not NAME:DTYPE:SHAPE:STEPS");
    let (name, dtype, shape, steps) = (part()?, part()?, part()?, part()?);
    if name.is_empty() {
        return Err("its name is empty".to_owned());
    }
    let known = DTYPES.iter().find(|(known, _)| *known == dtype);
    let &(dtype, item_bytes) = known.ok_or_else(|| format!("{dtype:?} is no element type"))?;
    let shape = parse_shape(shape)?;
    let steps = measured_steps(steps)?;
    Ok(Case { text: text.to_owned(), dtype, item_bytes, shape, steps })
}

/// Parses `3x4x5`; an empty text is an array without axes.
pub(super) fn parse_shape(text: &str) -> Result<Vec<usize>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let extent = |part: &str| part.trim().parse().map_err(|_| format!("{text:?} is no shape such as 3x4x5"));
    let shape: Vec<usize> = text.split('x').map(extent).collect::<Result<_, _>>()?;
    limits::check_axes(shape.len()).map_err(|error| error.to_string())?;
    Ok(shape)
}

/// Parses steps, which must be of kinds that are measured.
pub(super) fn measured_steps(text: &str) -> Result<Vec<Step>, String> {
    let steps = parse_steps(text).map_err(|error| error.to_string())?;
    match steps.iter().zip(text.split('/')).find(|(step, _)| !is_measured(step)) {
        None => Ok(steps),
        Some((_, text)) => Err(format!(
            "step `{}`: only permute, index, flip, broadcast, reshape and squeeze are measured",
            text.trim()
        )),
    }
}

fn is_measured(step: &Step) -> bool {
    use devarray::Order::{C, F};
    match step {
        Step::Reshape(_, order) => matches!(order, C | F),
        Step::Index(_) | Step::Permute(_) | Step::Flip(_) | Step::Squeeze(_) | Step::Broadcast(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_three_colons_separate() {
        let case: Case = "half:f16:16x20:index(:,:10)/flip(0)".parse().unwrap();
        assert_eq!((case.name(), case.dtype, case.item_bytes), ("half", "f16", 2));
        assert_eq!(case.shape, [16, 20]);
        assert_eq!(case.steps.len(), 2);
        let scalar: Case = "s:c128::".parse().unwrap();
        assert_eq!((scalar.shape.len(), scalar.steps.len(), scalar.item_bytes), (0, 0, 16));
    }

    #[test]
    fn every_type_has_a_size() {
        for (dtype, item_bytes) in DTYPES {
            let case: Case = format!("n:{dtype}:2:").parse().unwrap();
            assert_eq!((case.dtype, case.item_bytes), (dtype, item_bytes));
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, part) in [
            ("", "NAME:DTYPE"),
            ("a:f32:3", "NAME:DTYPE"),
            (":f32:3:", "name"),
            ("a:f31:3:", "f31"),
            ("a:f32:3xx4:", "3xx4"),
            ("a:f32:-3:", "-3"),
            ("a:f32:3.5:", "3.5"),
            ("a:f32:3:bend(1)", "bend(1)"),
            ("a:f32:3:ravel()", "step `ravel()`: only permute"),
            ("a:f32:3:reshape(3,A)", "step `reshape(3,A)`: only permute"),
            ("a:f32:3:flip(0) / split( 2, take=1 ) ", "step `split( 2, take=1 )`: only permute"),
        ] {
            let error = text.parse::<Case>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(text), "{error}");
        }
    }
}
