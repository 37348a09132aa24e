//! Reductions and scans of one array or view.

use super::{Array, ArrayView, AsArrayViewMut, Call, Operands, reduce::Combined};
use crate::{
    Result,
    backend::{Compute, Device},
    function::{Computable, Expression, Function, Reduction, Scan},
    stream::StreamHandle,
};

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// Computes a function of each element and reduces its values, in one pass. Does not
    /// synchronize.
    ///
    /// [`Operands::reduce`] takes a function of several arrays. [`reduce_as`](Self::reduce_as),
    /// [`sum`](Self::sum) and its like need no function.
    ///
    /// ```
    /// use devarray::{Array, Context, NdLayout, function::{ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(x.sum(&stream, ..)?.to_vec(&stream)?, [21.0]);
    /// assert_eq!(x.max(&stream, &[0])?.to_vec(&stream)?, [4.0, 5.0, 6.0]);
    ///
    /// let mean = Reduction::new(ReduceOperation::Mean).axes(&[-1]).keep_axes();
    /// let means: Array<f32, _> = x.reduce(&stream, &mean, |x| x * 2.0)?;
    /// assert_eq!((means.shape(), means.to_vec(&stream)?), (&[2, 1][..], vec![4.0, 10.0]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Function`](crate::Error::Function): the operation does not take the type; its
    ///   result is not `R`; or an element of the result has nothing to reduce, and the operation
    ///   has no value for that.
    /// - An axis out of range or repeated, out of memory, another context's stream, and any other
    ///   device error.
    #[doc(alias = "ReductionKernel")]
    #[doc(alias = "fold", alias = "keepdims")]
    #[track_caller]
    pub fn reduce<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        Operands::reduce(self, stream, reduction, function)
    }

    /// Like [`reduce`](Self::reduce), into existing elements of any strides. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// let rows = Reduction::new(ReduceOperation::Sum).axes(&[-1]);
    /// let mut squares = Array::uninit(&stream, &[2])?;
    /// x.reduce_into(&stream, &rows, &mut squares, |x| x * x)?;
    /// assert_eq!(squares.to_vec(&stream)?, [5.0, 25.0]);
    /// x.sum_into(&stream, -1, &mut squares)?;
    /// assert_eq!(squares.to_vec(&stream)?, [3.0, 7.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce); also, `result` has another shape.
    #[track_caller]
    pub fn reduce_into<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<()>
    where
        D: Compute,
    {
        Operands::reduce_into(self, stream, reduction, result, function)
    }

    /// Reduces the elements themselves. The operation determines the type of the result, which must
    /// be `R`. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 3.0, 6.0])?;
    /// let sample = Reduction::new(ReduceOperation::Mean).keep_axes();
    /// assert_eq!(x.reduce_as::<f32>(&stream, &sample)?.to_vec(&stream)?, [3.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_as<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        Call::of(self).combined(Function::of_elements(T::TYPE), stream, Combined::Reduction(reduction))
    }

    /// Computes a function of each element and combines each value with the values before it along
    /// an axis. Does not synchronize.
    ///
    /// [`scan_as`](Self::scan_as), [`cumsum`](Self::cumsum) and its like need no function.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{Scan, ScanOperation}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
    /// let along = Scan::new(ScanOperation::Sum, 0);
    /// let squares: Array<f32, _> = x.scan(&stream, along, |x| x * x)?;
    /// assert_eq!(squares.to_vec(&stream)?, [1.0, 5.0, 14.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    #[doc(alias = "accumulate")]
    #[track_caller]
    pub fn scan<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        scan: Scan,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        Operands::scan(self, stream, scan, function)
    }

    /// Like [`scan`](Self::scan), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`scan`](Self::scan); also, `result` has another shape.
    #[track_caller]
    pub fn scan_into<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        scan: Scan,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<()>
    where
        D: Compute,
    {
        Operands::scan_into(self, stream, scan, result, function)
    }

    /// Combines each element with the elements before it along an axis. The operation determines
    /// the type of the result, which must be `R`. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce).
    #[track_caller]
    pub fn scan_as<R: Computable>(&self, stream: &StreamHandle<D>, scan: Scan) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        Call::of(self).combined(Function::of_elements(T::TYPE), stream, Combined::Scan(scan))
    }
}

impl<T: Computable, D: Device> Array<T, D> {
    /// [`ArrayView::reduce`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "fold", alias = "keepdims")]
    #[track_caller]
    pub fn reduce<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        self.view().reduce(stream, reduction, function)
    }

    /// [`ArrayView::reduce_into`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn reduce_into<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.view().reduce_into(stream, reduction, result, function)
    }

    /// [`ArrayView::reduce_as`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn reduce_as<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        self.view().reduce_as(stream, reduction)
    }

    /// [`ArrayView::scan`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "accumulate")]
    #[track_caller]
    pub fn scan<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        scan: Scan,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        self.view().scan(stream, scan, function)
    }

    /// [`ArrayView::scan_into`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn scan_into<U: Computable, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        scan: Scan,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>) -> Expression<U>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.view().scan_into(stream, scan, result, function)
    }

    /// [`ArrayView::scan_as`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn scan_as<R: Computable>(&self, stream: &StreamHandle<D>, scan: Scan) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        self.view().scan_as(stream, scan)
    }
}
