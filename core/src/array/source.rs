//! The sources of calls: an array, or a view of one.

use std::{borrow::Cow, fmt, ops::Deref};

use super::{ArrayView, Element};
use crate::backend::Device;

/// Sources that give an [`ArrayView`]: an array, a shared one, or a view. Calls that read
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
    /// Borrows all of its elements, to read. Moves nothing.
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D>;
}

/// The result of [`as_array_view`](AsArrayView::as_array_view): a view that existed already, or one
/// made for the call.
pub struct ViewRef<'r, 'a, T: Element, D: Device>(Cow<'r, ArrayView<'a, T, D>>);

impl<'a, T: Element, D: Device> From<ArrayView<'a, T, D>> for ViewRef<'_, 'a, T, D> {
    #[inline]
    fn from(view: ArrayView<'a, T, D>) -> Self {
        Self(Cow::Owned(view))
    }
}

impl<T: Element, D: Device> fmt::Debug for ViewRef<'_, '_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a, T: Element, D: Device> Deref for ViewRef<'_, 'a, T, D> {
    type Target = ArrayView<'a, T, D>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Element, D: Device> AsArrayView<T, D> for ArrayView<'_, T, D> {
    #[inline]
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D> {
        ViewRef(Cow::Borrowed(self))
    }
}

impl<T: Element, D: Device> AsArrayView<T, D> for ViewRef<'_, '_, T, D> {
    #[inline]
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D> {
        ViewRef(Cow::Borrowed(self))
    }
}

impl<T: Element, D: Device, A: AsArrayView<T, D>> AsArrayView<T, D> for &A {
    #[inline]
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D> {
        (**self).as_array_view()
    }
}
