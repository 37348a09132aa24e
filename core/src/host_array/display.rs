//! Prints host arrays.

use std::{
    any::{Any, TypeId},
    fmt,
};

use super::{
    HostArray,
    floats::{self, Float},
    rows,
};
use crate::{Bool, layout::NdLayout};

impl<T: fmt::Display + Any> fmt::Display for HostArray<T> {
    /// Prints like NumPy: columns are aligned, lines have 75 columns, and an array of more than
    /// 1000 elements is shortened to three at each end of an axis.
    ///
    /// Floating-point numbers (`f32`, `f64`, with the feature `half` also `f16` and `bf16`) get
    /// NumPy's default format: as many digits as tell them apart, at most 8 after the point,
    /// aligned at it. All have an exponent if some are very large, very small, or far apart. A
    /// precision, as in `{:.3}`, takes the place of the 8. [`Bool`]s always have the width of
    /// `False`, and no precision. Every other element is written by its own `Display`, with the
    /// precision if one is given, and aligned to the right. Elements without `Display` have the
    /// `Debug` form.
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
            (None, Some(precision)) if !is_bool::<T>() => {
                aligned(&shown, 0, |value| format!("{value:.precision$}"))
            }
            (None, _) => aligned(&shown, self.least_width(), ToString::to_string),
        };
        rows::write(f, self.shape(), &words)
    }
}

impl<T: fmt::Debug> fmt::Debug for HostArray<T> {
    /// Prints the elements like `Display`, each by its own `Debug`, and then the shape.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = aligned(&self.shown(), 0, |value| format!("{value:?}"));
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

impl<T: Any> HostArray<T> {
    /// The fewest columns that an element gets. A truth value gets the columns of `False` if the
    /// array has axes, as in NumPy.
    fn least_width(&self) -> usize {
        if is_bool::<T>() && !self.shape().is_empty() { "False".len() } else { 0 }
    }
}

fn is_bool<T: Any>() -> bool {
    TypeId::of::<T>() == TypeId::of::<Bool>()
}

/// Formats the elements as words of one width, which is at least `least`.
fn aligned<T>(elements: &[&T], least: usize, word: impl Fn(&T) -> String) -> Vec<String> {
    let words: Vec<String> = elements.iter().map(|element| word(element)).collect();
    let width = words.iter().map(|word| word.chars().count()).max().unwrap_or(0).max(least);
    // Padding by the formatter stops at 65,535 columns, but a word may be wider.
    words.into_iter().map(|word| " ".repeat(width - word.chars().count()) + &word).collect()
}
