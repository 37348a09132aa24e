//! The assertions of tests.

use std::fmt;

use super::Difference;
use crate::Result;

/// Asserts that two arrays have the same shape and the same elements, byte for byte; the message of
/// a failure shows the first difference. Arrays on a device need a stream; the macro waits for
/// them. A message may follow the stream.
///
/// ```
/// use devarray::{Array, Context, HostArray, assert_array_eq};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let due = HostArray::new(&[2, 2], vec![1, 3, 2, 4])?;
/// let a = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
/// assert_array_eq!(a.view().transpose(), due, &stream);
/// assert_array_eq!(a, a.try_clone(&stream)?, &stream, "after {} steps", 3);
/// assert_array_eq!(due, due.clone());
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Panics
///
/// If they differ, or cannot be copied to the host.
#[macro_export]
macro_rules! assert_array_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::compare::expect_none($crate::compare::difference(&$left, &$right, &()), None)
    };
    ($left:expr, $right:expr, $stream:expr $(,)?) => {
        $crate::compare::expect_none($crate::compare::difference(&$left, &$right, $stream), None)
    };
    ($left:expr, $right:expr, $stream:expr, $($message:tt)+) => {
        $crate::compare::expect_none(
            $crate::compare::difference(&$left, &$right, $stream),
            Some(format_args!($($message)+)),
        )
    };
}

/// Asserts that two arrays have the same shape and floating-point numbers within a
/// [`Tolerance`](crate::compare::Tolerance) of each other; the message of a failure shows the first
/// difference. NaN is close to NaN. Arrays on a device need a stream; the macro waits for them. A
/// message may follow the stream.
///
/// ```
/// use devarray::{HostArray, assert_array_close, compare::Tolerance};
///
/// let found = HostArray::new(&[2], vec![0.1 + 0.2, f64::NAN])?;
/// let due = HostArray::new(&[2], vec![0.3, f64::NAN])?;
/// assert_array_close!(found, due, Tolerance::relative(1e-12));
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Panics
///
/// If they differ by more, or cannot be copied to the host.
#[macro_export]
macro_rules! assert_array_close {
    ($left:expr, $right:expr, $tolerance:expr $(,)?) => {
        $crate::compare::expect_none(
            $crate::compare::difference_beyond(&$left, &$right, &(), $tolerance),
            None,
        )
    };
    ($left:expr, $right:expr, $tolerance:expr, $stream:expr $(,)?) => {
        $crate::compare::expect_none(
            $crate::compare::difference_beyond(&$left, &$right, $stream, $tolerance),
            None,
        )
    };
    ($left:expr, $right:expr, $tolerance:expr, $stream:expr, $($message:tt)+) => {
        $crate::compare::expect_none(
            $crate::compare::difference_beyond(&$left, &$right, $stream, $tolerance),
            Some(format_args!($($message)+)),
        )
    };
}

/// Panics with the message of an assertion that failed.
///
/// # Panics
///
/// On a difference or an error.
#[doc(hidden)]
#[track_caller]
pub fn expect_none(found: Result<Option<Difference>>, message: Option<fmt::Arguments<'_>>) {
    let told = match found {
        Ok(None) => return,
        Ok(Some(difference)) => difference.to_string(),
        Err(error) => format!("they could not be compared: {error}"),
    };
    match message {
        Some(message) => panic!("arrays differ: {message}: {told}"),
        None => panic!("arrays differ: {told}"),
    }
}
