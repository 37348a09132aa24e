//! The destinations of calls: an array, or a view of one.

use super::{Array, ArrayViewMut, Element, ErasedArray, ErasedViewMut};
use crate::backend::Device;

/// Destinations that give an [`ArrayViewMut`]: an array, or a view to write. Calls that write
/// existing elements take a `&mut` reference to either.
///
/// ```
/// use devarray::{Array, Context, array::Operands};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2], &[1.0_f32, 2.0])?;
/// let mut y = Array::zeros(&stream, &[4])?;
/// (&x, 10.0).map_into(&stream, &mut y.view_mut().slice_axis(0, ..2)?, |(x, k)| x * k)?; // a part
/// assert_eq!(y.to_vec(&stream)?, [10.0, 20.0, 0.0, 0.0]);
/// let mut z = Array::uninit(&stream, &[2])?;
/// (&x, 10.0).map_into(&stream, &mut z, |(x, k)| x + k)?; // all of it
/// assert_eq!(z.to_vec(&stream)?, [11.0, 12.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of `{T}` to write on a device of type `{D}`",
    label = "not written",
    note = "a `&mut` reference to an `Array` or an `ArrayViewMut` is asked for; an `ArrayView` and a `SharedArray` are only read"
)]
pub trait AsArrayViewMut<T: Element, D: Device> {
    /// Borrows all of its elements, to write. Moves nothing.
    fn as_array_view_mut(&mut self) -> ArrayViewMut<'_, T, D>;
}

impl<T: Element, D: Device> AsArrayViewMut<T, D> for Array<T, D> {
    #[inline]
    fn as_array_view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        self.view_mut()
    }
}

impl<T: Element, D: Device> AsArrayViewMut<T, D> for ArrayViewMut<'_, T, D> {
    #[inline]
    fn as_array_view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        self.reborrow()
    }
}

impl<T: Element, D: Device, A: AsArrayViewMut<T, D>> AsArrayViewMut<T, D> for &mut A {
    #[inline]
    fn as_array_view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        (**self).as_array_view_mut()
    }
}

/// Destinations that give an [`ErasedViewMut`]: an erased array, or a view of one to write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no erased array to write on a device of type `{D}`",
    label = "not written",
    note = "a `&mut` reference to an `ErasedArray` or an `ErasedViewMut` is asked for; `into_erased` makes one of a typed array or view"
)]
pub trait AsErasedViewMut<D: Device> {
    /// Borrows all of its elements, to write. Moves nothing.
    fn as_erased_view_mut(&mut self) -> ErasedViewMut<'_, D>;
}

impl<D: Device> AsErasedViewMut<D> for ErasedArray<D> {
    #[inline]
    fn as_erased_view_mut(&mut self) -> ErasedViewMut<'_, D> {
        self.view_mut()
    }
}

impl<D: Device> AsErasedViewMut<D> for ErasedViewMut<'_, D> {
    #[inline]
    fn as_erased_view_mut(&mut self) -> ErasedViewMut<'_, D> {
        self.reborrow()
    }
}

impl<D: Device, A: AsErasedViewMut<D>> AsErasedViewMut<D> for &mut A {
    #[inline]
    fn as_erased_view_mut(&mut self) -> ErasedViewMut<'_, D> {
        (**self).as_erased_view_mut()
    }
}
