//! Grids of coordinates: views that repeat them.

use super::{ArrayView, Element, ErasedView, split::Narrow};
use crate::{
    Result,
    backend::Device,
    layout::{Indexing, Layout, NdLayout, meshgrid},
};

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// Makes the grid of all combinations of coordinates. For each of `axes` there is a view of the
    /// grid's shape, which repeats its coordinates along all other axes. An axis of rank 0 is one
    /// coordinate.
    ///
    /// Nothing is copied: [`to_contiguous`](Self::to_contiguous) gives a repeated element a place of its
    /// own. If an axis has no coordinates, no view has an element. Without axes there is no view.
    ///
    /// ```
    /// use devarray::{Array, ArrayView, Context, layout::Indexing};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[0.0, 0.5, 1.0])?;
    /// let y = Array::from_slice(&stream, &[2], &[10.0, 20.0])?;
    /// let grid = ArrayView::meshgrid(&[x.view(), y.view()], Indexing::Xy)?;
    /// assert_eq!(grid[0].to_vec(&stream)?, [0.0, 0.5, 1.0, 0.0, 0.5, 1.0]);
    /// assert_eq!(grid[1].to_vec(&stream)?, [10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
    /// let rows = ArrayView::meshgrid(&[x.view(), y.view()], Indexing::Ij)?;
    /// assert_eq!(rows[0].shape(), [3, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`](crate::LayoutError::RankMismatch): a view of `axes` has more than
    ///   one axis.
    /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): the grid has too many elements.
    #[doc(alias = "mgrid", alias = "ogrid")]
    #[track_caller]
    pub fn meshgrid(axes: &[Self], indexing: Indexing) -> Result<Vec<Self>> {
        spread(axes, indexing)
    }
}

impl<D: Device> ErasedView<'_, D> {
    /// Like [`ArrayView::meshgrid`]; the elements of each view keep their size.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn meshgrid(axes: &[Self], indexing: Indexing) -> Result<Vec<Self>> {
        spread(axes, indexing)
    }
}

#[track_caller]
fn spread<V: Narrow + NdLayout>(axes: &[V], indexing: Indexing) -> Result<Vec<V>> {
    let layouts = axes.iter().map(NdLayout::to_layout).collect::<Result<Vec<Layout>, _>>()?;
    let layouts = meshgrid(&layouts, indexing)?;
    Ok(axes.iter().zip(layouts).map(|(coordinates, layout)| coordinates.narrow(layout)).collect())
}
