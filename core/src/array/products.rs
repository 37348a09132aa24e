//! Matrix products of arrays and views.

mod einsum;
mod mapped;
mod onto;
mod precision;
mod subscripts;
mod tensordot;

use super::{
    Array, ArrayView, AsArrayView, AsArrayViewMut, AsErasedViewMut, ErasedArray, ErasedView, Operands as _,
    Summable,
};
use crate::{
    Result,
    backend::{Compute, Device},
    function::{ElementType, Number},
    product::Precision,
    stream::StreamHandle,
};

impl<D: Device> ErasedView<'_, D> {
    /// Like [`ArrayView::matmul`], for elements of a named type. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`](crate::LayoutError::ElementSize): elements do not have the
    ///   size of the type.
    /// - [`Error::Product`](crate::Error::Product): the type is `Bool`, which has no products.
    /// - The errors of [`ArrayView::matmul`].
    #[doc(alias = "mm", alias = "bmm")]
    #[track_caller]
    pub fn matmul(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
    ) -> Result<ErasedArray<D>>
    where
        D: Compute,
    {
        self.matmul_with(stream, element_type, other, Precision::Exact)
    }

    /// Like [`matmul`](Self::matmul), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - The errors of [`matmul`](Self::matmul).
    /// - The errors of [`ArrayView::matmul_into`].
    #[track_caller]
    pub fn matmul_into(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.matmul_with_into(stream, element_type, other, Precision::Exact, result)
    }
}

impl<T: Number, D: Device> ArrayView<'_, T, D> {
    /// Computes the matrix product with `other`: a new array in C order. Does not synchronize.
    ///
    /// Shapes are NumPy's: the last two axes are matrices, and the axes before them are a batch,
    /// which broadcasts. A 1-D operand is a row on the left and a column on the right. Each element
    /// has [one value](crate::product), in any batch, with any strides, on any device. Operands may
    /// have any strides: a transposed view costs no copy beforehand. Integers wrap in their type.
    /// If `k` is 0, there are no products, and the elements are 0.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0, 0.0, -1.0])?;
    /// assert_eq!(a.matmul(&stream, &x)?.to_vec(&stream)?, [-2.0, -2.0]);
    /// let gram = a.matmul(&stream, &a.view().transpose())?;
    /// assert_eq!(gram.to_vec(&stream)?, [14.0, 32.0, 32.0, 77.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Product`](crate::Error::Product): an operand has no axes, `k` differs, or the batches
    ///   do not broadcast.
    /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which only
    ///   broadcast views have.
    /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream or
    ///   array, and any other device error.
    #[doc(alias = "mm", alias = "bmm")]
    #[track_caller]
    #[doc(alias = "dot")]
    #[doc(alias = "gemm")]
    pub fn matmul(&self, stream: &StreamHandle<D>, other: &impl AsArrayView<T, D>) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        self.matmul_with(stream, other, Precision::Exact)
    }

    /// Like [`matmul`](Self::matmul), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): `result` has another shape
    ///   than the product.
    /// - [`LayoutError::AliasedDestination`](crate::LayoutError::AliasedDestination): two elements of
    ///   the result share memory.
    /// - The errors of [`matmul`](Self::matmul).
    #[track_caller]
    pub fn matmul_into(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.matmul_with_into(stream, other, Precision::Exact, result)
    }

    /// Computes the inner products along the last axes, which have one extent: NumPy's `vecdot`. The
    /// other axes broadcast. The result is a new array in C order. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    /// let b = Array::from_slice(&stream, &[2], &[10, 1])?;
    /// assert_eq!(a.vecdot(&stream, &b)?.to_vec(&stream)?, [12, 34]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`matmul`](Self::matmul).
    #[doc(alias = "inner")]
    #[track_caller]
    pub fn vecdot(&self, stream: &StreamHandle<D>, other: &impl AsArrayView<T, D>) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let other = other.as_array_view();
        let (rows, columns) = (self.expand_dims(-2)?, other.expand_dims(-1)?);
        let product = rows.matmul(stream, &columns)?;
        let dropped = product.layout().squeeze_axes(&[-2, -1])?;
        Ok(product.into_layout(dropped))
    }

    /// Multiplies each element with each of `other`, into a new array. Its axes are the axes of this
    /// view, then the axes of the other. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let (a, b) = (Array::from_slice(&stream, &[2], &[1, 2])?, Array::from_slice(&stream, &[2], &[3, 4])?);
    /// assert_eq!(a.outer(&stream, &b)?.to_vec(&stream)?, [3, 4, 6, 8]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map`](crate::function::Operands::map).
    #[doc(alias = "ger")]
    #[track_caller]
    pub fn outer(&self, stream: &StreamHandle<D>, other: &impl AsArrayView<T, D>) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let other = other.as_array_view();
        let mut of_each = self.clone();
        for _ in 0..other.rank() {
            of_each = of_each.expand_dims(-1)?;
        }
        (&of_each, &*other).map(stream, |(a, b)| a * b)
    }
}

/// Emits methods of arrays that call the methods of views. A name in brackets is another array.
macro_rules! of_the_whole {
    ($($bound:path: $name:ident $([$other:ident])? ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        impl<T: $bound + Number, D: Device> Array<T, D> {
            #[doc = concat!("[`ArrayView::", stringify!($name), "`] of the whole array. Does not synchronize.")]
            ///
            /// # Errors
            ///
            /// See there.
            #[track_caller]
            pub fn $name(
                &self,
                stream: &StreamHandle<D>,
                $($other: &impl AsArrayView<T, D>,)?
                $($argument: $type,)*
            ) -> Result<$result>
            where
                D: Compute,
            {
                self.view().$name(stream, $($other,)? $($argument),*)
            }
        }
    )*};
}

of_the_whole! {
    Number: matmul [other] () -> Self;
    Number: matmul_into [other] (result: &mut impl AsArrayViewMut<T, D>) -> ();
    Number: matmul_onto [other] (result: &mut impl AsArrayViewMut<T, D>) -> ();
    Number: matmul_with [other] (precision: Precision) -> Self;
    Number: matmul_with_into [other] (precision: Precision, result: &mut impl AsArrayViewMut<T, D>) -> ();
    Number: vecdot [other] () -> Self;
    Number: outer [other] () -> Self;
    Number: tensordot [other] (axes: &[isize], other_axes: &[isize]) -> Self;
    Summable: einsum (subscripts: &str) -> Self;
    Summable: einsum_with [other] (subscripts: &str) -> Self;
}
