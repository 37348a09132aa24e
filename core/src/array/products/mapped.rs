//! Functions of the elements of products.

use smallvec::SmallVec;

use crate::{
    Result,
    array::{
        Array, ArrayView, AsArrayView, AsArrayViewMut, AsErasedViewMut, Call, ErasedArray, ErasedView,
        Operands,
    },
    backend::{Compute, Device},
    function::{Computable, ElementType, Expression, Function, Number},
    operations::{Becomes, Elements},
    product::{Precision, product_shape},
    stream::StreamHandle,
};

impl<D: Device> ErasedView<'_, D> {
    /// Like [`ArrayView::matmul_map`], for elements of a named type. The function's first input is the
    /// element of the product; `inputs` are the others. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Context, ErasedArray, function::{ElementType::F32, Function}};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = ErasedArray::from_bytes(&stream, &[1, 2], 4, bytemuck::bytes_of(&[1.0_f32, -2.0]))?;
    /// let relu = Function::parse("maximum(x0 + x1, 0.0)", &[F32; 2], &[])?;
    /// let b = a.view().transpose();
    /// let y = a.view().matmul_apply(&stream, F32, &b, &relu, &[a.view()], &[]);
    /// assert!(y.is_err(), "a row of two has no place in a product of one element");
    /// let y = b.matmul_apply(&stream, F32, &a.view(), &relu, &[a.view()], &[])?;
    /// assert_eq!(y.view().to_bytes(&stream)?, bytemuck::bytes_of(&[2.0_f32, 0.0, 0.0, 2.0]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Product`](crate::Error::Product): the function's first input is of another type.
    /// - [`LayoutError::RankMismatch`](crate::LayoutError::RankMismatch): the function takes another
    ///   number of inputs or scalars.
    /// - The errors of [`ErasedView::matmul`] and [`ArrayView::matmul_map`].
    #[track_caller]
    pub fn matmul_apply(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        function: &Function,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
    ) -> Result<ErasedArray<D>>
    where
        D: Compute,
    {
        let shape = product_shape(self.shape(), other.shape())?;
        let mut result = ErasedArray::uninit(stream, &shape, function.result_type().len_bytes())?;
        self.matmul_apply_into(stream, element_type, other, function, inputs, scalars, &mut result)?;
        Ok(result)
    }

    /// Like [`matmul_apply`](Self::matmul_apply), into existing elements of any strides. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// - The errors of [`matmul_apply`](Self::matmul_apply).
    /// - The errors of [`ArrayView::matmul_into`].
    #[expect(clippy::too_many_arguments, reason = "two calls in one: a product, and a function of it")]
    #[track_caller]
    pub fn matmul_apply_into(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        function: &Function,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (result, operands) = (result.as_erased_view_mut(), [self, other]);
        submit(stream, element_type, operands, function, inputs, scalars, &result.elements())
    }

    /// Like [`ArrayView::matmul_update`], for elements of a named type. The function's first two inputs
    /// are the element of the product and the existing element of the result; `inputs` are the others.
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`matmul_apply_into`](Self::matmul_apply_into).
    #[expect(clippy::too_many_arguments, reason = "two calls in one: a product, and a function of it")]
    #[track_caller]
    pub fn matmul_update(
        &self,
        stream: &StreamHandle<D>,
        element_type: ElementType,
        other: &ErasedView<'_, D>,
        function: &Function,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (result, operands) = (result.as_erased_view_mut(), [self, other]);
        let mut all: SmallVec<[ErasedView<'_, D>; 4]> = SmallVec::new();
        all.push(result.as_view());
        all.extend(inputs.iter().cloned());
        submit(stream, element_type, operands, function, &all, scalars, &result.elements())
    }
}

