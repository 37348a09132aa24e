//! Functions of the elements of one array or view.

use super::{Array, ArrayView, ArrayViewMut, AsArrayViewMut, Call, Operands, compute::submit};
use crate::{
    Result,
    backend::{Compute, Device},
    function::{Computable, Expression},
    stream::StreamHandle,
};

impl<T: Computable, D: Device> Array<T, D> {
    /// Computes a function of each element into a new array. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
    /// assert_eq!(x.map(&stream, |x| x * 2.0 + 1.0)?.to_vec(&stream)?, [3.0, 5.0, 7.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map`].
    #[doc(alias = "fuse")]
    #[doc(alias = "ufunc", alias = "vectorize", alias = "mapv", alias = "apply")]
    #[track_caller]
    pub fn map<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Expression<T>) -> Expression<R>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        self.view().map(stream, function)
    }
}

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// Computes a function of each element into a new array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map`].
    #[doc(alias = "ufunc", alias = "vectorize", alias = "mapv", alias = "apply")]
    #[track_caller]
    pub fn map<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Expression<T>) -> Expression<R>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        (self,).map(stream, |(x,)| function(x))
    }
}

impl<T: Computable, D: Device> Array<T, D> {
    /// Like [`map`](Self::map), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map_into`].
    #[track_caller]
    pub fn map_into<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.view().map_into(stream, result, function)
    }
}

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// Like [`map`](Self::map), into existing elements of any strides. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2], &[1.0_f32, 4.0])?;
    /// let mut roots = Array::uninit(&stream, &[2])?;
    /// x.map_into(&stream, &mut roots, |x| x.sqrt())?;
    /// assert_eq!(roots.to_vec(&stream)?, [1.0, 2.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map_into`].
    #[track_caller]
    pub fn map_into<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        Operands::map_into(self, stream, result, function)
    }
}

impl<T: Computable, D: Device> ArrayViewMut<'_, T, D> {
    /// Replaces each element by a function of it. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let mut x = Array::from_slice(&stream, &[3], &[1, 2, 3])?;
    /// x.view_mut().slice_axis(0, 1..)?.map_in_place(&stream, |x| x * 10)?;
    /// assert_eq!(x.to_vec(&stream)?, [1, 20, 30]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map`].
    #[doc(alias = "mapv_inplace")]
    #[track_caller]
    pub fn map_in_place(
        &mut self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Expression<T>) -> Expression<T>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.update(stream, (), |x, ()| function(x))
    }

    /// Replaces each element by a function of it, other arrays and numbers. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let mut y = Array::from_slice(&stream, &[2], &[1.0_f32, 2.0])?;
    /// let x = Array::from_slice(&stream, &[2], &[10.0_f32, 20.0])?;
    /// y.view_mut().update(&stream, (&x, 0.5), |y, (x, k)| y + x * k)?;
    /// assert_eq!(y.to_vec(&stream)?, [6.0, 12.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Operands::map`]; also, the other arrays do not broadcast to this shape.
    #[doc(alias = "zip_mut_with", alias = "azip")]
    #[track_caller]
    pub fn update<'b, O: Operands<'b, D>>(
        &mut self,
        stream: &StreamHandle<D>,
        others: O,
        function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<T>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (rest, mut call) = (Call::of(others), Call::of(()));
        call.input::<T>(self.as_erased().as_view());
        call.extend(rest);
        let function =
            call.trace(|arguments| function(arguments.next_argument(), O::expressions(arguments)))?;
        submit(&function, stream, &call.inputs, &call.scalars, &self.elements())
    }
}
