//! Bytes seen as elements of another type.

use super::{ArrayView, ArrayViewMut, Element};
use crate::{Result, backend::Device};

impl<'a, T: Element, D: Device> ArrayView<'a, T, D> {
    /// Returns the same bytes as elements of type `U`, like NumPy's `view(dtype)`: nothing moves, and no
    /// value is converted.
    ///
    /// If the sizes are equal, any layout is kept. Otherwise the last axis must be dense: its bytes
    /// become elements of the new size.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[2], &[0x0403_0201_u32.to_le(), 0x0807_0605_u32.to_le()])?;
    /// assert_eq!(a.view().reinterpret::<u8>()?.to_vec(&stream)?, [1, 2, 3, 4, 5, 6, 7, 8]);
    /// assert_eq!(a.view().reinterpret::<i64>()?.shape(), [1]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`](crate::LayoutError::ElementSize): the size differs, and there
    ///   is no axis, or the last axis has gaps, or its bytes, another stride or the offset is not a
    ///   multiple of the new size.
    /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow).
    #[doc(alias = "view", alias = "cast", alias = "bitcast")]
    #[track_caller]
    pub fn reinterpret<U: Element>(&self) -> Result<ArrayView<'a, U, D>> {
        let layout = self.layout().reinterpreted(T::BYTES, U::BYTES)?;
        Ok(ArrayView::new(self.as_erased().with_items(layout, U::BYTES)))
    }
}

impl<'a, T: Element, D: Device> ArrayViewMut<'a, T, D> {
    /// Returns the same bytes as elements of type `U`, to write. Like [`ArrayView::reinterpret`].
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "view", alias = "cast", alias = "bitcast")]
    #[track_caller]
    pub fn reinterpret<U: Element>(self) -> Result<ArrayViewMut<'a, U, D>> {
        let layout = self.layout().reinterpreted(T::BYTES, U::BYTES)?;
        Ok(ArrayViewMut::new(self.as_erased().part(layout, U::BYTES)))
    }
}