impl<T: Number, D: Device> ArrayView<'_, T, D> {
    /// Computes a function of each element of the product with `other`, and of further operands, into a
    /// new array in C order. Does not synchronize.
    ///
    /// The function sees the element of [`matmul`](Self::matmul), rounded to its type, so the bits
    /// equal a product and then a [map](crate::function::Operands::map). It is one operation: on
    /// devices with kernels for it the product is never in memory. Operands are arrays and views,
    /// which are broadcast to the product's shape, and numbers. The result may be of another type.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// let weights = Array::from_slice(&stream, &[2, 2], &[1.0_f32, -1.0, 0.0, 1.0])?;
    /// let bias = Array::from_slice(&stream, &[2], &[0.5_f32, -2.0])?;
    ///
    /// let y = x.matmul_map(&stream, &weights, &bias, |y, bias| (y + bias).maximum(0.0))?;
    /// assert_eq!(y.to_vec(&stream)?, [1.5, 0.0, 3.5, 0.0]);
    /// let positive = x.matmul_map(&stream, &weights, (&bias, 2.0), |y, (bias, k)| (y * k + bias).gt(0.0))?;
    /// assert!(bool::from(positive.to_vec(&stream)?[0]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NotBroadcastable`](crate::LayoutError::NotBroadcastable): an operand does not
    ///   broadcast to the product's shape.
    /// - [`Error::Function`](crate::Error::Function): more than 15 arrays, or a function that is too long.
    /// - The errors of [`matmul`](Self::matmul).
    #[doc(alias = "linear", alias = "epilogue", alias = "epilog")]
    #[track_caller]
    pub fn matmul_map<'o, R: Computable, O: Operands<'o, D>>(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        operands: O,
        function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<R>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        let (call, function) = traced(operands, function)?;
        let other = other.as_array_view();
        let (inputs, scalars) = (&call.inputs, &call.scalars);
        let result =
            self.as_erased().matmul_apply(stream, T::TYPE, other.as_erased(), &function, inputs, scalars)?;
        Ok(Array::of_erased(result))
    }

    /// Like [`matmul_map`](Self::matmul_map), into existing elements of any strides. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// - The errors of [`matmul_map`](Self::matmul_map).
    /// - The errors of [`matmul_into`](Self::matmul_into).
    #[track_caller]
    pub fn matmul_map_into<'o, R: Computable, O: Operands<'o, D>>(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        operands: O,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (call, function) = traced(operands, function)?;
        let (other, result) = (other.as_array_view(), result.as_array_view_mut());
        let operands = [self.as_erased(), other.as_erased()];
        submit(stream, T::TYPE, operands, &function, &call.inputs, &call.scalars, &result.elements())
    }

    /// Replaces each element of `result`, which may have any strides, by a function of the product's
    /// element, the existing element and further operands. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[1, 2], &[1.0_f32, 2.0])?;
    /// let mut weights = Array::full(&stream, &[2, 1], 1.0_f32)?;
    /// let error = Array::full(&stream, &[1, 1], 10.0_f32)?;
    /// let step = |y, w, (rate,)| w - rate * y; // of the rate of learning
    /// x.view().transpose().matmul_update(&stream, &error, (0.5_f32,), &mut weights, step)?;
    /// assert_eq!(weights.to_vec(&stream)?, [-4.0, -9.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`matmul_map_into`](Self::matmul_map_into).
    #[track_caller]
    pub fn matmul_update<'o, R: Computable, O: Operands<'o, D>>(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        operands: O,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>, Expression<R>, O::Expressions) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (other, result) = (other.as_array_view(), result.as_array_view_mut());
        let (rest, mut call) = (Call::of(operands), Call::of(()));
        call.element::<T>();
        call.input::<R>(result.as_erased().as_view());
        call.extend(rest);
        let function = call.trace(|arguments| {
            function(arguments.next_argument(), arguments.next_argument(), O::expressions(arguments))
        })?;
        let operands = [self.as_erased(), other.as_erased()];
        submit(stream, T::TYPE, operands, &function, &call.inputs, &call.scalars, &result.elements())
    }

    /// `result = alpha * (self @ other) + beta * result`, as BLAS names it: each of the three operations
    /// is rounded, after the product's element was rounded. `result` may have any strides. Does not
    /// synchronize.
    ///
    /// A `beta` of 0 does not hide a NaN that is in `result`: use [`matmul_map_into`](Self::matmul_map_into),
    /// which does not read it. [`matmul_onto`](Self::matmul_onto) rounds less.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 1], &[1.0, 2.0])?;
    /// let mut c = Array::full(&stream, &[2, 2], 100.0)?;
    /// a.gemm(&stream, 10.0, &a.view().transpose(), -1.0, &mut c)?;
    /// assert_eq!(c.to_vec(&stream)?, [-90.0, -80.0, -80.0, -60.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`matmul_into`](Self::matmul_into).
    #[doc(alias = "addmm", alias = "baddbmm", alias = "general_mat_mul")]
    #[track_caller]
    pub fn gemm(
        &self,
        stream: &StreamHandle<D>,
        alpha: T,
        other: &impl AsArrayView<T, D>,
        beta: T,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.matmul_update(stream, other, (alpha, beta), result, |y, c, (alpha, beta)| alpha * y + beta * c)
    }
}

/// Binds the operands of a closure, and records the function of a product's element and of them.
#[track_caller]
fn traced<'o, T: Number, R: Computable, D: Device, O: Operands<'o, D>>(
    operands: O,
    function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<R>,
) -> Result<(Call<'o, D>, Function)> {
    let (rest, mut call) = (Call::of(operands), Call::of(()));
    call.element::<T>();
    call.extend(rest);
    let function = call.trace(|arguments| function(arguments.next_argument(), O::expressions(arguments)))?;
    Ok((call, function))
}

#[track_caller]
fn submit<D: Compute>(
    stream: &StreamHandle<D>,
    element_type: ElementType,
    [a, b]: [&ErasedView<'_, D>; 2],
    function: &Function,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    result: &Elements<'_, D>,
) -> Result<()> {
    let inputs: SmallVec<[Elements<'_, D>; 4]> = inputs.iter().map(ErasedView::elements).collect();
    let becomes = Becomes::InputOf { function, inputs: &inputs, scalars };
    stream.0.multiply((element_type, Precision::Exact), [&a.elements(), &b.elements()], result, &becomes)
}

impl<T: Number, D: Device> Array<T, D> {
    /// [`ArrayView::matmul_map`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn matmul_map<'o, R: Computable, O: Operands<'o, D>>(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        operands: O,
        function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<R>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        self.view().matmul_map(stream, other, operands, function)
    }

    /// [`ArrayView::matmul_map_into`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn matmul_map_into<'o, R: Computable, O: Operands<'o, D>>(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        operands: O,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.view().matmul_map_into(stream, other, operands, result, function)
    }

    /// [`ArrayView::matmul_update`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn matmul_update<'o, R: Computable, O: Operands<'o, D>>(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        operands: O,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Expression<T>, Expression<R>, O::Expressions) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.view().matmul_update(stream, other, operands, result, function)
    }

    /// [`ArrayView::gemm`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn gemm(
        &self,
        stream: &StreamHandle<D>,
        alpha: T,
        other: &impl AsArrayView<T, D>,
        beta: T,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        self.view().gemm(stream, alpha, other, beta, result)
    }
}
