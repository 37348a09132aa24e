//! Views of an array's memory by a layout of the caller, and typed views of erased ones.

use super::{ArrayView, ArrayViewMut, Element, ErasedArray, ErasedView, ErasedViewMut, checks::check_item};
use crate::{
    Result,
    backend::Device,
    layout::{Injectivity, Layout, LayoutError},
};

impl<D: Device> ErasedArray<D> {
    /// The elements that a layout reaches in this array's memory, to read: for code that keeps a
    /// layout beside the array. Neither copies nor synchronizes.
    ///
    /// The layout counts the elements of the allocation, as layouts made from
    /// [`layout`](Self::layout) do.
    ///
    /// ```
    /// use devarray::{Array, Context, NdLayout};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let array = Array::from_slice(&stream, &[2, 2], &[1_u8, 2, 3, 4])?.into_erased();
    /// let turned = array.layout().transpose();
    /// assert_eq!(array.view_of(&turned)?.to_bytes(&stream)?, [1, 3, 2, 4]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: the layout reaches outside the allocation.
    /// - [`LayoutError::NotLent`]: the array was [adopted](super::Array::adopt) or
    ///   [opened](super::Array::open), and the layout reaches, or may reach, memory outside its
    ///   elements.
    #[track_caller]
    pub fn view_of(&self, layout: &Layout) -> Result<ErasedView<'_, D>> {
        self.allocation().check_reach(layout, self.item_bytes())?;
        Ok(ErasedView::new(self.allocation(), layout.clone(), self.item_bytes()))
    }

    /// Like [`view_of`](Self::view_of), to write.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AliasedDestination`]: the layout reaches an element twice.
    /// - The errors of [`view_of`](Self::view_of).
    #[track_caller]
    pub fn view_mut_of(&mut self, layout: &Layout) -> Result<ErasedViewMut<'_, D>> {
        if layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        self.allocation().check_reach(layout, self.item_bytes())?;
        Ok(ErasedViewMut::new(self.allocation(), layout.clone(), self.item_bytes()))
    }
}

impl<'a, T: Element, D: Device> ArrayView<'a, T, D> {
    /// Gives an erased view its element type.
    ///
    /// # Errors
    ///
    /// [`LayoutError::ElementSize`]: its elements are not as large as a `T`.
    #[track_caller]
    pub fn from_erased(erased: ErasedView<'a, D>) -> Result<Self> {
        check_item(erased.item_bytes(), T::BYTES)?;
        Ok(Self::new(erased))
    }
}

impl<'a, T: Element, D: Device> ArrayViewMut<'a, T, D> {
    /// Gives an erased view its element type.
    ///
    /// # Errors
    ///
    /// [`LayoutError::ElementSize`]: its elements are not as large as a `T`.
    #[track_caller]
    pub fn from_erased(erased: ErasedViewMut<'a, D>) -> Result<Self> {
        check_item(erased.item_bytes(), T::BYTES)?;
        Ok(Self::new(erased))
    }
}
