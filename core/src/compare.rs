//! Compares arrays and reports the first difference, for tests.
//!
//! | | |
//! |---|---|
//! | [`assert_array_eq!`](crate::assert_array_eq) | the same shape, and every element the same byte for byte |
//! | [`assert_array_close!`](crate::assert_array_close) | the same shape, and every number within a [`Tolerance`] |
//! | [`difference()`], [`difference_beyond`] | the same without a panic |
//!
//! Both sides may be on the host or on a device: a [`HostArray`], an [`Array`], a view.

mod difference;
mod macros;

use std::borrow::Cow;

pub use difference::{Difference, Differing};
#[doc(hidden)]
pub use macros::expect_none;
use num_traits::Float;

use crate::{
    Array, ArrayView, ArrayViewMut, HostArray, Result, SharedArray, StreamHandle, backend::Device,
    layout::Element,
};

/// An array that can be compared: on the host, or on a device from which `S`, a [`StreamHandle`],
/// copies it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array that can be compared",
    note = "two arrays or views come first, then (for numbers that are close) a tolerance; the stream comes last"
)]
pub trait Comparable<T: Element, S> {
    /// The elements on the host. Blocks if they come from a device.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::to_host`].
    fn on_host(&self, stream: &S) -> Result<Cow<'_, HostArray<T>>>;
}

impl<T: Element, S> Comparable<T, S> for HostArray<T> {
    fn on_host(&self, _: &S) -> Result<Cow<'_, Self>> {
        Ok(Cow::Borrowed(self))
    }
}

macro_rules! comparable_on_a_device {
    ($($type:ty: $array:ident => $view:expr;)*) => {$(
        impl<T: Element, D: Device> Comparable<T, StreamHandle<D>> for $type {
            #[track_caller]
            fn on_host(&self, stream: &StreamHandle<D>) -> Result<Cow<'_, HostArray<T>>> {
                let $array = self;
                $view.to_host(stream).map(Cow::Owned)
            }
        }
    )*};
}

comparable_on_a_device! {
    Array<T, D>: array => array.view();
    SharedArray<T, D>: array => array.view();
    ArrayView<'_, T, D>: view => view;
    ArrayViewMut<'_, T, D>: view => view.as_view();
}

impl<T: Element, S, C: Comparable<T, S> + ?Sized> Comparable<T, S> for &C {
    fn on_host(&self, stream: &S) -> Result<Cow<'_, HostArray<T>>> {
        (**self).on_host(stream)
    }
}

/// The most that two numbers may differ, as in `numpy.allclose`: `absolute + relative * |right|`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct Tolerance {
    /// The part of the distance that does not depend on the numbers.
    pub absolute: f64,
    /// The part of the distance in proportion to the number on the right.
    pub relative: f64,
}

impl Tolerance {
    /// A distance that does not depend on the numbers.
    #[must_use]
    pub fn absolute(absolute: f64) -> Self {
        Self { absolute, relative: 0.0 }
    }

    /// A distance in proportion to the number on the right.
    #[must_use]
    pub fn relative(relative: f64) -> Self {
        Self { absolute: 0.0, relative }
    }

    /// Whether two numbers are close. NaN is close only to NaN, and an infinity only to itself.
    #[doc(alias = "isclose")]
    #[must_use]
    pub fn allows(self, left: f64, right: f64) -> bool {
        if left.is_nan() || right.is_nan() {
            return left.is_nan() && right.is_nan();
        }
        if left.is_infinite() || right.is_infinite() {
            return left == right;
        }
        (left - right).abs() <= self.absolute + self.relative * right.abs()
    }
}

/// The first difference of two arrays, byte for byte: `-0.0` differs from `0.0`, and a NaN equals a
/// NaN with the same bits. `None` if there is no difference. Blocks if a side is on a device.
/// Arrays on the host need no stream: `&()`.
///
/// ```
/// use devarray::{Array, Context, HostArray, compare::difference};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let found = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.5, 5.0])?;
/// let due = HostArray::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// let difference = difference(&found, &due, &stream)?.expect("they differ");
/// assert_eq!(
///     difference.to_string(),
///     "first difference at [1, 0]: left 3.5, right 3.0; 2 of 4 elements differ (f32, shape [2, 2])"
/// );
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`ArrayView::to_host`].
#[doc(alias = "array_equal", alias = "array_equiv")]
#[track_caller]
pub fn difference<T: Element + std::fmt::Debug, S>(
    left: &impl Comparable<T, S>,
    right: &impl Comparable<T, S>,
    stream: &S,
) -> Result<Option<Difference>> {
    let (left, right) = (left.on_host(stream)?, right.on_host(stream)?);
    let same = |left: &T, right: &T| bytemuck::bytes_of(left) == bytemuck::bytes_of(right);
    Ok(Difference::find(&left, &right, same))
}

/// Like [`difference()`], for floating-point numbers: finds the first two that are further apart
/// than a tolerance.
///
/// # Errors
///
/// The errors of [`ArrayView::to_host`].
#[doc(alias = "allclose")]
#[track_caller]
pub fn difference_beyond<T: Element + Float + std::fmt::Debug, S>(
    left: &impl Comparable<T, S>,
    right: &impl Comparable<T, S>,
    stream: &S,
    tolerance: Tolerance,
) -> Result<Option<Difference>> {
    let (left, right) = (left.on_host(stream)?, right.on_host(stream)?);
    let number = |value: &T| value.to_f64().unwrap_or(f64::NAN);
    let close = |left: &T, right: &T| tolerance.allows(number(left), number(right));
    Ok(Difference::find(&left, &right, close))
}
