//! Functions and reductions on erased arrays and views.

mod calls;

use super::{AsErasedViewMut, ErasedArray, ErasedView};
use crate::{
    Result,
    backend::Compute,
    function::{Reduction, Scan},
    stream::StreamHandle,
};

/// Computes a [`Function`](crate::function::Function) on a device.
///
/// Sealed: only `Function` implements it. The [prelude](crate::prelude) brings it into scope.
pub trait DeviceFunction: sealed::Sealed {
    /// Computes the function on the elements of views, broadcast together, into a new array. Does
    /// not synchronize.
    ///
    /// The result is dense, in the order of the first input that has its shape, or in C order.
    /// Without inputs it has no axes. A scalar is given by its bits, with zero bits above them.
    ///
    /// ```
    /// use devarray::{Context, ErasedArray, function::{ElementType, Function}, prelude::*};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let axpy = Function::parse("x0 * k0 + x1", &[ElementType::I32; 2], &[ElementType::I32])?;
    /// let x = ErasedArray::from_bytes(&stream, &[2], 4, bytemuck::bytes_of(&[1, 2]))?;
    /// let sum = axpy.apply(&stream, &[x.view(), x.view()], &[10])?;
    /// assert_eq!(sum.view().to_bytes(&stream)?, bytemuck::bytes_of(&[11, 22]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`NotBroadcastable`](crate::LayoutError::NotBroadcastable): the shapes of the views do not
    ///   fit by the rules of broadcasting.
    /// - [`ElementSize`](crate::LayoutError::ElementSize),
    ///   [`RankMismatch`](crate::LayoutError::RankMismatch): the function takes another number of
    ///   views or scalars, or elements of another size.
    /// - Out of memory, another context's stream, and any other device error.
    #[track_caller]
    fn apply<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
    ) -> Result<ErasedArray<D>>;

    /// Like [`apply`](Self::apply), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::LayoutError::ShapeMismatch): `result` has another shape than the
    ///   inputs broadcast together; if there are none, it may have any.
    /// - The errors of [`apply`](Self::apply).
    #[track_caller]
    fn apply_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>;

    /// Computes the function on the elements of views, broadcast together, and reduces its values.
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`Error::Function`](crate::Error::Function): the operation does not take the type; an
    ///   element of the result has nothing to reduce, and the operation has no value for that; or
    ///   positions are taken along an axis that comes after more than 255 others once it is
    ///   reduced.
    /// - [`AxisOutOfRange`](crate::LayoutError::AxisOutOfRange),
    ///   [`RepeatedAxis`](crate::LayoutError::RepeatedAxis).
    /// - [`Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which only broadcast
    ///   views have.
    /// - The errors of [`apply`](Self::apply).
    #[track_caller]
    fn reduce<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
    ) -> Result<ErasedArray<D>>;

    /// Like [`reduce`](Self::reduce), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce); also [`ShapeMismatch`](crate::LayoutError::ShapeMismatch), if
    /// `result` has another shape.
    #[track_caller]
    fn reduce_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>;

    /// Computes the function on the elements of views, broadcast together, and combines each value
    /// with the values before it along an axis. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    #[track_caller]
    fn scan<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
    ) -> Result<ErasedArray<D>>;

    /// Like [`scan`](Self::scan), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`scan`](Self::scan); also [`ShapeMismatch`](crate::LayoutError::ShapeMismatch), if
    /// `result` has another shape.
    #[track_caller]
    fn scan_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>;

    /// Like [`reduce`](Self::reduce), over the elements for which `mask`, a function of the same
    /// inputs, is true. Does not synchronize.
    ///
    /// Every element that is not selected counts as the neutral element, so a sum keeps its order.
    /// `mean`, `var` and `std` divide by the number of selected elements, which takes one or two
    /// more launches.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce); also [`Error::Function`](crate::Error::Function): the other
    /// function is not of `Bool`, or takes other inputs or scalars; `argmin` and `argmax`;
    /// `min` and `max` without an [`initial`](Reduction::initial) value.
    #[track_caller]
    fn reduce_where<D: Compute>(
        &self,
        mask: &Self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
    ) -> Result<ErasedArray<D>>;

    /// Computes the function on the elements of views, broadcast together, reduces its values to
    /// one element, and copies the element's bytes to `item`. Blocks until they are there.
    ///
    /// Gives what [`reduce`](Self::reduce) and then [`ArrayView::item`](super::ArrayView::item) give.
    /// It is faster if the device can write the element of the reduction to the host directly.
    ///
    /// # Errors
    ///
    /// - [`LengthMismatch`](crate::LayoutError::LengthMismatch): there is not exactly one element,
    ///   or `item` does not have its length.
    /// - The errors of [`reduce`](Self::reduce).
    #[track_caller]
    fn reduce_item<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        item: &mut [u8],
    ) -> Result<()>;
}

mod sealed {
    #[expect(unnameable_types, reason = "that seals the trait")]
    pub trait Sealed {}
}
