//! Operands of functions: arrays, views and numbers, in tuples.

use smallvec::SmallVec;

use super::{
    Array, ArrayView, ArrayViewMut, AsArrayViewMut, Call, DeviceFunction as _, Operand, SharedArray, ViewRef,
    compute::submit_into,
    reduce::{Combined, combined, combined_into, combined_item},
};
use crate::{
    Bool, Result,
    backend::{Compute, Device},
    function::{Arguments, Computable, Expression, Function, Reduction, Scan, trace_masked},
    stream::StreamHandle,
};

/// The arguments of a function: a tuple of arrays, views and numbers, which are broadcast together
/// as NumPy does; or a reference to a single array or view, for which the closure takes one
/// expression instead of a tuple.
///
/// The calls need a device that computes, `D: Compute`. The arguments themselves exist on any
/// `D: Device`.
///
/// ```
/// use devarray::{Array, Context, function::Operands};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
/// let row = Array::from_slice(&stream, &[2], &[10.0_f32, 20.0])?;
///
/// let sum = (&x, &row).map(&stream, |(x, row)| x + row)?;
/// assert_eq!(sum.to_vec(&stream)?, [11.0, 22.0, 13.0, 24.0]);
///
/// let k = 0.5_f32; // an argument: another value compiles nothing
/// let scaled = (&x, k).map(&stream, |(x, k)| (x * k + 1.0).sqrt())?;
/// assert_eq!(scaled.to_vec(&stream)?[1], 2.0_f32.sqrt());
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the arguments of a function on a device of type `{D}`",
    note = "the arguments are a tuple of `&Array`, `&ArrayView`, `&ArrayViewMut`, `&SharedArray` and numbers, at most 16; or a single reference"
)]
pub trait Operands<'a, D: Device>: Sized {
    /// The arguments of the closure: an expression for each operand.
    type Expressions;

    /// Adds all operands to the arguments of a call.
    fn bind_all(self, call: &mut Call<'a, D>);

    /// Makes the arguments of the closure.
    fn expressions(arguments: &mut Arguments<'_>) -> Self::Expressions;

    /// Computes a function of the arguments into a new array. Does not synchronize.
    ///
    /// The result is dense, in the order of the first array that has its shape, or in C order.
    ///
    /// # Errors
    ///
    /// The shapes do not fit, the function has more than 16 arrays or is too long, out of memory,
    /// another context's stream, and any other device error.
    #[track_caller]
    fn map<R: Computable>(
        self,
        stream: &StreamHandle<D>,
        function: impl FnOnce(Self::Expressions) -> Expression<R>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        function.apply(stream, &call.inputs, &call.scalars).map(Array::of_erased)
    }

    /// Computes a function of the arguments and reduces its values, in one pass. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map) and [`ArrayView::reduce`].
    #[track_caller]
    fn reduce<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        call.combined(&function, stream, Combined::Reduction(reduction))
    }

    /// Like [`reduce`](Self::reduce), into existing elements of any strides. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{Operands, ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    /// let y = Array::from_slice(&stream, &[2], &[10.0_f32, 100.0])?;
    /// let rows = Reduction::new(ReduceOperation::Sum).axes(&[-1]);
    /// let mut products = Array::<f32, _>::uninit(&stream, &[2])?;
    /// (&x, &y).reduce_into(&stream, &rows, &mut products, |(x, y)| x * y)?;
    /// assert_eq!(products.to_vec(&stream)?, [210.0, 430.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce); also if `result` has another shape.
    #[track_caller]
    fn reduce_into<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        call.combined_into(&function, stream, Combined::Reduction(reduction), result)
    }

    /// Like [`reduce`](Self::reduce) to one element, and copies it to the host. Blocks until it is
    /// there.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce) and [`ArrayView::reduce_item`].
    #[track_caller]
    fn reduce_item<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<R>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        call.item(&function, stream, reduction)
    }

    /// Like [`reduce`](Self::reduce), for a closure that returns two expressions: reduces the values
    /// of the second where the first is true. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Self::reduce) and
    /// [`DeviceFunction::reduce_where`](crate::function::DeviceFunction::reduce_where).
    #[track_caller]
    fn reduce_where<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
        function: impl FnOnce(Self::Expressions) -> (Expression<Bool>, Expression<T>),
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let write = |arguments: &mut Arguments<'_>| function(Self::expressions(arguments));
        let [mask, function] = trace_masked(&call.parameters, write)?;
        Combined::Reduction(reduction).lowered::<R>(&function)?;
        let reduced = function.reduce_where(&mask, stream, &call.inputs, &call.scalars, reduction)?;
        Ok(Array::of_erased(reduced))
    }

    /// Computes a function of the arguments and combines each of its values with the values before
    /// it. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map) and [`ArrayView::reduce`].
    #[track_caller]
    fn scan<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        scan: Scan,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        call.combined(&function, stream, Combined::Scan(scan))
    }

    /// Like [`scan`](Self::scan), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`scan`](Self::scan); also if `result` has another shape.
    #[track_caller]
    fn scan_into<T: Computable, R: Computable>(
        self,
        stream: &StreamHandle<D>,
        scan: Scan,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Self::Expressions) -> Expression<T>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        call.combined_into(&function, stream, Combined::Scan(scan), result)
    }

    /// Like [`map`](Self::map), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map); also if `result` does not have the shape of the arrays broadcast
    /// together.
    #[track_caller]
    fn map_into<R: Computable>(
        self,
        stream: &StreamHandle<D>,
        result: &mut impl AsArrayViewMut<R, D>,
        function: impl FnOnce(Self::Expressions) -> Expression<R>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let call = Call::of(self);
        let function = call.trace(|arguments| function(Self::expressions(arguments)))?;
        submit_into(&function, stream, &call.inputs, &call.scalars, &result.as_array_view_mut().elements())
    }
}

