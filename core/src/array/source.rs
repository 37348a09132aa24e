//! What a call reads elements from: an array or a view of one.

use std::borrow::Cow;

use super::{ArrayView, Element};
use crate::backend::Device;

/// What can be looked at as an [`ArrayView`]: an array, a shared one, or a view. Calls that read
/// elements take a reference to any of them.
///
/// ```
/// use devarray::{Array, Context};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let a = Array::arange(&stream, 0, 4, 1)?;
/// let mut b = Array::zeros(&stream, &[4])?;
/// b.view_mut().copy_from(&stream, &a)?; // all of it
/// b.view_mut().slice_axis(0, ..2)?.copy_from(&stream, &a.slice_axis(0, 2..)?)?; // a view
/// assert_eq!(b.to_vec(&stream)?, [2, 3, 2, 3]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of `{T}` on a device of type `{D}`",
    note = "a reference to an `Array`, `SharedArray`, `ArrayView` or `ArrayViewMut` is asked for"
)]
pub trait AsArrayView<T: Element, D: Device> {
    /// All of its elements, to read. Moves nothing.
    fn as_array_view(&self) -> Cow<'_, ArrayView<'_, T, D>>;
}

impl<T: Element, D: Device> AsArrayView<T, D> for ArrayView<'_, T, D> {
    #[inline]
    fn as_array_view(&self) -> Cow<'_, ArrayView<'_, T, D>> {
        Cow::Borrowed(self)
    }
}

/// What [`as_array_view`](AsArrayView::as_array_view) gives.
impl<T: Element, D: Device> AsArrayView<T, D> for Cow<'_, ArrayView<'_, T, D>> {
    #[inline]
    fn as_array_view(&self) -> Cow<'_, ArrayView<'_, T, D>> {
        Cow::Borrowed(self)
    }
}

impl<T: Element, D: Device, A: AsArrayView<T, D>> AsArrayView<T, D> for &A {
    #[inline]
    fn as_array_view(&self) -> Cow<'_, ArrayView<'_, T, D>> {
        (**self).as_array_view()
    }
}
