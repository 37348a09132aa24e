//! Prints floating-point numbers like NumPy: its `FloatingFormat` in the mode `maxprec`.

use std::{any::Any, iter::repeat_n};

/// The most digits after the point, NumPy's default.
pub(super) const PRECISION: usize = 8;

/// A number of any floating-point type, with the shortest digits that tell it from its neighbours
/// in that type.
pub(super) struct Float {
    exact: f64,
    /// The text of `{:e}`. Unused if the number is not finite.
    shortest: String,
    /// Numbers below the first bound, or from the second bound on, are printed with an exponent.
    /// The bounds are 0.0001 rounded to the type, and the size at which digits before the point
    /// stop being significant.
    exponents: (f64, f64),
}

/// A decimal number: the digits before the point, with the sign; the digits after it; the exponent.
struct Decimal {
    whole: String,
    fraction: String,
    exponent: i32,
}

impl Float {
    /// The number, if `value` has a floating-point type.
    pub(super) fn of(value: &dyn Any) -> Option<Self> {
        if let Some(&value) = value.downcast_ref::<f64>() {
            return Some(Self { exact: value, shortest: format!("{value:e}"), exponents: (1e-4, 1e16) });
        }
        if let Some(&value) = value.downcast_ref::<f32>() {
            let (exact, exponents) = (f64::from(value), (f64::from(1e-4_f32), 1e6));
            return Some(Self { exact, shortest: format!("{value:e}"), exponents });
        }
        #[cfg(feature = "half")]
        {
            use half::{bf16, f16};

            if let Some(&value) = value.downcast_ref::<f16>() {
                let shortest = shortest(value.to_f64(), |near| f16::from_f64(near) == value);
                let exponents = (f16::from_f64(1e-4).to_f64(), 1e3);
                return Some(Self { exact: value.to_f64(), shortest, exponents });
            }
            if let Some(&value) = value.downcast_ref::<bf16>() {
                let shortest = shortest(value.to_f64(), |near| bf16::from_f64(near) == value);
                let exponents = (bf16::from_f64(1e-4).to_f64(), 1e2);
                return Some(Self { exact: value.to_f64(), shortest, exponents });
            }
        }
        None
    }

    /// The text of the only element of an array without axes.
    pub(super) fn alone(&self, precision: Option<usize>) -> String {
        let (size, precision) = (self.exact.abs(), precision.unwrap_or(usize::MAX));
        if !self.exact.is_finite() {
            return self.not_finite();
        }
        if size == 0.0 || (1e-4..self.exponents.1).contains(&size) {
            let Decimal { whole, mut fraction, .. } = self.positional(precision);
            if fraction.is_empty() {
                fraction.push('0');
            }
            return format!("{whole}.{fraction}");
        }
        let Decimal { whole, fraction, exponent } = self.scientific(precision);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{whole}{point}{fraction}e{exponent:+03}")
    }

    fn not_finite(&self) -> String {
        if self.exact.is_nan() { "nan".to_owned() } else { self.exact.to_string() }
    }

    /// The number without exponent, with no more digits than needed or allowed.
    fn positional(&self, precision: usize) -> Decimal {
        let Decimal { whole, fraction, exponent } = decimal(&self.shortest);
        let (sign, first) = whole.split_at(whole.len() - 1);
        let mut digits = first.to_owned() + &fraction;
        if exponent < 0 {
            digits.insert_str(0, &"0".repeat(exponent.unsigned_abs() as usize));
        }
        let before_point = 1 + usize::try_from(exponent).unwrap_or(0);
        digits.extend(repeat_n('0', before_point.saturating_sub(digits.len())));
        let (whole, fraction) = digits.split_at(before_point);
        let decimal = if fraction.trim_end_matches('0').len() <= precision {
            Decimal { whole: format!("{sign}{whole}"), fraction: fraction.to_owned(), exponent: 0 }
        } else {
            decimal(&format!("{:.precision$}", self.exact))
        };
        decimal.trimmed()
    }

    /// The number with one digit before the point, with no more digits than needed or allowed.
    fn scientific(&self, precision: usize) -> Decimal {
        let shortest = decimal(&self.shortest);
        if shortest.fraction.len() <= precision {
            return shortest.trimmed();
        }
        decimal(&format!("{:.precision$e}", self.exact)).trimmed()
    }
}

impl Decimal {
    fn trimmed(mut self) -> Self {
        self.fraction.truncate(self.fraction.trim_end_matches('0').len());
        self
    }
}

/// Splits a number that `{}` or `{:e}` wrote into parts.
fn decimal(text: &str) -> Decimal {
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    Decimal {
        whole: whole.to_owned(),
        fraction: fraction.to_owned(),
        exponent: exponent.parse().unwrap_or_default(),
    }
}

/// Finds the fewest digits from which `is_same` recognizes the number, for types whose numbers need
/// at most six.
#[cfg(feature = "half")]
fn shortest(exact: f64, is_same: impl Fn(f64) -> bool) -> String {
    let tries = (0..6).map(|digits| format!("{exact:.digits$e}"));
    let known = |text: &String| text.parse().is_ok_and(&is_same);
    tries.into_iter().find(known).unwrap_or_else(|| format!("{exact:e}"))
}

/// Formats the numbers of an array as words of one width.
pub(super) fn words(floats: &[Float], precision: usize) -> Vec<String> {
    let finite = || floats.iter().filter(|float| float.exact.is_finite());
    let decimals: Vec<Decimal>;
    // The width includes the sign.
    let mut exponent_width = 0;
    let with_exponents = needs_exponents(finite());
    if with_exponents {
        decimals = finite().map(|float| float.scientific(precision)).collect();
        let digits = decimals.iter().map(|decimal| decimal.exponent.abs().to_string().len());
        exponent_width = 1 + digits.max().unwrap_or(0).max(2);
    } else {
        decimals = finite().map(|float| float.positional(precision)).collect();
    }
    let mut before = decimals.iter().map(|decimal| decimal.whole.len()).max().unwrap_or(0);
    let after = decimals.iter().map(|decimal| decimal.fraction.len()).max().unwrap_or(0);
    let rest = 1 + after + if with_exponents { 1 + exponent_width } else { 0 };
    for other in floats.iter().filter(|float| !float.exact.is_finite()) {
        before = before.max(other.not_finite().len().saturating_sub(rest));
    }
    let word = |float: &Float| {
        if !float.exact.is_finite() {
            return format!("{:>1$}", float.not_finite(), before + rest);
        }
        if with_exponents {
            // Digits beyond the shortest come from the exact number, and are not zeros.
            let Decimal { whole, fraction, exponent } = decimal(&format!("{:.after$e}", float.exact));
            return format!("{whole:>before$}.{fraction}e{exponent:+0exponent_width$}");
        }
        let Decimal { whole, fraction, .. } = float.positional(precision);
        format!("{whole:>before$}.{fraction:<after$}")
    };
    floats.iter().map(word).collect()
}

/// Whether numbers are too large, too small or too far apart to be read in columns of digits.
fn needs_exponents<'a>(finite: impl Iterator<Item = &'a Float>) -> bool {
    let (mut below, mut from) = (0.0, f64::INFINITY);
    let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
    for float in finite.filter(|float| float.exact != 0.0) {
        least = least.min(float.exact.abs());
        greatest = greatest.max(float.exact.abs());
        (below, from) = (float.exponents.0, float.exponents.1.min(1e8));
    }
    greatest >= from || least < below || greatest / least > 1000.0
}
