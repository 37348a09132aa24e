//! Host arrays in text.

use std::{any::Any, fmt};

use super::{
    HostArray,
    floats::{self, Float},
    rows,
};
use crate::layout::NdLayout;

impl<T: fmt::Display + Any> fmt::Display for HostArray<T> {
    /// As NumPy prints arrays: columns aligned; more than 1000 elements shortened to three at each
    /// end of an axis; lines of 75 columns.
    ///
    /// Floating-point numbers (`f32`, `f64`, with the feature `half` also `f16` and `bf16`) get
    /// NumPy's default format: as many digits as tell them apart, at most 8 after the point,
    /// aligned at it; all with an exponent where they are very large, very small, or far apart.
    /// A precision, as in `{:.3}`, takes the place of the 8. Every other element is written by
    /// its own `Display`, with the precision if one is given, and aligned to the right. Elements
    /// without `Display` have the `Debug` form.
    ///
    /// ```
    /// use devarray::HostArray;
    ///
    /// let a = HostArray::new(&[2, 2], vec![1.0, -2.5, 0.0625, f64::NAN])?;
    /// assert_eq!(a.to_string(), "[[ 1.     -2.5   ]\n [ 0.0625     nan]]");
    /// assert_eq!(format!("{a:.1}"), "[[ 1.  -2.5]\n [ 0.1  nan]]");
    /// # Ok::<(), devarray::Error>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        let floats: Option<Vec<Float>> = shown.iter().map(|&value| Float::of(value)).collect();
        let words = match (floats, f.precision()) {
            (Some(floats), precision) if self.shape().is_empty() => {
                floats.iter().map(|float| float.alone(precision)).collect()
            }
            (Some(floats), precision) => floats::words(&floats, precision.unwrap_or(floats::PRECISION)),
            (None, Some(precision)) => aligned(&shown, |value| format!("{value:.precision$}")),
            (None, None) => aligned(&shown, ToString::to_string),
        };
        rows::write(f, self.shape(), &words)
    }
}

impl<T: fmt::Debug> fmt::Debug for HostArray<T> {
    /// The elements as `Display` places them, each by its own `Debug`; then the shape.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = aligned(&self.shown(), |value| format!("{value:?}"));
        f.write_str("HostArray(")?;
        rows::write(f, self.shape(), &words)?;
        write!(f, ", shape = {:?})", self.shape())
    }
}

impl<T> HostArray<T> {
    /// The elements that are printed.
    fn shown(&self) -> Vec<&T> {
        rows::shown(self.shape()).into_iter().filter_map(|position| self.data.get(position)).collect()
    }
}

/// The elements as words of one width.
fn aligned<T>(elements: &[&T], word: impl Fn(&T) -> String) -> Vec<String> {
    let words: Vec<String> = elements.iter().map(|element| word(element)).collect();
    let width = words.iter().map(|word| word.chars().count()).max().unwrap_or(0);
    // Formatted padding stops at 65,535 columns; words need not.
    words.into_iter().map(|word| " ".repeat(width - word.chars().count()) + &word).collect()
}
