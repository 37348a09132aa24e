//! Matrix products that are as exact as their caller asks for.

use crate::{
    Result,
    array::{Array, ArrayView, AsArrayView, AsArrayViewMut, AsErasedViewMut, ErasedArray, ErasedView},
    backend::{Compute, Device},
    function::{ElementType, Number},
    operations::Becomes,
    product::{Precision, product_shape},
    stream::StreamHandle,
};

impl<D: Device> ErasedView<'_, D> {
    /// Like [`ArrayView::matmul_with`], for elements of a named type. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`matmul`](Self::matmul), and [`Error::Library`](crate::Error::Library).
    #[track_caller]
    pub fn matmul_with(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        precision: Precision,
    ) -> Result<ErasedArray<D>>
    where
        D: Compute,
    {
        let shape = product_shape(self.shape(), other.shape())?;
        let mut result = ErasedArray::uninit(stream, &shape, element_type.len_bytes())?;
        self.matmul_with_into(stream, element_type, other, precision, &mut result)?;
        Ok(result)
    }

    /// Like [`matmul_with`](Self::matmul_with), into existing elements of any strides. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`matmul_into`](Self::matmul_into), and
    /// [`Error::Library`](crate::Error::Library).
    #[track_caller]
    pub fn matmul_with_into(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        precision: Precision,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (how, result) = ((element_type, precision), result.as_erased_view_mut());
        let operands = [&self.elements(), &other.elements()];
        stream.0.multiply(how, operands, &result.elements(), &Becomes::Result)
    }
}

impl<T: Number, D: Device> ArrayView<'_, T, D> {
    /// Computes the matrix product with `other`, as [exactly](Precision) as the caller asks: a new
    /// array in C order. Does not synchronize.
    ///
    /// With [`Precision::Exact`] it is [`matmul`](Self::matmul). With [`Precision::Fast`] a GPU may use
    /// its tensor cores on `f16`, `bf16` and `f32`, and elements are within a
    /// [bound](Precision::gamma). Other types, and devices that have nothing faster, give the exact
    /// elements. A result without elements, or without products, needs no library.
    ///
    /// ```
    /// use devarray::{Array, Context, product::Precision};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// let square = a.matmul_with(&stream, &a, Precision::Fast)?;
    /// assert_eq!(square.to_vec(&stream)?, [7.0, 10.0, 15.0, 22.0]); // 11 bits hold all of them
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Library`](crate::Error::Library): the device's fast form needs a library that is
    ///   not there; the error names the places that were searched.
    /// - The errors of [`matmul`](Self::matmul).
    #[doc(alias = "tf32")]
    #[doc(alias = "allow_tf32")]
    #[track_caller]
    pub fn matmul_with(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        precision: Precision,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let other = other.as_array_view();
        let product = self.as_erased().matmul_with(stream, T::TYPE, other.as_erased(), precision)?;
        Ok(Array::of_erased(product))
    }

    /// Like [`matmul_with`](Self::matmul_with), into existing elements of any strides. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// - The errors of [`matmul_into`](Self::matmul_into).
    /// - [`Error::Library`](crate::Error::Library): like [`matmul_with`](Self::matmul_with).
    #[track_caller]
    pub fn matmul_with_into(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        precision: Precision,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (other, result) = (other.as_array_view(), result.as_array_view_mut());
        let [a, b] = [self.as_erased(), other.as_erased()].map(ErasedView::elements);
        stream.0.multiply((T::TYPE, precision), [&a, &b], &result.elements(), &Becomes::Result)
    }
}
