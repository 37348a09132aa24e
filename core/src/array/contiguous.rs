//! Copies that are dense, and calls that copy only where no view exists.

use super::{Array, ArrayView, Element, ErasedArray, ErasedView, Reshaped};
use crate::{
    Result,
    backend::Device,
    layout::{Extents, Layout, LayoutError, Order},
    stream::StreamHandle,
};

impl<'a, D: Device> ErasedView<'a, D> {
    /// Copies the elements to a new array, dense in `order`. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn to_contiguous(&self, stream: &StreamHandle<D>, order: Order) -> Result<ErasedArray<D>> {
        self.copied_to(stream, self.layout().dense_like(order)?)
    }

    /// Copies the elements to a new array of a dense layout.
    #[track_caller]
    fn copied_to(&self, stream: &StreamHandle<D>, dense: Layout) -> Result<ErasedArray<D>> {
        let mut copy = ErasedArray::of_layout(stream, dense, self.item_bytes())?;
        copy.view_mut().copy_from(stream, self)?;
        Ok(copy)
    }

    /// Returns the same elements in another shape: a view if one exists, else a copy dense in the resolved
    /// order. The result says which. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`reshape`](Self::reshape), [`LayoutError::NeedsCopy`] excepted, and
    /// [`to_contiguous`](Self::to_contiguous).
    #[track_caller]
    pub fn reshape_or_copy<S: Extents + ?Sized>(
        &self,
        stream: &StreamHandle<D>,
        shape: &S,
        order: Order,
    ) -> Result<Reshaped<Self, ErasedArray<D>>> {
        match self.layout().reshape(shape, order) {
            Err(LayoutError::NeedsCopy) => {
                let dense = self.to_contiguous(stream, order)?;
                let layout = dense.layout().reshape(shape, self.layout().resolve(order))?;
                Ok(Reshaped::Copied(dense.into_layout(layout)))
            }
            layout => Ok(Reshaped::View(self.with_layout(layout?))),
        }
    }

    /// Returns the same elements in one contiguous axis: a view if they lie so, else a copy. The result
    /// says which. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`to_contiguous`](Self::to_contiguous).
    #[track_caller]
    pub fn ravel_or_copy(
        &self,
        stream: &StreamHandle<D>,
        order: Order,
    ) -> Result<Reshaped<Self, ErasedArray<D>>> {
        match self.layout().ravel(order) {
            Err(LayoutError::NeedsCopy) => {
                let dense = self.copied_to(stream, self.layout().dense_to_ravel(order)?)?;
                let layout = dense.layout().ravel(Order::K)?;
                Ok(Reshaped::Copied(dense.into_layout(layout)))
            }
            layout => Ok(Reshaped::View(self.with_layout(layout?))),
        }
    }
}

impl<'a, T: Element, D: Device> ArrayView<'a, T, D> {
    /// Copies the elements to a new array, dense in `order`. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn to_contiguous(&self, stream: &StreamHandle<D>, order: Order) -> Result<Array<T, D>> {
        self.as_erased().to_contiguous(stream, order).map(Array::of_erased)
    }

    /// Returns the same elements in another shape: a view if one exists, else a copy dense in the resolved
    /// order. The result says which. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`reshape`](Self::reshape), [`LayoutError::NeedsCopy`]
    /// excepted, and [`to_contiguous`](Self::to_contiguous).
    #[track_caller]
    pub fn reshape_or_copy<S: Extents + ?Sized>(
        &self,
        stream: &StreamHandle<D>,
        shape: &S,
        order: Order,
    ) -> Result<Reshaped<Self, Array<T, D>>> {
        Ok(Self::typed(self.as_erased().reshape_or_copy(stream, shape, order)?))
    }

    /// Returns the same elements in one contiguous axis: a view if they lie so, else a copy. The result
    /// says which. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`to_contiguous`](Self::to_contiguous).
    #[track_caller]
    pub fn ravel_or_copy(
        &self,
        stream: &StreamHandle<D>,
        order: Order,
    ) -> Result<Reshaped<Self, Array<T, D>>> {
        Ok(Self::typed(self.as_erased().ravel_or_copy(stream, order)?))
    }

    fn typed(erased: Reshaped<ErasedView<'a, D>, ErasedArray<D>>) -> Reshaped<Self, Array<T, D>> {
        match erased {
            Reshaped::View(view) => Reshaped::View(Self::new(view)),
            Reshaped::Copied(array) => Reshaped::Copied(Array::of_erased(array)),
        }
    }
}

impl<'a, D: Device> Reshaped<ErasedView<'a, D>, ErasedArray<D>> {
    /// The elements, whether a view or a copy holds them.
    #[must_use]
    pub fn view(&self) -> ErasedView<'_, D> {
        match self {
            Self::View(view) => view.clone(),
            Self::Copied(array) => array.view(),
        }
    }
}

impl<'a, T: Element, D: Device> Reshaped<ArrayView<'a, T, D>, Array<T, D>> {
    /// The elements, whether a view or a copy holds them.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        match self {
            Self::View(view) => view.clone(),
            Self::Copied(array) => array.view(),
        }
    }
}