impl<'a, D: Device> Call<'a, D> {
    pub(super) fn of(operands: impl Operands<'a, D>) -> Self {
        let mut call =
            Self { parameters: SmallVec::new(), inputs: SmallVec::new(), scalars: SmallVec::new() };
        operands.bind_all(&mut call);
        call
    }
}

impl<D: Compute> Call<'_, D> {
    /// Combines the values of a function. Looks up its lowered form once, and returns an error if
    /// its type is another.
    #[track_caller]
    pub(super) fn combined<R: Computable>(
        &self,
        function: &Function,
        stream: &StreamHandle<D>,
        how: Combined<'_>,
    ) -> Result<Array<R, D>> {
        let lowered = how.lowered::<R>(function)?;
        let combined = combined(function, &lowered, stream, &self.inputs, &self.scalars, how);
        combined.map(Array::of_erased)
    }

    /// Like [`combined`](Self::combined), into existing elements.
    #[track_caller]
    pub(super) fn combined_into<R: Computable>(
        &self,
        function: &Function,
        stream: &StreamHandle<D>,
        how: Combined<'_>,
        result: &mut impl AsArrayViewMut<R, D>,
    ) -> Result<()> {
        let lowered = how.lowered::<R>(function)?;
        let mut result = result.as_array_view_mut().into_erased();
        combined_into(function, &lowered, stream, &self.inputs, &self.scalars, how, &mut result)
    }

    /// Like [`combined`](Self::combined), to one element, and copies it to the host.
    #[track_caller]
    pub(super) fn item<R: Computable>(
        &self,
        function: &Function,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
    ) -> Result<R> {
        let lowered = Combined::Reduction(reduction).lowered::<R>(function)?;
        let mut item = R::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut item);
        combined_item(function, &lowered, stream, &self.inputs, &self.scalars, reduction, bytes)?;
        Ok(item)
    }
}

/// Implements `Operands` for tuples of one to sixteen arguments.
macro_rules! tuples {
    ($($name:ident)*) => { tuples!(@ [] $($name)*); };
    (@ [$($before:ident)*]) => {};
    (@ [$($before:ident)*] $name:ident $($after:ident)*) => {
        impl<'a, D: Device, $($before: Operand<'a, D>,)* $name: Operand<'a, D>> Operands<'a, D>
            for ($($before,)* $name,)
        {
            type Expressions = ($(Expression<$before::Item>,)* Expression<$name::Item>,);

            #[expect(non_snake_case, reason = "the names of types, for want of others")]
            fn bind_all(self, call: &mut Call<'a, D>) {
                let ($($before,)* $name,) = self;
                $($before.bind(call);)*
                $name.bind(call);
            }

            fn expressions(arguments: &mut Arguments<'_>) -> Self::Expressions {
                ($(arguments.next_argument::<$before::Item>(),)* arguments.next_argument::<$name::Item>(),)
            }
        }

        tuples!(@ [$($before)* $name] $($after)*);
    };
}

tuples! { A B C E F G H I J K L M N O P Q }

/// Implements `Operands` for single arguments.
macro_rules! single {
    ($($argument:ty;)*) => {$(
        impl<'a, T: Computable, D: Device> Operands<'a, D> for $argument {
            type Expressions = Expression<T>;

            fn bind_all(self, call: &mut Call<'a, D>) {
                self.bind(call);
            }

            fn expressions(arguments: &mut Arguments<'_>) -> Self::Expressions {
                arguments.next_argument()
            }
        }
    )*};
}

// Views are passed by reference. By value, this trait's methods would hide the view's own methods,
// which borrow it.
single! {
    &'a Array<T, D>;
    &'a SharedArray<T, D>;
    &ArrayView<'a, T, D>;
    &'a ArrayViewMut<'_, T, D>;
    &ViewRef<'_, 'a, T, D>;
}

impl<'a, D: Device> Operands<'a, D> for () {
    type Expressions = ();

    fn bind_all(self, _: &mut Call<'a, D>) {}

    fn expressions(_: &mut Arguments<'_>) {}
}
