//! Medians of interleaved rounds.

use anyhow::Result;

/// A measurement that can be repeated; returns seconds.
pub type Seconds<'a> = &'a mut dyn FnMut() -> Result<f64>;

/// Work that can be repeated.
pub type Work<'a> = &'a mut dyn FnMut() -> Result<()>;

/// The median of each measurement over `rounds`. Each round takes all of them in turn, so that a
/// card that becomes warm or slow affects all equally.
///
/// # Errors
///
/// The first error of a measurement.
pub fn interleaved<const N: usize>(rounds: usize, mut measurements: [Seconds<'_>; N]) -> Result<[f64; N]> {
    let mut taken = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (measurement, taken) in measurements.iter_mut().zip(&mut taken) {
            taken.push(measurement()?);
        }
    }
    Ok(taken.map(median))
}

/// Does `work` this number of times.
///
/// # Errors
///
/// The first error of the work.
pub fn repeated(times: usize, mut work: impl FnMut(usize) -> Result<()>) -> Result<()> {
    (0..times).try_for_each(&mut work)
}

/// The middle value, or the mean of the two middle ones.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_each() {
        let (mut up, mut down) = (0.0, 10.0);
        let mut rising = || {
            up += 1.0;
            Ok(up)
        };
        let mut falling = || {
            down -= 1.0;
            Ok(down)
        };
        assert_eq!(interleaved(3, [&mut rising, &mut falling]).unwrap(), [2.0, 8.0]);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
    }
}
