//! Products that continue the chains of existing elements.

use crate::{
    Result,
    array::{ArrayView, AsArrayView, AsArrayViewMut, AsErasedViewMut, ErasedView},
    backend::{Compute, Device},
    function::{ElementType, Number},
    operations::Becomes,
    product::Precision,
    stream::StreamHandle,
};

impl<D: Device> ErasedView<'_, D> {
    /// Like [`ArrayView::matmul_onto`], for elements of a named type. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`matmul_into`](Self::matmul_into).
    #[track_caller]
    pub fn matmul_onto(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (result, operands) = (result.as_erased_view_mut(), [&self.elements(), &other.elements()]);
        stream.0.multiply((element_type, Precision::Exact), operands, &result.elements(), &Becomes::Onto)
    }
}

impl<T: Number, D: Device> ArrayView<'_, T, D> {
    /// Adds the matrix product with `other` to the elements of `result`. The first chain of each
    /// element starts from the existing element instead of +0. Does not synchronize.
    ///
    /// So a product of up to [`CHAIN`](crate::product::CHAIN) k may be computed in pieces of k, in
    /// rising order, and has the bits of the whole product. Only `f16` and `bf16` differ: they are
    /// rounded after each piece.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[1, 4], &[0.1_f32, 0.2, 0.3, 0.4])?;
    /// let b = a.view().transpose();
    /// let mut in_pieces = a.slice_axis(1, ..1)?.matmul(&stream, &b.slice_axis(0, ..1)?)?;
    /// a.slice_axis(1, 1..)?.matmul_onto(&stream, &b.slice_axis(0, 1..)?, &mut in_pieces)?;
    /// assert_eq!(in_pieces.to_vec(&stream)?, a.matmul(&stream, &b)?.to_vec(&stream)?);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`matmul_into`](Self::matmul_into).
    #[doc(alias = "accumulate")]
    #[track_caller]
    pub fn matmul_onto(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (other, result) = (other.as_array_view(), result.as_array_view_mut());
        let operands = [&self.as_erased().elements(), &other.as_erased().elements()];
        stream.0.multiply((T::TYPE, Precision::Exact), operands, &result.elements(), &Becomes::Onto)
    }
}
